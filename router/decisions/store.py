"""``RecordStore``: the records of decisions in one SQLite file that many processes share."""

import logging
import sqlite3
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

from router.decisions.amend import (
    add_fallback,
    add_outcome,
    check_right,
    history,
    number_of,
)
from router.decisions.database import Database, Synchronous
from router.decisions.errors import (
    StoreError,
    UnknownRecordError,
)
from router.decisions.options import OptionSet, unpacked
from router.decisions.outcome import Outcome
from router.decisions.privacy import Privacy, load_key
from router.decisions.query import ALL, RecordQuery, prefix_range
from router.decisions.record import DecisionRecord, Fallback, Validation
from router.decisions.retention import Pruned, Retention, prune, purge, tend
from router.decisions.rows import COLUMNS, outcome_of, record_of, row_of

__all__ = ["RecordStore"]

log = logging.getLogger("harness_router.records")

Result = TypeVar("Result")

PAGE: Final = 256
"""Records read at a time: no reader holds the log for longer than that takes."""
MOST_SETS: Final = 256
TEND_EVERY: Final = 256

_FIELDS: Final = ", ".join(COLUMNS)
_MARKS: Final = ", ".join("?" * len(COLUMNS))
_INSERT: Final = (
    f"INSERT INTO record ({_FIELDS}) SELECT {_MARKS}"
    " WHERE EXISTS (SELECT 1 FROM option_set WHERE key = ?) ON CONFLICT (id) DO NOTHING"
)
_LATEST: Final = (
    "SELECT body FROM outcome WHERE outcome.record = record.n ORDER BY seq DESC LIMIT 1"
)
_SELECT: Final = f"SELECT {', '.join('record.' + c for c in COLUMNS)}, ({_LATEST}) FROM record"


class RecordStore:
    """Records of decisions and their outcomes.

    The file is opened at first use. Any number of processes and threads may use it at once. When
    ``add`` returns, the record survives the death of the process at any moment after; whether it
    survives a loss of power is what ``synchronous`` says.

    Args:
        path: the file; see ``router.decisions.places``. Its folder (mode 0700), itself and the key
            of hashes beside it (``records.key``, mode 0600) are made where they are not there.
        busy_seconds: how long to wait for other processes before ``StoreError`` "busy", >= 0.
        synchronous: "normal" (a loss of power may take the last records, never the file) or "full".
        retention: what is deleted by the way; every 256th record looks after it, with bounded work.
        reading: only read: a file that is not there is not made, a damaged one not moved aside.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        busy_seconds: float = 5.0,
        synchronous: Synchronous = "normal",
        retention: Retention | None = None,
        reading: bool = False,
    ) -> None:
        self.path = Path(path)
        self.retention = retention or Retention()
        self._synchronous: Synchronous = synchronous
        self._database = Database(
            self.path, busy_seconds=busy_seconds, synchronous=synchronous, reading=reading
        )
        self._sets: OrderedDict[bytes, OptionSet] = OrderedDict()
        self._key: bytes | None = None

    @property
    def key(self) -> bytes:
        """The key of this store's hashes; ``StoreError`` if it can be neither read nor made."""
        if self._key is None:
            with self._database.lock, self._database.errors():
                self._database.connection()  # it makes the folder
                self._key = load_key(self.path.with_name(self.path.stem + ".key"))
        return self._key

    def session_hash(self, session: str) -> str:
        """What records hold in place of this session's id."""
        return Privacy("none", self.key).hash(session)

    def again(self, busy_seconds: float) -> "RecordStore":
        """Another connection to the same file, which waits for others for so long."""
        return RecordStore(
            self.path,
            busy_seconds=busy_seconds,
            synchronous=self._synchronous,
            retention=self.retention,
        )

    def add(self, record: DecisionRecord) -> bool:
        """Write a record; False if one with its id is there already. Its outcome is not written.

        Raises:
            StoreError: it was not written.
            RecordFieldError: a field has a value that the file cannot hold.
        """
        return bool(self._write(lambda: self._add([record])))

    def add_many(self, records: Sequence[DecisionRecord]) -> list[str]:
        """As ``add``, all in one transaction; the ids of those that were new."""
        return self._write(lambda: self._add(records))

    def get(self, record_id: str) -> DecisionRecord:
        """The record of this id, or the only one whose id begins with these (4 or more) digits.

        Raises:
            UnknownRecordError: there is none, or several.
        """
        low, high = prefix_range(record_id)
        found = self._read(f"{_SELECT} WHERE id BETWEEN ? AND ? ORDER BY id LIMIT 2", [low, high])
        if len(found) != 1:
            several = "several records begin" if found else "no record begins"
            raise UnknownRecordError(f"id: {several} with {record_id!r}")
        return found[0]

    def records(
        self, query: RecordQuery = ALL, *, newest_first: bool = False, limit: int | None = None
    ) -> Iterator[DecisionRecord]:
        """The records that ``query`` asks for, in the order of time, read as they are wanted.

        No lock and no snapshot is held between records: records written meanwhile may be among
        them.

        Args:
            query: which.
            newest_first: the order.
            limit: most records; None: all.
        """
        where, given = query.where()
        order, sign = ("DESC", "<") if newest_first else ("ASC", ">")
        start: list[Any] = []
        left = limit if limit is not None else -1
        while left:
            size = PAGE if left < 0 else min(PAGE, left)
            beyond = f" AND record.id {sign} ?" if start else ""
            page = self._read(
                f"{_SELECT} WHERE {where}{beyond} ORDER BY record.id {order} LIMIT ?",
                [*given, *start, size],
            )
            yield from page
            if len(page) < size:
                return
            start = [bytes.fromhex(page[-1].id)]
            left -= size if left > 0 else 0

    def count(self, query: RecordQuery = ALL) -> int:
        """How many records ``query`` asks for."""
        where, given = query.where()
        with self._database.lock, self._database.errors():
            connection = self._database.connection()
            return int(
                connection.execute(f"SELECT count(*) FROM record WHERE {where}", given).fetchone()[
                    0
                ]
            )

    def option_set(self, key: bytes) -> OptionSet | None:
        """The options of this key, or None."""
        with self._database.lock, self._database.errors():
            try:
                return self._options(self._database.connection(), key)
            except UnknownRecordError:
                return None

    def attach(self, record_id: str, outcome: Outcome, *, force: bool = False) -> bool:
        """Say how a decision ended; False if that was known.

        What adds to an earlier statement is joined with it: first what a hook saw, then what a
        person says would have been right.

        Args:
            record_id: whole.
            outcome: what is said.
            force: put it in the place of what was said before, which stays in the history.

        Raises:
            UnknownRecordError: there is no such record.
            RecordConflictError: something else was said before, and ``force`` is False.
            RecordFieldError: ``right`` names what was not on offer.
        """

        def attach() -> bool:
            with self._database.transaction() as connection:
                check_right(outcome, self._options_of(connection, record_id))
                return add_outcome(connection, record_id, outcome, force=force)

        return self._write(attach)

    def outcomes(self, record_id: str) -> tuple[Outcome, ...]:
        """All that was said of a record, oldest first; the last one holds.

        Raises:
            UnknownRecordError: there is no such record.
        """
        with self._database.lock, self._database.errors():
            connection = self._database.connection()
            return tuple(history(connection, number_of(connection, record_id)))

    def set_fallback(
        self, record_id: str, fallback: Fallback, *, validation: Validation = "accepted"
    ) -> bool:
        """Say that something stood in for the pick after all; False if that was known.

        For what is found after the decision: a pick that is stale ("rejected_stale"), or one that
        stands ("accepted") but could not be started. A fallback is never taken back.

        Raises:
            UnknownRecordError: there is no such record.
            RecordConflictError: it has another fallback already (that of a local stand-in aside).
        """

        def set_it() -> bool:
            with self._database.transaction() as connection:
                return add_fallback(connection, record_id, fallback, validation)

        return self._write(set_it)

    def prune(self, max_age_days: float | None = None, max_bytes: int | None = None) -> Pruned:
        """Delete the records that are older, and the oldest while the file holds more; None: no
        limit.
        """
        return prune(self._database, Retention(max_age_days, max_bytes))

    def purge(self, query: RecordQuery) -> Pruned:
        """Delete what ``query`` asks for; what the records held is overwritten in the file."""
        return purge(self._database, *query.where())

    def check(self) -> list[str]:
        """What SQLite's integrity check finds wrong; empty if nothing."""
        with self._database.lock, self._database.errors():
            found = self._database.connection().execute("PRAGMA integrity_check").fetchall()
            return [line for (line,) in found if line != "ok"]

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        with self._database.lock:
            self._database.close()

    def __enter__(self) -> "RecordStore":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _write(self, action: Callable[[], Result]) -> Result:
        """Do ``action``; if the file is damaged, once more on a new connection, and once more on a
        new file.
        """
        with self._database.lock:
            for last in (None, self._database.set_aside):
                try:
                    with self._database.errors():
                        return action()
                except StoreError as error:
                    trouble = error
                if trouble.kind != "corrupt" or (last is not None and not last()):
                    raise trouble
            return action()

    def _add(self, records: Sequence[DecisionRecord]) -> list[str]:
        if len(records) == 1:  # one statement, where the options are known: the usual case
            (record,) = records
            row = (*row_of(record), record.options.key)
            cursor = self._database.connection().execute(_INSERT, row)
            if cursor.rowcount == 1:
                self._tend(cursor.lastrowid or 0, 1)
                return [record.id]
        new, last = [], 0
        with self._database.transaction() as connection:
            for record in records:
                row = (*row_of(record), record.options.key)
                cursor = connection.execute(_INSERT, row)
                if cursor.rowcount == 0 and self._add_options(connection, record.options):
                    cursor = connection.execute(_INSERT, row)
                if cursor.rowcount == 1:
                    new.append(record.id)
                    last = cursor.lastrowid or 0
        self._tend(last, len(new))
        return new

    def _add_options(self, connection: sqlite3.Connection, options: OptionSet) -> bool:
        """Whether they were new."""
        known = connection.execute("SELECT 1 FROM option_set WHERE key = ?", (options.key,))
        if known.fetchone() is not None:
            return False
        row = (options.key, options.set_hash, options.packed())
        connection.execute("INSERT INTO option_set VALUES (?, ?, ?)", row)
        return True

    def _tend(self, last: int, new: int) -> None:
        """Upkeep, each time a multiple of 256 is passed, whichever process passes it."""
        if last // TEND_EVERY == (last - new) // TEND_EVERY:
            return
        try:
            tend(self._database, self.retention)
        except StoreError as error:  # the record is safe; the next one that comes by tries again
            log.debug("upkeep of the records was put off: %s", error.kind)

    def _read(self, sql: str, given: Sequence[Any]) -> list[DecisionRecord]:
        with self._database.lock, self._database.errors():
            connection = self._database.connection()
            rows = connection.execute(sql, given).fetchall()
            return [self._record(connection, row) for row in rows]

    def _record(self, connection: sqlite3.Connection, row: Sequence[Any]) -> DecisionRecord:
        key = row[COLUMNS.index("options")]
        return record_of(row[:-1], self._options(connection, key), outcome_of(row[-1]))

    def _options_of(self, connection: sqlite3.Connection, record_id: str) -> OptionSet:
        n = number_of(connection, record_id)
        (key,) = connection.execute("SELECT options FROM record WHERE n = ?", (n,)).fetchone()
        return self._options(connection, key)

    def _options(self, connection: sqlite3.Connection, key: bytes) -> OptionSet:
        found = self._sets.get(key)
        if found is None:
            row = connection.execute("SELECT body FROM option_set WHERE key = ?", (key,)).fetchone()
            if row is None:
                raise UnknownRecordError(f"options: no set {key.hex()}")
            found = self._sets[key] = unpacked(row[0])
            if len(self._sets) > MOST_SETS:
                self._sets.popitem(last=False)
        return found
