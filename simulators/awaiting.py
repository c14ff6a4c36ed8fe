"""Helpers of ``PythonSimulator`` in plain Python: going on with a paused awaitable, short reprs."""

from collections.abc import Generator
from typing import Any

__all__ = ["Resume", "short"]

LONGEST = 120


class Resume:
    """Awaits the rest of an iterator of ``__await__`` that has already yielded once.

    Args:
        iterator: what ``__await__`` returned.
        yielded: what it yielded, for the event loop.
    """

    def __init__(self, iterator: Any, yielded: Any) -> None:
        self.iterator = iterator
        self.yielded = yielded

    def __await__(self) -> Generator[Any, Any, Any]:
        yielded = self.yielded
        while True:
            try:
                sent = yield yielded
            except BaseException as error:
                move, argument = self.iterator.throw, error
            else:
                move, argument = self._send, sent
            try:
                yielded = move(argument)
            except StopIteration as stop:
                return stop.value

    def _send(self, value: Any) -> Any:
        """Plain iterators, unlike coroutines, take nothing."""
        send = getattr(self.iterator, "send", None)
        return next(self.iterator) if send is None else send(value)


def short(thing: object) -> str:
    """``repr`` in at most 120 characters, whatever it does."""
    try:
        text = repr(thing)
    except Exception as error:  # a broken repr must not hide the error that it is to describe
        text = f"<{type(thing).__name__} whose repr raised {type(error).__name__}>"
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."
