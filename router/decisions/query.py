"""Which records are wanted, and the SQL that finds them."""

import re
from dataclasses import dataclass
from typing import Any

from router.decisions.checks import in_range
from router.decisions.errors import RecordFieldError
from router.decisions.ids import first_id

__all__ = ["ALL", "RecordQuery"]


@dataclass(frozen=True, slots=True)
class RecordQuery:
    """Which records; None: any. All that is given must hold.

    Attributes:
        point: decision point.
        since, until: unix seconds; from ``since`` on, before ``until``.
        session: keyed hash of the session's id, see ``RecordStore.session_hash``.
        option_set: ``OptionSet.set_hash``.
        version: of the selector.
        model: the exact build that answered.
        prompt_hash: of the question's words.
        fallbacks_only: only where something stood in for the first choice.
        with_outcome: True: only with an outcome; False: only without.

    Raises:
        RecordFieldError: a field is not usable.
    """

    point: str | None = None
    since: float | None = None
    until: float | None = None
    session: str | None = None
    option_set: str | None = None
    version: str | None = None
    model: str | None = None
    prompt_hash: str | None = None
    fallbacks_only: bool = False
    with_outcome: bool | None = None

    def __post_init__(self) -> None:
        for name in ("since", "until"):
            got = getattr(self, name)
            if got is not None and not in_range(got, 1e11):
                raise RecordFieldError(name, got, "unix seconds")

    def where(self) -> tuple[str, list[Any]]:
        """A condition on the table ``record`` ("1" if none) and its parameters."""
        parts: list[str] = []
        given: list[Any] = []
        for name in ("point", "session", "version", "model", "prompt_hash"):
            value = getattr(self, name)
            if value is not None:
                parts.append(f"record.{name} = ?")
                given.append(value)
        for sign, at in ((">=", self.since), ("<", self.until)):
            if at is not None:
                parts.append(f"record.id {sign} ?")
                given.append(bytes.fromhex(first_id(at)))
        if self.option_set is not None:
            parts.append("record.options IN (SELECT key FROM option_set WHERE set_hash = ?)")
            given.append(self.option_set)
        if self.fallbacks_only:
            parts.append("record.fallback_to IS NOT NULL")
        if self.with_outcome is not None:
            has = "EXISTS" if self.with_outcome else "NOT EXISTS"
            parts.append(f"{has} (SELECT 1 FROM outcome WHERE outcome.record = record.n)")
        return " AND ".join(parts) or "1", given


ALL = RecordQuery()

_PREFIX = re.compile(r"[0-9a-f]{4,32}")


def prefix_range(prefix: str) -> tuple[bytes, bytes]:
    """The lowest and the highest id that begin with ``prefix``.

    Raises:
        RecordFieldError: it is not 4 to 32 hexadecimal digits.
    """
    prefix = prefix.strip().lower()
    if not _PREFIX.fullmatch(prefix):
        raise RecordFieldError("id", prefix, "4 to 32 hexadecimal digits")
    return bytes.fromhex(prefix.ljust(32, "0")), bytes.fromhex(prefix.ljust(32, "f"))
