"""``har records``: list, show, export, import and purge records; say how a decision ended."""

import getpass
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NoReturn

import click

from router.cli import records_view as view
from router.cli.records_options import file_option, filters, moment, opened, query_of, size
from router.decisions.codec import outcome_to_json, record_to_json
from router.decisions.errors import RecordError, StoreError
from router.decisions.outcome import Outcome
from router.decisions.query import RecordQuery
from router.decisions.record import DecisionRecord
from router.decisions.store import RecordStore
from router.decisions.transfer import Imported, export_records, import_records

__all__ = ["records"]

STORE_TROUBLE = 1
BAD_INPUT = 2
MOST_PROBLEMS = 20
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def records() -> None:
    """Records of decisions: what was offered, what was decided, and how it ended.

    Exit codes: 0 done, 2 bad input (one line that names the field), 1 the file cannot be used.

    \b
    Examples:
      har records list --since 7d --fallbacks-only
      har records outcome 0199c3a1b2c47f00 success --right read_file --by anna
      har records export - --point tool | gzip > records.jsonl.gz
    """  # noqa: D301  click wants the character, not the two that a raw string has


@records.command("list")
@file_option
@filters
@click.option(
    "--limit", type=click.IntRange(min=0), default=20, show_default=True, help="Most; 0: all."
)
@json_option
def list_records(db: Path | None, limit: int, as_json: bool, **options: Any) -> None:
    """The newest records, one a line."""
    with _troubles("list"), opened(db, reading=True) as store:
        found = _found(store, options, limit)
        if as_json:
            _print_array(store, found)
        elif not view.show_list(found):
            click.echo("no records")


@records.command()
@click.argument("record_id", metavar="ID")
@file_option
@json_option
def show(record_id: str, db: Path | None, as_json: bool) -> None:
    """All that is known of one record.

    The first digits of its id are enough, if no other begins so.
    """
    with _troubles("show"), opened(db, reading=True) as store:
        record = store.get(record_id)
        if as_json:
            click.echo(json.dumps(_whole(store, record), allow_nan=False))
        else:
            view.show_record(record, store.outcomes(record.id))


@records.command("export")
@click.argument("file", metavar="FILE|-", type=click.Path(path_type=Path, allow_dash=True))
@file_option
@filters
@click.option("--limit", type=click.IntRange(min=0), default=0, help="Most; 0: all [0].")
@json_option
def export_command(file: Path, db: Path | None, limit: int, as_json: bool, **options: Any) -> None:
    """Write records as JSON lines.

    They are written in the order of time. A file is written whole or not at all.
    """
    with _troubles("export"), opened(db, reading=True) as store:
        query = query_of(store, options)
        total = min(store.count(query), limit or sys.maxsize)
        with _written(file) as out, view.progress_bar("records", total) as progress:
            done = export_records(store, out, query, limit=limit or None, progress=progress)
        if str(file) != "-":
            click.echo(json.dumps({"records": done}) if as_json else f"{done:,} records written")


@records.command("import")
@click.argument("file", metavar="FILE|-", type=click.Path(path_type=Path, allow_dash=True))
@file_option
@json_option
def import_command(file: Path, db: Path | None, as_json: bool) -> None:
    """Read JSON lines that export wrote.

    Records that are there already are left as they are; an outcome that they lack is added.

    Exit code 2 if a line was broken; the others were taken.
    """
    with (
        _troubles("import"),
        _read(file) as (lines, total),
        opened(db, reading=False) as store,
        view.progress_bar("bytes", total) as progress,
    ):
        found = import_records(store, lines, progress=progress)
    _tell(found, as_json=as_json)
    if found.broken:
        sys.exit(BAD_INPUT)


@records.command()
@file_option
@filters
@click.option(
    "--before", type=moment, metavar="WHEN", help="As --until: only before then, e.g. 30d."
)
@click.option(
    "--max-bytes", type=size, metavar="SIZE", help="The oldest, until the file is no larger: 200MB."
)
@click.option("--all", "everything", is_flag=True, help="Every record.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
def purge(
    *,
    db: Path | None,
    before: float | None,
    max_bytes: int | None,
    everything: bool,
    yes: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Delete records for good.

    What they held is overwritten in the file. Asks first, unless --yes is given.
    """
    with _troubles("purge"):
        store = opened(db, reading=False)
        if not store.path.exists():
            raise StoreError("missing", "there is no file of records")
        options["until"] = options["until"] if before is None else before
        query = query_of(store, options)
        if query == RecordQuery() and not everything and max_bytes is None:
            _refuse("purge", "wanted --all, --before, --max-bytes or another filter")
        with store:
            if max_bytes is None:
                _ask(f"Delete {store.count(query):,} of {store.count():,} records?", yes=yes)
                gone = store.purge(query)
            elif query != RecordQuery() or everything:
                _refuse("purge", "--max-bytes: wanted alone")
            else:
                _ask(f"Delete the oldest records beyond {max_bytes:,} bytes?", yes=yes)
                gone = store.prune(max_bytes=max_bytes)
    if as_json:
        click.echo(json.dumps({"records": gone.records, "bytes": gone.bytes}))
    else:
        click.echo(f"{gone.records:,} records deleted, {gone.bytes:,} bytes freed")


@records.command("outcome")
@click.argument("record_id", metavar="ID")
@click.argument("result", type=click.Choice(["success", "failure", "abandoned", "unknown"]))
@click.option("--right", multiple=True, help="What would have been right; may stand several times.")
@click.option("--none-right", is_flag=True, help="Nothing that was on offer would have been right.")
@click.option("--duration-ms", type=float, help="How long what ran took.")
@click.option("--retries", type=int, help="How often it was tried again.")
@click.option("--by", help="Who says so [the user's name].")
@click.option("--force", is_flag=True, help="Replace what was said before; it stays as history.")
@file_option
@json_option
def outcome_command(
    *,
    record_id: str,
    result: str,
    right: tuple[str, ...],
    none_right: bool,
    by: str | None,
    force: bool,
    db: Path | None,
    as_json: bool,
    **given: Any,
) -> None:
    """Say how a decision ended.

    RESULT is how what ran went. What adds to an earlier statement is joined with it; what
    contradicts it is refused, unless --force is given.
    """
    with _troubles("outcome"):
        if right and none_right:
            _refuse("outcome", "--right: wanted without --none-right")
        said: Any = None if result == "unknown" else result
        known = right if right or none_right else None
        outcome = Outcome(said, known, by=by or _user(), **given)
        store = opened(db, reading=False)
        if not store.path.exists():
            raise StoreError("missing", "there is no file of records")
        with store:
            record = store.get(record_id)
            new = store.attach(record.id, outcome, force=force)
            holds = store.outcomes(record.id)[-1]
    if as_json:
        told = {"id": record.id, "new": new, "outcome": outcome_to_json(holds)}
        click.echo(json.dumps(told, allow_nan=False))
    else:
        click.echo(f"{record.id}: {'noted' if new else 'known'}")


def _found(store: RecordStore, options: dict[str, Any], limit: int) -> Iterator[DecisionRecord]:
    """The newest first; nothing where there is no file yet."""
    if store.path.exists():
        query = query_of(store, options)
        yield from store.records(query, newest_first=True, limit=limit or None)


def _whole(store: RecordStore, record: DecisionRecord) -> dict[str, Any]:
    """A record with its options and all that was said of it."""
    said = store.outcomes(record.id) if record.outcome else ()
    return {
        **record_to_json(record),
        "option_set": record.options.set_hash,
        "options": record.options.as_json(),
        "outcomes": [outcome_to_json(outcome) for outcome in said],
    }


def _print_array(store: RecordStore, found: Iterator[DecisionRecord]) -> None:
    """A JSON array, printed as the records are read."""
    separator = "["
    for record in found:
        click.echo(separator + json.dumps(_whole(store, record), allow_nan=False), nl=False)
        separator = ",\n "
    click.echo("[]" if separator == "[" else "]")


def _tell(found: Imported, *, as_json: bool) -> None:
    if as_json:
        told = {name: getattr(found, name) for name in ("records", "duplicates", "outcomes")}
        problems = [{"line": line, "problem": what} for line, what in found.problems]
        click.echo(json.dumps({**told, "broken": found.broken, "problems": problems}))
        return
    click.echo(f"{found.records:,} records read, {found.duplicates:,} were there already")
    for line, what in found.problems[:MOST_PROBLEMS]:
        click.echo(f"har records import: line {line}: {what}", err=True)
    if found.broken > MOST_PROBLEMS:
        click.echo(f"har records import: {found.broken:,} broken in all", err=True)


@contextmanager
def _written(file: Path) -> Iterator[IO[bytes]]:
    """A file of mode 0600 that is there once it is whole; or stdout."""
    if str(file) == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    partial = file.with_name(file.name + ".partial")
    partial.unlink(missing_ok=True)
    try:
        with os.fdopen(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as out:
            yield out
        partial.replace(file)
    finally:
        partial.unlink(missing_ok=True)


@contextmanager
def _read(file: Path) -> Iterator[tuple[IO[bytes], int | None]]:
    """The file and its size, if it is known; or stdin."""
    if str(file) == "-":
        yield sys.stdin.buffer, None
        return
    with file.open("rb") as lines:
        yield lines, file.stat().st_size


@contextmanager
def _troubles(command: str) -> Iterator[None]:
    """Errors as one line and an exit code."""
    try:
        yield
    except StoreError as error:
        _refuse(command, f"{error.kind}: {error}", STORE_TROUBLE)
    except RecordError as error:
        _refuse(command, str(error))
    except BrokenPipeError:
        raise
    except OSError as error:
        _refuse(command, f"{error.filename or 'FILE'}: {error.strerror or 'cannot be used'}")


def _ask(question: str, *, yes: bool) -> None:
    """Go on only if the person says so."""
    if yes:
        return
    if not _can_ask():
        _refuse("purge", "nobody can be asked here: wanted --yes")
    if not click.confirm(question, err=True):
        click.echo("nothing was deleted")
        sys.exit(0)


def _can_ask() -> bool:
    return sys.stdin.isatty()


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"


def _refuse(command: str, message: str, code: int = BAD_INPUT) -> NoReturn:
    click.echo(f"har records {command}: {message}", err=True)
    sys.exit(code)
