"""How fast the engine is: beside its floor in C and its peers, in one run, in interleaved rounds.

    make bench                                  # all that follows, after the other benchmarks
    python -m benchmarks.engine_speed [--simulations 1000,10000,100000] [--quick] [--json]
        [--peers-python .venv-peers/bin/python] [--only WORD]

Million simulations a second of wall time, medians; a ratio is the median of the rounds' own
ratios. Ours includes making the Search (not its settings), the floor keeps its arena. Worlds:
"connect four" with random rollouts (floor, OpenSpiel), "tree" with b actions and d levels, every
leaf worth the same (floor, peers), "batches" the same with a function that evaluates several leaves
a call (peers that take a leaf of each of several trees; "in all": the simulations are shared out
among the trees, "each": every tree gets as many as ours), "python" simulators with random rollouts
(a loop that makes the same calls of the simulator, peers). "growth" is how much longer a simulation
among many takes; "bytes" are counted.
"""

import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import Progress

from benchmarks.batch_worlds import BATCHES, our_batches
from benchmarks.contest import Cell, Contestant, Timed, growth, measure_world
from benchmarks.engine_worlds import (
    PYTHON_WORLDS,
    TREES,
    floor_connect_four,
    floor_tree,
    native_connect_four,
    native_tree,
    one_node,
    our_tree,
    python_floor,
    python_world,
)
from benchmarks.floor import compiler, cpu_model, is_vectorised
from benchmarks.node_bytes import WORLDS as BYTES_OF
from benchmarks.node_bytes import node_bytes
from benchmarks.peers import PEERS

Table = tuple[str, int, list[Contestant]]
"""A world's title, the least simulations that mean anything, and who takes part."""
GROWTH = (1_000, 10_000, 100_000, 1_000_000)
CHILDREN = (8, 16, 32, 64, 256, 1024)
MEMORY_AT = 100_000


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

    def timed(self, peer: str, world: str, trees: int = 1, shared: bool = False) -> Timed:
        """``shared``: the simulations asked for are divided among the trees."""

        def run(simulations: int) -> tuple[float, int]:
            each = max(simulations // trees, 1) if shared else simulations
            ask = {"peer": peer, "world": world, "simulations": each, "trees": trees}
            assert self.process.stdin is not None
            print(json.dumps(ask), file=self.process.stdin, flush=True)
            answer = self._answer()
            if "error" in answer:
                raise RuntimeError(answer["error"])
            return answer["seconds"], answer["simulations"]

        return run

    def contestants(self, world: str) -> Iterator[Contestant]:
        for name, peer in PEERS.items():
            if world in peer.worlds:
                yield self._contestant(name, name, self.timed(name, world), peer.most)

    def batched(self, trees: int) -> Iterator[Contestant]:
        """Batches of one leaf of each tree: as many simulations in all as ours, and in each tree.
        Only LightZero takes part at all sizes, for the others compile anew for each."""
        for name, peer in PEERS.items():
            if "batches" in peer.worlds and (trees == 64 or peer.package == "LightZero"):
                timed = self.timed(name, "batches", trees, shared=True)
                title = f"{name}, {trees} {'tree' if trees == 1 else 'trees'}"
                yield self._contestant(name, f"{title}, in all", timed, 100_000)
                if trees > 1:
                    timed = self.timed(name, "batches", trees)
                    yield self._contestant(name, f"{title}, each", timed, peer.most)

    def _contestant(self, peer: str, title: str, timed: Timed, most: int) -> Contestant:
        version = self.versions.get(peer)
        return Contestant(title, timed if version else None, version or "not installed", most)

    def tell_missing(self) -> None:
        """Loudly, on stderr: a table without peers is half a table."""
        wanted = {peer.package: self.versions.get(name) for name, peer in PEERS.items()}
        missing = [package for package, version in wanted.items() if version is None]
        if missing:
            click.secho(
                f"NOT MEASURED, for they are not installed: {', '.join(missing)}.\n"
                "Run make bench-peers once (it builds .venv-peers), or give --peers-python.",
                fg="red",
                bold=True,
                err=True,
            )

    def close(self) -> None:
        self.process.communicate()  # closes both ends and waits


def tables(peers: Peers) -> Iterator[Table]:
    """All but growth."""
    yield (
        "connect four, rollouts, native simulator",
        1,
        [
            Contestant("ours", native_connect_four()),
            *floors(floor_connect_four),
            *(c for c in peers.contestants("connect_four") if c.name.startswith("OpenSpiel")),
        ],
    )
    yield from tree_tables(peers)
    for size in BATCHES:
        yield (
            f"batches of {size}, tree 8 x 6, evaluator of constants",
            4 * size,
            [
                Contestant("ours, priors and values", our_batches(size, priors=True)),
                Contestant("ours, values alone", our_batches(size, priors=False)),
                *peers.batched(size),
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


def tree_tables(peers: Peers) -> Iterator[Table]:
    """The tree alone."""
    for branching, depth in TREES:
        for rule in ("ucb1", "puct"):
            yield (
                f"tree {branching} x {depth}, {rule}",
                2 * branching,
                [
                    Contestant("ours", our_tree(branching, depth, rule)),
                    Contestant("ours, numba simulator", native_tree(branching, depth, rule)),
                    *floors(partial(floor_tree, branching, depth, rule)),
                    *(peers.contestants("tree") if (branching, depth) == (8, 6) else ()),
                ],
            )


def growth_tables() -> Iterator[Table]:
    """From a thousand simulations to a million, ours and the floor."""
    yield (
        "growth, connect four, rollouts",
        1,
        [Contestant("ours", native_connect_four()), *floors(floor_connect_four)],
    )
    for rule in ("ucb1", "puct"):
        make = partial(floor_tree, 8, 6, rule)
        yield (
            f"growth, tree 8 x 6, {rule}",
            1,
            [Contestant("ours", our_tree(8, 6, rule)), *floors(make)],
        )


def node_tables() -> Iterator[Table]:
    """The engine's own rows beside the same rules compiled by numba."""
    for rule in ("ucb1", "puct"):
        yield (
            f"one node, 8 visits a child, {rule}",
            1,
            [
                Contestant("C", one_node(rule)),
                Contestant("numba", one_node(f"{rule}_numba")),
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
    found: dict[str, Any] = {"machine": machine(), "worlds": {}, "bytes": {}}
    peers = Peers(peers_python)
    if not as_json:
        for key, value in found["machine"].items():
            click.echo(f"{key:<10}{value}")
        peers.tell_missing()
    try:
        growing = [n for n in GROWTH if not quick or n <= max(sizes)]
        work = [(table, sizes) for table in tables(peers)]
        work += [(table, [8 * children for children in CHILDREN]) for table in node_tables()]
        work += [(table, growing) for table in growth_tables()]
        work = [(table, chosen) for table, chosen in work if only in table[0]]
        with progress(sum(len(chosen) for _, chosen in work)) as advance:
            for (title, least, contestants), chosen in work:
                fitting = [n for n in chosen if n >= least]
                cells = measure_world(contestants, fitting, rounds, seconds, lambda size: advance())
                found["worlds"][title] = {name: asdict(cell) for name, cell in cells.items()}
                if not as_json:
                    print_table(title, cells, chosen)
                    if title.startswith("growth"):
                        print_growth(cells, chosen[0], chosen[-1])
    finally:
        peers.close()
    for title, make in BYTES_OF.items():
        if only in f"bytes, {title}":
            found["bytes"][title] = asdict(node_bytes(*make, MEMORY_AT))
    if as_json:
        click.echo(json.dumps(found, indent=2))
    else:
        print_bytes(found["bytes"])
        click.echo(f"\n{time.perf_counter() - start:.0f} s in all")


@contextmanager
def progress(total: int) -> Iterator[Callable[[], None]]:
    """A bar on stderr, if that is a terminal; what is given is to be called after each column."""
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("columns of the tables", total=total)
        yield lambda: bar.advance(task)


def print_table(title: str, cells: dict[str, Cell], sizes: list[int]) -> None:
    """One world: a column of speed and one of ours/theirs for each size."""
    heads = "".join(f"{size:>11,}{'ours/it':>9}" for size in sizes)
    click.echo(f"\n{title:<52}{heads}")
    for name, cell in cells.items():
        line = ""
        for size in sizes:
            ratio = cell.ours_over.get(size)
            text = "" if ratio is None else f"{ratio:.2f}" if ratio < 100 else f"{ratio:.0f}"
            line += f"{speed_text(cell.speed.get(size)):>11}{text:>9}"
        click.echo(f"{f'{name} {cell.note}'.strip():<52}{line}")


def print_growth(cells: dict[str, Cell], few: int, many: int) -> None:
    """How much longer a simulation takes in a large search than in a small one."""
    for name, cell in cells.items():
        own, ours_over = growth(cell, few, many)
        beside = "" if ours_over is None else f", ours grows {ours_over:.2f} times as much"
        if own is not None:
            click.echo(f"  {name}: {own:.2f} times the time at {many:,} than at {few:,}{beside}")


def print_bytes(found: dict[str, dict[str, float]]) -> None:
    """Bytes of a tree; "slots" are nodes, visited or not yet."""
    for title, cell in found.items():
        click.echo(
            f"\nbytes, {title}, {MEMORY_AT:,} simulations: {cell['slots']:,} slots, "
            f"{cell['visited']:,} of them visited\n"
            f"  {cell['a_slot']:.1f} a slot without state; by visited nodes: "
            f"{cell['a_visited']:.1f} without, {cell['with_state']:.1f} with state"
        )


if __name__ == "__main__":
    main()
