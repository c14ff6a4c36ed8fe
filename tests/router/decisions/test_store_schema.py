"""Versions of the file: older ones are brought up to date, newer ones are left alone."""

import sqlite3
from pathlib import Path

import pytest

from router.decisions.errors import StoreError
from router.decisions.outcome import Outcome
from router.decisions.query import RecordQuery
from router.decisions.rows import COLUMNS, row_of
from router.decisions.schema import STEPS, migrate, version_of
from tests.router.decisions.samples import record, store_in


def old_file(path: Path, version: int, made: list[object]) -> None:
    """A file as version ``version`` of this package would have written it."""
    connection = sqlite3.connect(path, isolation_level=None)
    migrate(connection, STEPS[:version])
    then = {name for _, name, *_ in connection.execute("PRAGMA table_info (record)")}
    columns = [name for name in COLUMNS if name in then]
    for one in made:
        values = dict(zip(COLUMNS, row_of(one), strict=True))  # type: ignore[arg-type]
        marks = ", ".join("?" * len(columns))
        row = [values[name] for name in columns]
        connection.execute(f"INSERT INTO record ({', '.join(columns)}) VALUES ({marks})", row)
        options = one.options  # type: ignore[attr-defined]
        connection.execute(
            "INSERT OR IGNORE INTO option_set VALUES (?, ?, ?)",
            (options.key, options.set_hash, options.packed()),
        )
    connection.close()


@pytest.mark.parametrize("version", range(1, len(STEPS)))
def test_an_older_file_is_brought_up_to_date_and_keeps_its_records(
    tmp_path: Path, version: int
) -> None:
    made = [record(session="s") for _ in range(3)]
    old_file(tmp_path / "records.db", version, [*made])
    with store_in(tmp_path) as store:
        assert list(store.records()) == made
        assert store.attach(made[0].id, Outcome("success"))
        assert store.add(record())
        assert store.count(RecordQuery(point="tool")) == 4
        assert store.check() == []
    connection = sqlite3.connect(store.path)
    assert version_of(connection) == len(STEPS)
    new = sqlite3.connect(":memory:", isolation_level=None)
    migrate(new)
    schema = "SELECT type, name FROM sqlite_master WHERE name NOT LIKE 'sqlite_stat%' ORDER BY 1, 2"
    assert connection.execute(schema).fetchall() == new.execute(schema).fetchall()
    connection.close()
    new.close()


def test_a_reader_brings_an_older_file_up_to_date_where_it_may(tmp_path: Path) -> None:
    made = record()
    old_file(tmp_path / "records.db", 1, [made])
    with store_in(tmp_path, reading=True) as store:
        assert list(store.records()) == [made]


def test_a_step_that_fails_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "records.db"
    made = record()
    old_file(path, 1, [made])
    connection = sqlite3.connect(path, isolation_level=None)
    before = connection.execute("SELECT * FROM sqlite_master").fetchall()
    broken = (STEPS[0], STEPS[1], ("CREATE TABLE more (x)", "NOT SQL"))
    with pytest.raises(sqlite3.OperationalError):
        migrate(connection, broken)
    assert connection.execute("SELECT * FROM sqlite_master").fetchall() == before
    assert version_of(connection) == 1
    connection.close()
    with store_in(tmp_path) as store:
        assert list(store.records()) == [made]


def test_a_file_of_a_later_version_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "records.db"
    with store_in(tmp_path) as store:
        store.add(record())
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(f"PRAGMA user_version = {len(STEPS) + 1}")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    before = path.read_bytes()
    for reading in (False, True):
        with pytest.raises(StoreError, match=f"version {len(STEPS) + 1}, this package knows up to"):
            store_in(tmp_path, reading=reading).count()
    assert path.read_bytes() == before
