"""Records as JSON lines, out and in: nothing is lost, and a broken line costs that line only.

Two kinds of lines. ``{"options_key": ..., "options": [[name, description, category, risk, schema],
...]}`` stands before the first record that was offered these. A record's line names the key and
holds the rest, with ``"outcomes"``: all that was said of it, the last one holds.
"""

import json
import re
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import IO, Any, Final

from router.decisions.amend import check_right
from router.decisions.codec import (
    VERSION,
    dumps,
    outcome_from_json,
    outcome_to_json,
    record_from_json,
    record_to_json,
)
from router.decisions.errors import RecordConflictError, RecordFieldError, UnknownRecordError
from router.decisions.options import OptionSet, options_from_json
from router.decisions.outcome import Outcome
from router.decisions.query import ALL, RecordQuery
from router.decisions.record import DecisionRecord
from router.decisions.store import RecordStore

__all__ = ["Imported", "export_records", "import_records"]

BATCH: Final = 500
LONGEST_LINE: Final = 64 << 20
"""Bytes; a longer line is broken."""
MOST_PROBLEMS: Final = 1000
"""Problems that are told one by one; all are counted."""
MOST_SETS: Final = 1000


@dataclass(slots=True)
class Imported:
    """What became of the lines of an import.

    Attributes:
        records: new ones.
        duplicates: records that were there already; an outcome that they lacked was added.
        outcomes: statements added, of new records and of duplicates.
        broken: lines that could not be used, and outcomes that say something else than ours.
        problems: (line number from 1, what is wrong), the first thousand.
    """

    records: int = 0
    duplicates: int = 0
    outcomes: int = 0
    broken: int = 0
    problems: list[tuple[int, str]] = field(default_factory=list)

    def problem(self, line: int, what: str) -> None:
        """Count a broken line and say why."""
        self.broken += 1
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append((line, what))


def export_records(
    store: RecordStore,
    file: IO[bytes],
    query: RecordQuery = ALL,
    *,
    limit: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> int:
    """Write records as JSON lines, in the order of time, read as they are written.

    Args:
        store: from which.
        file: opened for bytes.
        query: which records.
        limit: most records; None: all.
        progress: told how many were written so far, after each.

    Returns:
        How many.

    Raises:
        StoreError: the store cannot be read.
        OSError: the file cannot be written.
    """
    told: set[bytes] = set()
    written = 0
    for record in store.records(query, limit=limit):
        options = record.options
        if options.key not in told:
            told.add(options.key)
            _write(file, {"options_key": options.key.hex(), "options": options.as_json()})
        said = store.outcomes(record.id) if record.outcome is not None else ()
        outcomes = [outcome_to_json(outcome) for outcome in said]
        _write(file, {**record_to_json(record), "outcomes": outcomes})
        written += 1
        if progress is not None:
            progress(written)
    return written


def import_records(
    store: RecordStore, file: IO[bytes], *, progress: Callable[[int], None] | None = None
) -> Imported:
    """Read JSON lines into a store; records that it has are left as they are.

    Args:
        store: into which.
        file: opened for bytes.
        progress: told how many bytes were read so far, after each line.

    Raises:
        StoreError: the store cannot be written; what was read until then is in it.
        OSError: the file cannot be read.
    """
    return _Import(store, progress).run(file)


@dataclass(frozen=True, slots=True)
class _Line:
    number: int
    record: DecisionRecord
    outcomes: tuple[Outcome, ...]


class _Import:
    """One import: the option sets met so far, and the lines that wait to be written together."""

    def __init__(self, store: RecordStore, progress: Callable[[int], None] | None) -> None:
        self._store = store
        self._progress = progress
        self._found = Imported()
        self._sets: OrderedDict[str, OptionSet] = OrderedDict()
        self._waiting: list[_Line] = []

    def run(self, file: IO[bytes]) -> Imported:
        read = 0
        for number, line in enumerate(_lines(file), 1):
            if line is None:
                self._found.problem(number, f"longer than {LONGEST_LINE} bytes")
            elif line.strip():
                self._take(number, line)
            read += len(line or b"")
            if self._progress is not None:
                self._progress(read)
        self._write()
        return self._found

    def _take(self, number: int, line: bytes) -> None:
        try:
            given = json.loads(line, parse_constant=_no_constant)
            if isinstance(given, dict) and "options_key" in given:
                self._take_options(given)
            else:
                self._waiting.append(self._record(number, given))
        except (ValueError, RecursionError) as error:
            known = isinstance(error, RecordFieldError)
            self._found.problem(number, str(error) if known else f"no JSON: {_short(error)}")
        if len(self._waiting) >= BATCH:
            self._write()

    def _take_options(self, given: dict[str, Any]) -> None:
        options = options_from_json(given.get("options"))
        if given["options_key"] != options.key.hex():
            raise RecordFieldError("options_key", given["options_key"], "the key of its options")
        self._keep(options)

    def _record(self, number: int, given: object) -> _Line:
        if not isinstance(given, dict):
            raise RecordFieldError("record", given, "an object")
        version, key = given.get("v"), given.get("options")
        if type(version) is not int or not 1 <= version <= VERSION:
            raise RecordFieldError("v", version, f"a version that is known, 1 to {VERSION}")
        said = given.pop("outcomes", [])
        if not isinstance(said, list):
            raise RecordFieldError("outcomes", said, "a list")
        options = self._options(key)
        outcomes = tuple(outcome_from_json(outcome) for outcome in said)
        for outcome in outcomes:
            check_right(outcome, options)
        return _Line(number, record_from_json(given, options), outcomes)

    def _options(self, key: object) -> OptionSet:
        if not isinstance(key, str) or not re.fullmatch(r"[0-9a-f]{32}", key):
            raise RecordFieldError("options", key, "32 hexadecimal digits")
        found = self._sets.get(key) or self._store.option_set(bytes.fromhex(key))
        if found is None:
            raise RecordFieldError("options", key, "a key whose line came before")
        self._keep(found)
        return found

    def _keep(self, options: OptionSet) -> None:
        self._sets[options.key.hex()] = options
        self._sets.move_to_end(options.key.hex())
        if len(self._sets) > MOST_SETS:
            self._sets.popitem(last=False)

    def _write(self) -> None:
        waiting, self._waiting = self._waiting, []
        new = set(self._store.add_many([line.record for line in waiting]))
        self._found.records += len(new)
        self._found.duplicates += len(waiting) - len(new)
        for line in waiting:
            record_id = line.record.id
            fresh = record_id in new
            new.discard(record_id)  # the same id again in this file is a duplicate
            for outcome in line.outcomes if fresh else line.outcomes[-1:]:
                try:
                    self._found.outcomes += self._store.attach(record_id, outcome, force=fresh)
                except (RecordConflictError, RecordFieldError, UnknownRecordError) as error:
                    self._found.problem(line.number, f"outcome: {error}")


def _lines(file: IO[bytes]) -> Iterator[bytes | None]:
    """The lines; None for one that is too long, of which no more is kept than that."""
    while line := file.readline(LONGEST_LINE + 1):
        if len(line) <= LONGEST_LINE:
            yield line
            continue
        while line and not line.endswith(b"\n"):
            line = file.readline(LONGEST_LINE)
        yield None


def _write(file: IO[bytes], given: object) -> None:
    file.write(dumps(given).encode() + b"\n")


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON")


def _short(error: Exception) -> str:
    return f"{type(error).__name__} {str(error)[:80]}"
