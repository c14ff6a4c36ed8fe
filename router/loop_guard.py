"""The loop guard: is an agent doing the same again, or going round in a small circle?"""

import hashlib
import json
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from mcts_core.config import check_int

__all__ = ["Action", "Loop", "LoopGuard", "hash_of_arguments"]

Loop = Literal["repeat", "alternation"]

LONGEST_PERIOD: Final = 4
"""A B C D A B C D is the longest circle that is looked for."""


@dataclass(frozen=True, slots=True)
class Action:
    """One executed action.

    Attributes:
        tool: its name.
        arguments: digest of its arguments, or None if they are not known.
        result: class of its result, e.g. "error", or None if not known.
    """

    tool: str
    arguments: str | None = None
    result: str | None = None

    def same_as(self, other: "Action") -> bool:
        """Is it the same again? Unknown arguments are told apart by nothing but the result: a
        tool that runs twice with unknown arguments and unknown results may well do two things.
        """
        if self != other:
            return False
        return self.arguments is not None or self.result is not None


class LoopGuard:
    """Finds the same action too often in a row, and circles: A B A B, A B C A B C.

    The same action is the same tool with the same arguments and the same class of result. Where
    arguments are unknown, the result alone has to tell.

    Args:
        max_same_action_repeats: how often the same action may run in a row, >= 1.
    """

    def __init__(self, max_same_action_repeats: int = 2) -> None:
        check_int("max_same_action_repeats", max_same_action_repeats, 1, 2**31)
        self._repeats = max_same_action_repeats
        self._recent: deque[Action] = deque(maxlen=max(2 * LONGEST_PERIOD, self._repeats + 1))

    def record(self, action: Action) -> Loop | None:
        """Note an executed action; the loop that it closes, or None."""
        self._recent.append(action)
        return self._closed([*self._recent])

    def would_close(self, tool: str) -> Loop | None:
        """The loop that running ``tool`` would close if it did just what it did the last time.

        Nothing is noted. A tool that has not run of late closes none.
        """
        last = next((a for a in reversed(self._recent) if a.tool == tool), None)
        return self._closed([*self._recent, last]) if last is not None else None

    def reset(self) -> None:
        """Forget all actions."""
        self._recent.clear()

    def _closed(self, actions: list[Action]) -> Loop | None:
        if _ends_with(actions, period=1, times=self._repeats + 1):
            return "repeat"
        for period in range(2, LONGEST_PERIOD + 1):
            if _ends_with(actions, period=period, times=2):
                circle = actions[-period:]
                if not all(action.same_as(circle[0]) for action in circle):
                    return "alternation"
        return None


def _ends_with(actions: list[Action], *, period: int, times: int) -> bool:
    """Do ``actions`` end with ``times`` runs of the same ``period`` actions?"""
    length = period * times
    if len(actions) < length:
        return False
    tail = actions[-length:]
    return all(tail[i].same_as(tail[i - period]) for i in range(period, length))


def hash_of_arguments(arguments: Mapping[str, Any] | None) -> str | None:
    """A digest of arguments, whatever the order of their names; None for None.

    Arguments may hold secrets: nothing but the digest is kept.
    """
    if arguments is None:
        return None
    try:
        text = json.dumps(arguments, sort_keys=True, default=repr)
    except (TypeError, ValueError, RecursionError):  # names of mixed types, circles
        text = repr(arguments)
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:32]
