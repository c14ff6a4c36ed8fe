"""The tables of the file of records, as the steps by which they grew; a new file takes them all."""

import sqlite3
from collections.abc import Sequence
from typing import Final

from router.decisions.errors import StoreError

__all__ = ["APPLICATION_ID", "STEPS", "migrate", "version_of"]

APPLICATION_ID: Final = 0x48415243
"""Marks the file as ours (PRAGMA application_id)."""

STEPS: Final[tuple[tuple[str, ...], ...]] = (
    (  # 1: options, each set once, and records
        f"PRAGMA application_id = {APPLICATION_ID}",
        """CREATE TABLE option_set (
            key BLOB PRIMARY KEY,       -- digest in the order offered
            set_hash TEXT NOT NULL,     -- digest in any order
            body BLOB NOT NULL          -- compressed JSON
        )""",
        """CREATE TABLE record (
            n INTEGER PRIMARY KEY,
            id BLOB NOT NULL UNIQUE,    -- 16 bytes, sorts by time
            point TEXT NOT NULL,
            session TEXT,
            options BLOB NOT NULL,      -- key of option_set
            tool TEXT,
            category TEXT,
            confidence REAL NOT NULL,
            probabilities,              -- doubles in the order of the options, or JSON
            none_fits REAL,
            abstained INTEGER NOT NULL,
            reason TEXT,
            source TEXT NOT NULL,
            provider_error TEXT,
            version TEXT,
            model TEXT,
            answer TEXT,
            latency_ms REAL,
            why TEXT,
            text TEXT NOT NULL,
            state TEXT,
            validation TEXT NOT NULL,
            fallback_to TEXT,
            fallback_reason TEXT,
            thresholds TEXT,
            prompt_hash TEXT
        )""",
    ),
    (  # 2: outcomes with their history; whether a secret was taken out
        "ALTER TABLE record ADD COLUMN redacted INTEGER NOT NULL DEFAULT 0",
        """CREATE TABLE outcome (
            record INTEGER NOT NULL,    -- record.n
            seq INTEGER NOT NULL,       -- the highest one holds
            body TEXT NOT NULL,
            PRIMARY KEY (record, seq)
        ) WITHOUT ROWID""",
    ),
    (  # 3: what lists, thresholds and retention look up
        "CREATE INDEX record_point ON record (point, id)",
        "CREATE INDEX record_session ON record (session, id) WHERE session IS NOT NULL",
        "CREATE INDEX record_options ON record (options)",
        "CREATE INDEX option_set_hash ON option_set (set_hash)",
    ),
)
"""Step i makes version i + 1 of version i; a step that was released is never changed."""


def version_of(connection: sqlite3.Connection) -> int:
    """The version of the file (PRAGMA user_version); 0: empty.

    Raises:
        StoreError: "newer" than this package knows, or "foreign": not a file of records.
    """
    # In one statement, and so at one moment: another process may be making the file.
    version, application, tables = connection.execute(
        "SELECT user_version, application_id, (SELECT count(*) FROM sqlite_master)"
        " FROM pragma_user_version, pragma_application_id"
    ).fetchone()
    if application != APPLICATION_ID and (application or tables or version):
        raise StoreError("foreign", "the file is an SQLite database, but not one of records")
    if version > len(STEPS):
        raise StoreError(
            "newer", f"the file has version {version}, this package knows up to {len(STEPS)}"
        )
    return int(version)


def migrate(
    connection: sqlite3.Connection, steps: Sequence[Sequence[str]] = STEPS, known: int | None = None
) -> None:
    """Bring the file to the version of ``steps``: every step, or none of them.

    Args:
        connection: in autocommit mode.
        steps: see ``STEPS``.
        known: the version, if it was just read; saves a look where nothing is to be done.

    Raises:
        StoreError: as ``version_of``.
    """
    if (version_of(connection) if known is None else known) == len(steps):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        for number, step in enumerate(steps[version_of(connection) :], version_of(connection) + 1):
            for statement in step:
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {number}")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
