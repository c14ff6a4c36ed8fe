"""Records and sudden death: many processes write at once and are killed at random moments.

    python -m experiments.record_crash [--records 100000] [--processes 16] [--kills 1000] [--json]

Each process writes records (and outcomes of some) and says on a pipe when ``add`` has returned; one
after the other they are killed with SIGKILL, and others take their place. In the end the file must
pass SQLite's integrity check, hold every record and outcome that was acknowledged, read back whole,
and hold no more records beyond those than one for each process that was killed.
"""

import json
import multiprocessing
import os
import random
import selectors
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Final

import click

from experiments.bar import bar
from router.decisions.outcome import Outcome
from router.decisions.privacy import Privacy
from router.decisions.record import DecisionRecord
from router.decisions.store import RecordStore
from router.models import ActionSummary, HarnessState, RouteDecision, ToolDescriptor

ACK_BYTES: Final = 17
RECORD, OUTCOME = b"r", b"o"
PATIENCE_SECONDS: Final = 60.0
SETS: Final = 12


@dataclass(frozen=True, slots=True)
class Crash:
    """What a run found.

    Attributes:
        processes: at once.
        kills: processes that were killed.
        acknowledged: records whose ``add`` returned.
        outcomes: outcomes whose ``attach`` returned.
        stored: records in the file at the end.
        lost: acknowledged records that are not there.
        lost_outcomes: acknowledged outcomes that are not there.
        damage: lines of the integrity check; empty if the file is sound.
        seconds: of writing.
        megabytes: size of the file.
    """

    processes: int
    kills: int
    acknowledged: int
    outcomes: int
    stored: int
    lost: int
    lost_outcomes: int
    damage: Sequence[str]
    seconds: float
    megabytes: float

    @property
    def holds(self) -> bool:
        """Whether nothing that was promised is missing."""
        in_flight = self.stored - self.acknowledged
        return not self.damage and not self.lost + self.lost_outcomes and in_flight <= self.kills


def run(path: Path, records: int, processes: int, kills: int, seed: int) -> Crash:
    """Write at least ``records`` records into a new file at ``path``, with kills all along.

    Args:
        path: the file.
        records: acknowledged ones after which all writers are killed.
        processes: that write at once.
        kills: about how many are killed before that.
        seed: of when which one dies, and of what is written.
    """
    started = time.monotonic()
    writers = _Writers(path, processes, random.Random(seed), kills / records)
    with writers, bar() as progress:
        task = progress.add_task("records", total=records)
        while len(writers.records) < records:
            writers.step()
            progress.update(task, completed=len(writers.records))
    return _verdict(path, writers, time.monotonic() - started)


@dataclass(eq=False, slots=True)
class _Writing:
    """A process, the pipe on which it acknowledges, and what of that was read."""

    process: BaseProcess
    pipe: Connection
    half_read: bytes = b""
    began: bool = False


class _Writers:
    """The processes, and what they acknowledged."""

    def __init__(self, path: Path, processes: int, rng: random.Random, rate: float) -> None:
        self.records: set[str] = set()
        self.outcomes: set[str] = set()
        self.kills = 0
        self.processes = processes
        self._path = path
        self._rng = rng
        self._rate = rate
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(["experiments.bar", "router.decisions.store"])
        self._selector = selectors.DefaultSelector()
        self._next_kill = rng.expovariate(rate)

    def __enter__(self) -> "_Writers":
        for _ in range(self.processes):
            self._start()
        return self

    def __exit__(self, *_: object) -> None:
        for writing in self._all():
            self._kill(writing)
        self._selector.close()

    def step(self) -> None:
        """Take what was acknowledged; kill one of those that write if it is time."""
        for key, _ in self._selector.select():
            if not self._take(key.data):
                raise RuntimeError(f"a writer ended by itself: {key.data.process.exitcode}")
        while len(self.records) >= self._next_kill:
            self._kill(self._rng.choice([one for one in self._all() if one.began]))
            self._start()
            self._next_kill += self._rng.expovariate(self._rate)

    def _all(self) -> list[_Writing]:
        return [key.data for key in self._selector.get_map().values()]

    def _start(self) -> None:
        pipe, theirs = self._context.Pipe(duplex=False)
        arguments = (self._path, self._rng.getrandbits(32), theirs)
        process = self._context.Process(target=worker, args=arguments, daemon=True)
        process.start()
        theirs.close()
        self._selector.register(pipe, selectors.EVENT_READ, _Writing(process, pipe))

    def _kill(self, writing: _Writing) -> None:
        writing.process.kill()
        self.kills += 1
        while self._take(writing):
            pass
        self._selector.unregister(writing.pipe)
        writing.pipe.close()
        writing.process.join()

    def _take(self, writing: _Writing) -> bool:
        """Read some acknowledgements; False at the end of the pipe."""
        read = os.read(writing.pipe.fileno(), 1 << 16)
        whole = writing.half_read + read
        end = len(whole) - len(whole) % ACK_BYTES
        for i in range(0, end, ACK_BYTES):
            kind, record_id = whole[i : i + 1], whole[i + 1 : i + ACK_BYTES].hex()
            (self.records if kind == RECORD else self.outcomes).add(record_id)
        writing.half_read = whole[end:]
        writing.began = writing.began or end > 0
        return bool(read)


def _verdict(path: Path, writers: _Writers, seconds: float) -> Crash:
    with RecordStore(path, busy_seconds=PATIENCE_SECONDS) as store:
        damage = store.check()
        with_outcome = {}
        for record in store.records():  # each is read back whole and checked
            with_outcome[record.id] = record.outcome is not None
        store.prune()  # checkpoint, so that the size is that of one file
        return Crash(
            processes=writers.processes,
            kills=writers.kills,
            acknowledged=len(writers.records),
            outcomes=len(writers.outcomes),
            stored=len(with_outcome),
            lost=len(writers.records - with_outcome.keys()),
            lost_outcomes=sum(not with_outcome.get(i, False) for i in writers.outcomes),
            damage=damage,
            seconds=round(seconds, 1),
            megabytes=round(path.stat().st_size / 1e6, 1),
        )


def worker(path: Path, seed: int, pipe: Connection) -> None:
    """Write records until somebody kills this process; say so on the pipe after each."""
    rng = random.Random(seed)
    store = RecordStore(path, busy_seconds=PATIENCE_SECONDS)
    for record in _records(rng, Privacy("full", store.key)):
        store.add(record)
        os.write(pipe.fileno(), RECORD + bytes.fromhex(record.id))
        if rng.random() < 0.1:
            store.attach(record.id, Outcome("success", by="worker"))
            os.write(pipe.fileno(), OUTCOME + bytes.fromhex(record.id))


def _records(rng: random.Random, privacy: Privacy) -> Iterator[DecisionRecord]:
    """Without end, of many sizes, over a few sets of options that all processes share."""
    sets = [
        [ToolDescriptor(f"tool_{i}", f"does {i} of set {k}", "inspect") for i in range(2 + 5 * k)]
        for k in range(SETS)
    ]
    while True:
        tools = rng.choice(sets)
        weights = [rng.random() for _ in tools]
        shares = {t.name: w / sum(weights) for t, w in zip(tools, weights, strict=True)}
        best = max(shares, key=shares.__getitem__)
        state = HarnessState(
            "survive", "x" * rng.randrange(2000), best, [ActionSummary(best, "success")]
        )
        decision = RouteDecision(
            best, "inspect", shares[best], shares, source="local", none_fits=0.0, version="crash@1"
        )
        yield DecisionRecord.from_decision("tool", state, tools, decision, privacy, session="crash")


@click.command(help=__doc__)
@click.option("--records", default=100_000, show_default=True)
@click.option("--processes", default=16, show_default=True)
@click.option("--kills", default=1000, show_default=True, help="About how many.")
@click.option("--seed", default=1, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def main(*, records: int, processes: int, kills: int, seed: int, as_json: bool) -> None:
    """Print what a run found; exit code 1 if a promise was broken."""
    with tempfile.TemporaryDirectory() as folder:
        found = run(Path(folder) / "records.db", records, processes, kills, seed)
    if as_json:
        click.echo(json.dumps({**asdict(found), "holds": found.holds}))
    else:
        for name, value in asdict(found).items():
            click.echo(f"{name:>14} {value}")
        click.echo("every promise held" if found.holds else "A PROMISE WAS BROKEN")
    sys.exit(not found.holds)


if __name__ == "__main__":
    main()
