"""How long records are kept: by age and by size, oldest first, in steps of bounded work."""

import contextlib
import math
import sqlite3
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from router.decisions.checks import in_range
from router.decisions.database import Database
from router.decisions.errors import RecordFieldError, StoreError
from router.decisions.ids import first_id

__all__ = ["Pruned", "Retention"]

STEP: Final = 512
"""Most records that one step deletes."""
VACUUM_PAGES: Final = 256
"""Most pages that one step gives back to the file system."""


@dataclass(frozen=True, slots=True)
class Retention:
    """What is kept. Records go oldest first, outcome or not, and option sets with the last of
    their records.

    Attributes:
        max_age_days: records older than that go; None: none for its age.
        max_bytes: if the file holds more, the oldest go; None: whatever its size.

    Raises:
        RecordFieldError: a field is not usable.
    """

    max_age_days: float | None = None
    max_bytes: int | None = 1 << 30

    def __post_init__(self) -> None:
        if self.max_age_days is not None and not in_range(self.max_age_days, 1e6):
            raise RecordFieldError("max_age_days", self.max_age_days, "days >= 0, or None")
        if self.max_bytes is not None and (type(self.max_bytes) is not int or self.max_bytes < 0):
            raise RecordFieldError("max_bytes", self.max_bytes, "an integer >= 0, or None")


@dataclass(frozen=True, slots=True)
class Pruned:
    """What was deleted.

    Attributes:
        records: how many.
        bytes: by how much the file became smaller.
    """

    records: int
    bytes: int


def tend(database: Database, retention: Retention) -> None:
    """One step of upkeep, of bounded work: checkpoint, at most 512 records, some pages."""
    with database.lock, database.errors():
        database.checkpoint()
        with database.transaction() as connection:
            _delete_beyond(connection, retention)
        give_back(database.connection(), VACUUM_PAGES)


def prune(database: Database, retention: Retention) -> Pruned:
    """Delete all that ``retention`` does not keep, and give the space back."""
    with database.lock, database.errors():
        before, deleted, last = _file_bytes(database.connection()), 0, -1
        while last:
            with database.transaction() as connection:
                last = _delete_beyond(connection, retention)
            deleted += last
        shrink(database)
        return Pruned(deleted, before - _file_bytes(database.connection()))


def purge(database: Database, where: str, given: Sequence[Any]) -> Pruned:
    """Delete the records of a condition for good: what they held is overwritten in the file."""
    with database.lock, database.errors():
        connection = database.connection()
        before, deleted, last = _file_bytes(connection), 0, -1
        (secure,) = connection.execute("PRAGMA secure_delete").fetchone()
        connection.execute("PRAGMA secure_delete = ON")
        try:
            while last:
                with database.transaction() as connection:
                    last = delete_records(connection, where, given)
                deleted += last
            shrink(database)
            # With the lock of writers, as long as nobody keeps it from us: see ``checkpoint``.
            database.connection().execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        finally:
            with contextlib.suppress(sqlite3.Error, StoreError):
                database.connection().execute(f"PRAGMA secure_delete = {secure}")
        return Pruned(deleted, before - _file_bytes(database.connection()))


def shrink(database: Database) -> None:
    """Give every free page back to the file system."""
    while give_back(database.connection(), 4 * VACUUM_PAGES):
        database.checkpoint()
    database.checkpoint()


def give_back(connection: sqlite3.Connection, pages: int) -> bool:
    """Cut at most ``pages`` free pages off the file; whether any is left."""
    connection.execute(f"PRAGMA incremental_vacuum({pages})").fetchall()
    return _number(connection, "freelist_count") > 0


def delete_records(
    connection: sqlite3.Connection, where: str, given: Sequence[Any], most: int = STEP
) -> int:
    """Delete the oldest records of a condition, at most ``most``; how many there were."""
    found = connection.execute(
        f"SELECT n, options FROM record WHERE {where} ORDER BY id LIMIT {most}", given
    ).fetchall()
    rows = [(n,) for n, _ in found]
    connection.executemany("DELETE FROM outcome WHERE record = ?", rows)
    connection.executemany("DELETE FROM record WHERE n = ?", rows)
    connection.executemany(
        "DELETE FROM option_set WHERE key = ?1"
        " AND NOT EXISTS (SELECT 1 FROM record WHERE options = ?1)",
        {(key,) for _, key in found},
    )
    return len(rows)


def _delete_beyond(connection: sqlite3.Connection, retention: Retention) -> int:
    """One step; how many records it deleted."""
    deleted = 0
    if retention.max_age_days is not None:
        oldest = max(time.time() - retention.max_age_days * 86_400.0, 0.0)
        deleted = delete_records(connection, "id < ?", [bytes.fromhex(first_id(oldest))])
    if retention.max_bytes is not None and deleted < STEP:
        deleted += delete_records(
            connection, "1", [], min(_records_beyond(connection, retention.max_bytes), STEP)
        )
    return deleted


def _records_beyond(connection: sqlite3.Connection, most_bytes: int) -> int:
    """About how many records the file holds more than fit into ``most_bytes``; 0 if all fit."""
    used = _number(connection, "page_count") - _number(connection, "freelist_count")
    used *= _number(connection, "page_size")
    first: int | None
    last: int
    first, last = connection.execute("SELECT min(n), max(n) FROM record").fetchone()
    if used <= most_bytes or first is None:
        return 0
    return max(math.ceil((used - most_bytes) / used * (last - first + 1)), 1)


def _file_bytes(connection: sqlite3.Connection) -> int:
    return _number(connection, "page_count") * _number(connection, "page_size")


def _number(connection: sqlite3.Connection, pragma: str) -> int:
    return int(connection.execute(f"PRAGMA {pragma}").fetchone()[0])
