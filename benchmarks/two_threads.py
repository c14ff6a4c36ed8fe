"""Threads: simulations in the same wall time, two threads against one, each thread with a tree of
its own and both on one tree; where a leaf is a rollout, and where its evaluation is slower.

python -m benchmarks.two_threads [--pairs 9] [--simulations 200000]
"""

import statistics
import time
from typing import Any, Literal

import click
import numpy as np

from mcts_core import SearchConfig, search, search_parallel
from mcts_core.native import AddressSimulator
from simulators.native import Actions, Rng, State, compile_simulator
from simulators.native_games import connect_four

TREES: tuple[Literal["own", "shared"], ...] = ("own", "shared")


def slow_world(work: int = 5500) -> AddressSimulator:
    """Seven actions everywhere, and an evaluation of ``work`` steps of a generator: some 10
    microseconds, as a small learned model would take."""

    def legal(state: State, actions: Actions) -> int:
        for i in range(7):
            actions[i] = i
        return 7

    def step(state: State, action: int, rng: Rng) -> tuple[float, bool]:
        state.n = state.n * np.uint64(7) + np.uint64(action + 1)
        return 0.0, False

    def evaluate(state: State) -> float:
        x = state.n
        for _ in range(work):
            x = x * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
            x ^= x >> np.uint64(29)
        return float(x >> np.uint64(11)) / 2.0**53

    return compile_simulator(
        [("n", np.uint64)], legal=legal, step=step, evaluate=evaluate, max_actions=7
    )


def ratios(
    game: AddressSimulator, config: SearchConfig, pairs: int
) -> dict[str, list[tuple[float, float]]]:
    """For each kind of tree and pair, two threads over one: simulations a second, and processor
    time a simulation."""
    found: dict[str, list[tuple[float, float]]] = {tree: [] for tree in TREES}
    double = config.replace(simulations=2 * config.simulations)
    for _ in range(pairs):
        wall, busy = seconds(search, game, None, config)
        for tree in TREES:
            wall2, busy2 = seconds(search_parallel, game, None, double, threads=2, tree=tree)
            found[tree].append((2 * wall / wall2, busy2 / (2 * busy)))
    return found


def seconds(run: Any, *given: Any, **named: Any) -> tuple[float, float]:
    """Wall time and processor time of one call."""
    start, busy = time.perf_counter(), time.process_time()
    run(*given, **named)
    return time.perf_counter() - start, time.process_time() - busy


@click.command(help=__doc__)
@click.option("--pairs", default=9, show_default=True)
@click.option("--simulations", default=200_000, show_default=True, help="Simulations a thread.")
def main(pairs: int, simulations: int) -> None:
    """Print for each world and kind of tree the medians, and the lowest and highest speed-up."""
    rollouts = SearchConfig(
        simulations=simulations,
        max_depth=42,
        selection="ucb1",
        exploration=0.5**0.5,
        value_range=(-1.0, 1.0),
        evaluation="rollout",
        seed=5,
    )
    slow = rollouts.replace(simulations=simulations // 10, evaluation="simulator")
    click.echo("| two threads against one | tree | simulations a second | processor time each |")
    click.echo("|---|---|---|---|")
    for name, game, config in (
        ("connect four, a rollout a leaf", connect_four(), rollouts),
        ("an evaluation of some 10 us a leaf", slow_world(), slow),
    ):
        for tree, pairs_of in ratios(game, config, pairs).items():
            speed, busy = zip(*pairs_of, strict=True)
            click.echo(
                f"| {name} | {tree} | {statistics.median(speed):.2f} ({min(speed):.2f} to "
                f"{max(speed):.2f}) | {statistics.median(busy):.2f} |"
            )


if __name__ == "__main__":
    main()
