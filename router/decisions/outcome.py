"""What became of a decision, told later by a person or by what observed it."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from router.decisions.checks import check_name, in_range
from router.decisions.errors import RecordConflictError, RecordFieldError

__all__ = ["Outcome", "OutcomeResult"]

OutcomeResult = Literal["success", "failure", "abandoned"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a decision.

    Attributes:
        result: how what ran in the end went; None: not known.
        right: the options that would have been right; () none of them; None: not known.
        duration_ms: of what ran; None: not known.
        retries: how often it was tried again; None: not known.
        by: who says so: a person, or the name of what observed it.
        time: unix seconds at which it was said.

    Raises:
        RecordFieldError: a field is not usable.
    """

    result: OutcomeResult | None
    right: Sequence[str] | None = None
    duration_ms: float | None = None
    retries: int | None = None
    by: str = "unknown"
    time: float = field(default_factory=time.time)

    def __post_init__(self) -> None:
        if isinstance(self.right, str):
            raise RecordFieldError("right", self.right, "a sequence of names")
        if self.right is not None:
            object.__setattr__(self, "right", tuple(self.right))
        if self.result is not None and self.result not in get_args(OutcomeResult):
            raise RecordFieldError("result", self.result, "success, failure, abandoned or None")
        if not all(isinstance(name, str) for name in self.right or ()):
            raise RecordFieldError("right", self.right, "names of options")
        if self.duration_ms is not None and not in_range(self.duration_ms):
            raise RecordFieldError("duration_ms", self.duration_ms, "milliseconds >= 0")
        retries = self.retries
        if retries is not None and (type(retries) is not int or not 0 <= retries < 2**31):
            raise RecordFieldError("retries", retries, "an integer >= 0")
        check_name("by", self.by)
        if not in_range(self.time, 1e11):
            raise RecordFieldError("time", self.time, "unix seconds")

    def joined(self, later: "Outcome") -> "Outcome":
        """Itself with what ``later`` adds to it; the same object if that adds nothing.

        Raises:
            RecordConflictError: ``later`` says something else.
        """
        added: dict[str, Any] = {}
        for name in ("result", "right", "duration_ms", "retries"):
            said, new = getattr(self, name), getattr(later, name)
            if new is None or new == said:
                continue
            if said is not None:
                raise RecordConflictError(f"{name}: got {new!r}, {self.by} said {said!r} before")
            added[name] = new
        return replace(self, **added, by=later.by, time=later.time) if added else self
