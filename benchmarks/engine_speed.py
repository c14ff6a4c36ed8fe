"""How fast the engine is: beside its floor in C and its peers, in one run, in interleaved rounds.

    python -m benchmarks.engine_speed [--simulations 1000,10000,100000] [--quick] [--json]
        [--peers-python /tmp/peers/bin/python] [--only WORD]

Million simulations a second of wall time, medians; a ratio is the median of the rounds' own
ratios. Ours includes making the Search, the floor keeps its arena between runs. Worlds:
"connect four" with random rollouts (floor, OpenSpiel), "tree" with b actions and d levels, every
leaf worth the same (floor, peers), "python" simulators with random rollouts (a loop that makes the
same calls of the simulator, peers).
"""

import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import click

from benchmarks.engine_worlds import (
    PYTHON_WORLDS,
    TREES,
    floor_connect_four,
    floor_tree,
    native_connect_four,
    native_tree,
    our_tree,
    python_floor,
    python_world,
)
from benchmarks.floor import FloorError, compiler, cpu_model, is_vectorised
from benchmarks.peers import PEERS

Timed = Callable[[int], tuple[float, int]]
"""simulations -> (seconds, simulations that were run in them)."""


@dataclass(slots=True)
class Contestant:
    """One line of a table: ``speeds`` [rounds] in simulations a second, or why there are none."""

    name: str
    timed: Timed | None
    note: str = ""  # a version, or why there is nothing to measure
    most: int = 2**31 - 2
    speeds: list[float] = field(default_factory=list)

    @property
    def median(self) -> float | None:
        return statistics.median(self.speeds) if self.speeds else None


class Peers:
    """The process of benchmarks.peers in the interpreter that has the peers."""

    def __init__(self, python: str) -> None:
        self.process = subprocess.Popen(
            [python, "-m", "benchmarks.peers"],
            cwd=Path(__file__).resolve().parent.parent,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.versions: dict[str, str | None] = self._answer()

    def _answer(self) -> Any:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise click.ClickException("the process of the peers ended")
        return json.loads(line)

    def timed(self, peer: str, world: str, branching: int = 8, depth: int = 6) -> Timed:
        def run(simulations: int) -> tuple[float, int]:
            ask = {"peer": peer, "world": world, "simulations": simulations}
            assert self.process.stdin is not None
            print(
                json.dumps({**ask, "branching": branching, "depth": depth}),
                file=self.process.stdin,
                flush=True,
            )
            answer = self._answer()
            if "error" in answer:
                raise RuntimeError(answer["error"])
            return answer["seconds"], answer["simulations"]

        return run

    def contestants(self, world: str, branching: int = 8, depth: int = 6) -> Iterator[Contestant]:
        for name, peer in PEERS.items():
            if world in peer.worlds:
                version = self.versions.get(name)
                timed = self.timed(name, world, branching, depth) if version else None
                note = version or "not installed"
                yield Contestant(name, timed, note, peer.most)

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def tables(peers: Peers) -> Iterator[tuple[str, int, list[Contestant]]]:
    """Each world's title, the least simulations that mean anything, and who takes part."""
    ours = native_connect_four()
    yield (
        "connect four, rollouts, native simulator",
        1,
        [
            Contestant("ours", ours, "" if ours else "not yet"),
            *floors(floor_connect_four),
            *(c for c in peers.contestants("connect_four") if c.name.startswith("OpenSpiel")),
        ],
    )
    for branching, depth in TREES:
        for rule in ("ucb1", "puct"):
            others = peers.contestants("tree") if (branching, depth) == (8, 6) else ()
            yield (
                f"tree {branching} x {depth}, {rule}",
                2 * branching,
                [
                    Contestant("ours", our_tree(branching, depth, rule)),
                    Contestant("ours, numba simulator", native_tree(branching, depth, rule)),
                    *floors(partial(floor_tree, branching, depth, rule)),
                    *others,
                ],
            )
    for world, name in PYTHON_WORLDS.items():
        yield (
            f"python {name}, rollouts",
            1,
            [
                Contestant("ours", python_world(world), most=100_000),
                Contestant("the same calls only", python_floor(world), most=100_000),
                *(
                    c
                    for c in peers.contestants(world)
                    if not c.name.startswith("OpenSpiel")  # its game is in C++
                ),
            ],
        )


def floors(make: Callable[[bool], Timed]) -> Iterator[Contestant]:
    """The floor in both its forms."""
    has_compiler = compiler() is not None
    for ahead, name in ((True, "floor, chooses ahead"), (False, "floor, chooses on the way down")):
        yield Contestant(
            *(name, make(ahead) if has_compiler else None),
            *("" if has_compiler else "no C compiler",),
        )


def measure_world(
    contestants: list[Contestant], sizes: list[int], rounds: int, seconds: float
) -> dict[str, dict[str, Any]]:
    """name -> {"note", "speed": {size: median}, "ours_over": {size: median of the ratios}}."""
    cells: dict[str, dict[str, Any]] = {
        c.name: {"note": c.note, "speed": {}, "ours_over": {}} for c in contestants
    }
    for size in sizes:
        ratios = measure(contestants, size, rounds, seconds)
        for c in contestants:
            many = ratios.get(c.name)
            cells[c.name]["note"] = c.note
            cells[c.name]["speed"][size] = c.median
            cells[c.name]["ours_over"][size] = statistics.median(many) if many else None
    return cells


def measure(
    contestants: list[Contestant], simulations: int, rounds: int, seconds: float
) -> dict[str, list[float]]:
    """Interleaved rounds; a contestant drops out once it has had ``seconds``.

    Short searches are repeated within a round until it takes some 20 ms. Returns for each but the
    first [rounds] the first's speed over its own.
    """
    running = [c for c in contestants if c.timed and simulations <= c.most]
    spent = dict.fromkeys((c.name for c in running), 0.0)
    repeats: dict[str, int] = {}
    ratios: dict[str, list[float]] = {}
    for c in contestants:
        c.speeds = []
    for c in list(running):  # one run for caches, arenas and compilation, uncounted
        assert c.timed is not None
        try:
            took, _ = c.timed(simulations)
        except (RuntimeError, FloorError) as error:
            c.note = str(error)
            running.remove(c)
            continue
        repeats[c.name] = max(1, min(1000, int(0.02 / max(took, 1e-9))))
        spent[c.name] = took if took > seconds / 2 else 0.0
    for _ in range(rounds):
        speeds: dict[str, float] = {}
        for c in running:
            if c.speeds and spent[c.name] > seconds:
                continue
            assert c.timed is not None
            runs = [c.timed(simulations) for _ in range(repeats[c.name])]
            took = sum(run[0] for run in runs)
            spent[c.name] += took
            speeds[c.name] = sum(run[1] for run in runs) / took
            c.speeds.append(speeds[c.name])
        ours = speeds.get(contestants[0].name)
        for name, speed in speeds.items():
            if ours is not None and name != contestants[0].name:
                ratios.setdefault(name, []).append(ours / speed)
    return ratios


def machine() -> dict[str, str]:
    """What the figures were measured on."""
    command = compiler()
    version = "none"
    if command is not None:
        told = subprocess.run([command, "--version"], capture_output=True, text=True, check=False)
        version = told.stdout.partition("\n")[0]
    vector = "AVX-512 floor" if command is not None and is_vectorised() else "plain floor"
    return {
        "cpu": f"{cpu_model()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}",
        "compiler": f"{version}, {vector}",
        "python": f"{platform.python_version()}, {platform.system()} {platform.machine()}",
    }


def speed_text(speed: float | None) -> str:
    if speed is None:
        return "-"
    return f"{speed / 1e6:.2f}M" if speed >= 1e6 else f"{speed / 1e3:.1f}k"


@click.command(help=__doc__)
@click.option("--simulations", default="1000,10000,100000", show_default=True)
@click.option("--rounds", default=7, show_default=True)
@click.option("--seconds", default=6.0, show_default=True, help="For each figure, at most about.")
@click.option("--quick", is_flag=True, help="1,000 and 10,000 simulations, three short rounds.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of tables.")
@click.option("--only", default="", help="Only worlds with this in their title.")
@click.option("--peers-python", default=sys.executable, envvar="PEERS_PYTHON", show_default=True)
def main(
    *,
    simulations: str,
    rounds: int,
    seconds: float,
    quick: bool,
    as_json: bool,
    only: str,
    peers_python: str,
) -> None:
    """Print the tables."""
    sizes = [int(size) for size in simulations.split(",")]
    if quick:
        sizes, rounds, seconds = [1_000, 10_000], 3, 1.0
    start = time.perf_counter()
    found: dict[str, Any] = {"machine": machine(), "worlds": {}}
    peers = Peers(peers_python)
    if not as_json:
        for key, value in found["machine"].items():
            click.echo(f"{key:<10}{value}")
    try:
        for title, least, contestants in tables(peers):
            if only not in title:
                continue
            cells = measure_world(contestants, [n for n in sizes if n >= least], rounds, seconds)
            found["worlds"][title] = cells
            if not as_json:
                print_table(title, cells, sizes)
    finally:
        peers.close()
    if as_json:
        click.echo(json.dumps(found, indent=2))
    else:
        click.echo(f"\n{time.perf_counter() - start:.0f} s in all")


def print_table(title: str, cells: dict[str, dict[str, Any]], sizes: list[int]) -> None:
    """One world: a column of speed and one of ours/theirs for each size."""
    heads = "".join(f"{size:>11,}{'ours/it':>9}" for size in sizes)
    click.echo(f"\n{title:<44}{heads}")
    for name, cell in cells.items():
        line = ""
        for size in sizes:
            ratio = cell["ours_over"].get(size)
            text = "" if ratio is None else f"{ratio:.2f}" if ratio < 100 else f"{ratio:.0f}"
            line += f"{speed_text(cell['speed'].get(size)):>11}{text:>9}"
        label = f"{name} {cell['note']}".strip()
        click.echo(f"{label:<44}{line}")


if __name__ == "__main__":
    main()
