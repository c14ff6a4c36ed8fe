"""What must not be used in a forked child: connections, locks and threads of the parent."""

import os
import weakref
from typing import Protocol

__all__ = ["tell_after_fork"]


class _Forked(Protocol):
    def after_fork(self) -> None:
        """Let go of what belongs to the parent, without closing it."""


_told: "weakref.WeakSet[_Forked]" = weakref.WeakSet()


def tell_after_fork(thing: _Forked) -> None:
    """Call ``thing.after_fork()`` in every child that is forked while ``thing`` lives."""
    _told.add(thing)


def _after_fork() -> None:
    for thing in list(_told):
        thing.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
