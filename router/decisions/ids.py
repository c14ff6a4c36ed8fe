"""Ids of records: they sort by time and are unique over processes and machines."""

import os
import re
import threading
import time
from typing import Final

from router.decisions.errors import RecordFieldError

__all__ = ["check_id", "first_id", "id_time", "new_id"]

TICKS_PER_MS: Final = 4096
MOST_TICKS: Final = (1 << 60) - 1
STEP_BACK: Final = 1000 * TICKS_PER_MS
"""A clock that goes back by less than this (1 s) does not take the order of ids with it."""

_ID: Final = re.compile(r"[0-9a-f]{12}7[0-9a-f]{3}[89ab][0-9a-f]{15}")
_lock = threading.Lock()
_last = 0


def new_id() -> str:
    """A new id: 32 hexadecimal digits, a UUID of version 7 (RFC 9562, 5.7 and 6.2 method 3).

    48 bits are milliseconds of unix time, 12 bits the fraction of the millisecond, 62 bits are
    random. Of one process each id is greater than the one before, unless the clock was set back
    by a second or more.
    """
    global _last  # noqa: PLW0603  the order holds for the whole process
    now = time.time_ns() * TICKS_PER_MS // 1_000_000
    with _lock:
        if 0 <= _last - now < STEP_BACK:
            now = _last + 1
        _last = now
    return _from_ticks(now, int.from_bytes(os.urandom(8)))


def id_time(record_id: str) -> float:
    """Unix seconds at which an id was made, to a quarter of a microsecond."""
    ticks = int(record_id[:12], 16) * TICKS_PER_MS + int(record_id[13:16], 16)
    return ticks / (TICKS_PER_MS * 1000)


def first_id(at: float) -> str:
    """The lowest id of a moment in unix seconds: ids made earlier are lower, others are not."""
    ticks = -int(-at * TICKS_PER_MS * 1000 // 1)
    return _from_ticks(min(max(ticks, 0), MOST_TICKS), 0)


def check_id(record_id: object, field: str = "id") -> str:
    """``record_id`` if it is one.

    Raises:
        RecordFieldError: it is not.
    """
    if not isinstance(record_id, str) or not _ID.fullmatch(record_id):
        raise RecordFieldError(field, record_id, "32 lower-case hexadecimal digits of a UUIDv7")
    return record_id


def _from_ticks(ticks: int, noise: int) -> str:
    high = (ticks >> 12) << 16 | 0x7000 | (ticks & 0xFFF)
    return f"{high << 64 | 1 << 63 | (noise & (1 << 62) - 1):032x}"
