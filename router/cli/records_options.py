"""Options that the commands of ``har records`` share: which file, and which records."""

import re
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import click

from router.decisions.places import default_path
from router.decisions.query import RecordQuery
from router.decisions.store import RecordStore

__all__ = ["file_option", "filters", "moment", "opened", "query_of", "size"]

_AGO: Final = re.compile(r"(\d+(?:\.\d+)?)([smhdw])")
_SECONDS: Final = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0, "w": 604_800.0}
_SIZE: Final = re.compile(r"(?i)(\d+(?:\.\d+)?)\s*([kmg]?)b?")
_UNITS: Final = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}


def moment(text: str) -> float:
    """Unix seconds of "7d" (so long ago; s, m, h, d, w), or of a date or time in ISO 8601, which is
    local if it names no zone.
    """
    ago = _AGO.fullmatch(text.strip())
    if ago:
        return max(time.time() - float(ago[1]) * _SECONDS[ago[2]], 0.0)
    try:
        return max(datetime.fromisoformat(text.strip()).timestamp(), 0.0)
    except (ValueError, OverflowError, OSError):
        wanted = "7d, 12h, 2026-11-03 or 2026-11-03T14:00"
        raise click.BadParameter(f"got {text!r}, wanted {wanted}") from None


def size(text: str) -> int:
    """Bytes of "500000", "200kB", "1.5GB"."""
    found = _SIZE.fullmatch(text.strip())
    if not found:
        raise click.BadParameter(f"got {text!r}, wanted bytes, such as 500000, 200kB or 1.5GB")
    return int(float(found[1]) * _UNITS[found[2].lower()])


file_option: Final = click.option(
    "--db",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File of records [$HARNESS_ROUTER_RECORDS, the project's .harness-router, the user's].",
)


def filters(command: Callable[..., None]) -> Callable[..., None]:
    """Options that say which records."""
    for option in reversed(
        [
            click.option("--point", help='Only of this decision point, e.g. "tool".'),
            click.option(
                "--since",
                type=moment,
                metavar="WHEN",
                help="Only from then on: 7d, 12h, 2026-11-03.",
            ),
            click.option("--until", type=moment, metavar="WHEN", help="Only before then."),
            click.option("--session", help="Only of this session: its id, or its hash (h:...)."),
            click.option("--fallbacks-only", is_flag=True, help="Only where something stood in."),
        ]
    ):
        command = option(command)
    return command


def opened(db: Path | None, *, reading: bool) -> RecordStore:
    """The store that the command is about."""
    return RecordStore(db or default_path(), reading=reading)


def query_of(store: RecordStore, options: dict[str, Any]) -> RecordQuery:
    """The query of the options of ``filters``, which are taken out of ``options``."""
    session = options.pop("session")
    if session is not None and not re.fullmatch(r"h:[0-9a-f]{24}", session):
        session = store.session_hash(session)
    names = ("point", "since", "until", "fallbacks_only")
    return RecordQuery(session=session, **{name: options.pop(name) for name in names})
