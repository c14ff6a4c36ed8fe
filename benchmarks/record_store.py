"""What a record costs a decision: the recorder beside a bare insert of the same bytes.

    python -m benchmarks.record_store [--records 3000] [--folder DIR]

The floor is one table without any index, the bytes of the same row in one column, inserted and
committed by ``sqlite3`` with the same settings. Floor and ours take turns, record by record, so
that what else the machine does hits both. Times are of the caller, in microseconds.
"""

import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import click

from router.decisions.ids import new_id
from router.decisions.privacy import Privacy, TextMode
from router.decisions.record import DecisionRecord
from router.decisions.recorder import Recorder
from router.decisions.retention import Retention
from router.decisions.rows import row_of
from router.decisions.store import RecordStore
from router.models import ActionSummary, HarnessState, RouteDecision, ToolDescriptor

__all__ = ["Cost", "costs", "measure"]

TEXTS: Final[tuple[TextMode, ...]] = ("none", "hashed", "full")
COUNTS: Final = (10, 64)
STATE: Final = HarnessState(
    "find out why the nightly export writes empty files, and stop it",
    observation="2 matches: export/writer.py:88, export/job.py:17\n" * 8,
    last_action="tool_3",
    recent_actions=[ActionSummary(f"tool_{i}", "success") for i in range(6)],
    constraints=["no network", "ask before deleting"],
)


@dataclass(frozen=True, slots=True)
class Cost:
    """Microseconds of the caller's time, and bytes.

    Attributes:
        text, options: what was recorded.
        floor: median of the bare insert and commit.
        add: median of ``RecordStore.add`` of a record that is there already.
        record: median, 95th and 99th percentile of ``Recorder.record``.
        anew: median where the descriptors are made anew for each call, so that all are hashed.
        background: median where a thread writes.
        row_bytes: what the floor inserts.
        disk_bytes: of the file by records, options and indices included.
    """

    text: TextMode
    options: int
    floor: float
    add: float
    record: tuple[float, float, float]
    anew: float
    background: float
    row_bytes: int
    disk_bytes: float


def offered(count: int) -> list[ToolDescriptor]:
    """Tools with schemas of some 300 bytes."""
    properties = {
        f"argument_{i}": {"type": "string", "description": "what it says"} for i in range(4)
    }
    return [
        ToolDescriptor(
            f"tool_{i}",
            f"Does the thing number {i} to a file at a path, and says what came of it",
            "inspect",
            schema={"type": "object", "properties": dict(properties), "required": ["argument_0"]},
        )
        for i in range(count)
    ]


def decided(tools: Sequence[ToolDescriptor]) -> RouteDecision:
    """A pick with a share for each tool."""
    shares = {tool.name: 0.1 / len(tools) for tool in tools} | {"tool_3": 0.88}
    return RouteDecision(
        "tool_3",
        "inspect",
        0.88,
        shares,
        source="local",
        none_fits=0.02,
        version="local@1",
        latency_ms=0.31,
    )


def measure(folder: Path, text: TextMode, count: int, records: int) -> Cost:
    """The cost of one kind of record.

    Args:
        folder: on the disk that is measured.
        text: how texts are kept.
        count: tools on offer.
        records: how many of each are written.
    """
    tools, decision = offered(count), decided(offered(count))
    floor, row_bytes = _floor(folder, text, tools, decision)
    store = RecordStore(folder / "add.db", retention=Retention(max_bytes=None))
    kept = Recorder(folder / "records.db", text)
    anew = Recorder(folder / "anew.db", text)
    thread = Recorder(folder / "background.db", text, background=True)
    ready = DecisionRecord.from_decision("tool", STATE, tools, decision, Privacy(text, store.key))
    times: dict[str, list[float]] = {name: [] for name in ("floor", "add", "record", "anew", "bg")}
    for i in range(records):
        once = replace(ready, id=new_id())
        others = offered(count) if i % 8 == 0 else None
        times["floor"].append(_timed(floor))
        times["add"].append(_timed(lambda: store.add(once)))  # noqa: B023  called at once
        times["record"].append(_timed(lambda: kept.record("tool", STATE, tools, decision)))
        if others is not None:
            call = lambda: anew.record("tool", STATE, others, decision)  # noqa: B023, E731
            times["anew"].append(_timed(call))
        times["bg"].append(_timed(lambda: thread.record("tool", STATE, tools, decision)))
        thread.flush()
    kept.store.prune()
    assert kept.counts == thread.counts == {"written": records}
    size = kept.store.path.stat().st_size
    for recorder in (kept, anew, thread):
        recorder.close()
    store.close()
    shares = statistics.quantiles(times["record"], n=100)
    return Cost(
        text=text,
        options=count,
        floor=statistics.median(times["floor"]),
        add=statistics.median(times["add"]),
        record=(shares[49], shares[94], shares[98]),
        anew=statistics.median(times["anew"]),
        background=statistics.median(times["bg"]),
        row_bytes=row_bytes,
        disk_bytes=size / records,
    )


def _floor(
    folder: Path, text: TextMode, tools: Sequence[ToolDescriptor], decision: RouteDecision
) -> tuple[Callable[[], object], int]:
    """The bare insert, and how many bytes it inserts."""
    record = DecisionRecord.from_decision(
        "tool", STATE, tools, decision, Privacy(text, bytes(32)), session="s"
    )
    values = [value for value in row_of(record) if value is not None]
    body = b"x" * sum(len(v) if isinstance(v, (str, bytes)) else 8 for v in values)
    connection = sqlite3.connect(folder / "floor.db", isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("CREATE TABLE record (n INTEGER PRIMARY KEY, body BLOB)")
    return lambda: connection.execute("INSERT INTO record (body) VALUES (?)", (body,)), len(body)


def _timed(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return (time.perf_counter() - start) * 1e6


def costs(records: int, folder: Path | None = None) -> list[Cost]:
    """The costs of all kinds of records."""
    found = []
    for text in TEXTS:
        for count in COUNTS:
            with tempfile.TemporaryDirectory(dir=folder) as path:
                found.append(measure(Path(path), text, count, records))
    return found


@click.command(help=__doc__)
@click.option("--records", default=3000, show_default=True)
@click.option("--folder", type=click.Path(file_okay=False, path_type=Path), help="On which disk.")
def main(records: int, folder: Path | None) -> None:
    """Print a table."""
    click.echo(
        "| text | options | floor | store.add | record p50 | p95 | p99 | over the floor "
        "| tools made anew | in a thread | row bytes | disk bytes |"
    )
    click.echo("|---|" + "---:|" * 11)
    for cost in costs(records, folder):
        p50, p95, p99 = cost.record
        numbers = (
            *(cost.floor, cost.add, p50, p95, p99, p50 - cost.floor, cost.anew, cost.background),
            *(cost.row_bytes, cost.disk_bytes),
        )
        cells = " | ".join(f"{number:,.0f}" for number in numbers)
        click.echo(f"| {cost.text} | {cost.options} | {cells} |")


if __name__ == "__main__":
    main()
