"""What is said of a record later: outcomes with their history, and a fallback found afterwards."""

import sqlite3

from router.decisions.errors import RecordConflictError, RecordFieldError, UnknownRecordError
from router.decisions.ids import check_id
from router.decisions.options import OptionSet
from router.decisions.outcome import Outcome
from router.decisions.record import Fallback, Validation
from router.decisions.rows import outcome_of, outcome_text

__all__ = ["add_fallback", "add_outcome", "check_right", "history", "number_of"]


def add_outcome(
    connection: sqlite3.Connection, record_id: str, outcome: Outcome, *, force: bool
) -> bool:
    """Within a transaction: see ``RecordStore.attach``. ``right`` was checked by the caller."""
    n = number_of(connection, record_id)
    said = history(connection, n)
    joined = outcome if force or not said else said[-1].joined(outcome)
    if said and (joined is said[-1] or joined == said[-1]):
        return False
    connection.execute("INSERT INTO outcome VALUES (?, ?, ?)", (n, len(said), outcome_text(joined)))
    return True


def check_right(outcome: Outcome, options: OptionSet) -> None:
    """Raise ``RecordFieldError`` if ``outcome.right`` names what was not on offer."""
    for name in outcome.right or ():
        if name not in options.known:
            raise RecordFieldError("right", name, "an option that was on offer")


def history(connection: sqlite3.Connection, n: int) -> list[Outcome]:
    """All that was said of record number ``n``, oldest first; the last one holds."""
    rows = connection.execute("SELECT body FROM outcome WHERE record = ? ORDER BY seq", (n,))
    return [outcome for (body,) in rows if (outcome := outcome_of(body)) is not None]


def add_fallback(
    connection: sqlite3.Connection, record_id: str, fallback: Fallback, validation: Validation
) -> bool:
    """Within a transaction: see ``RecordStore.set_fallback``."""
    n = number_of(connection, record_id)
    before = connection.execute(
        "SELECT fallback_to, fallback_reason, validation FROM record WHERE n = ?", (n,)
    ).fetchone()
    if before == (fallback.to, fallback.reason, validation):
        return False
    if before[0] not in (None, "local"):
        raise RecordConflictError(
            f"fallback: got {fallback.to!r} ({fallback.reason}), it is {before[0]!r} ({before[1]})"
        )
    if validation == "accepted" and before[2] != "accepted":
        raise RecordFieldError("validation", validation, f"{before[2]}, as it was, or a rejection")
    connection.execute(
        "UPDATE record SET fallback_to = ?, fallback_reason = ?, validation = ? WHERE n = ?",
        (fallback.to, fallback.reason, validation, n),
    )
    return True


def number_of(connection: sqlite3.Connection, record_id: str) -> int:
    """The row of a record; raises ``UnknownRecordError`` if there is none."""
    key = bytes.fromhex(check_id(record_id))
    row = connection.execute("SELECT n FROM record WHERE id = ?", (key,)).fetchone()
    if row is None:
        raise UnknownRecordError(f"id: no record {record_id}")
    return int(row[0])
