"""Root parallelism: simulations in the same wall time, two threads against one.

python -m benchmarks.two_threads [--pairs 9] [--simulations 200000]
"""

import statistics
import time

import click

from mcts_core import SearchConfig, search, search_parallel
from simulators.native_games import connect_four


@click.command(help=__doc__)
@click.option("--pairs", default=9, show_default=True)
@click.option("--simulations", default=200_000, show_default=True, help="Simulations a thread.")
def main(pairs: int, simulations: int) -> None:
    """Print the ratio of each pair of runs, and their median."""
    game = connect_four()
    config = SearchConfig(
        simulations=simulations,
        max_depth=42,
        selection="ucb1",
        exploration=0.5**0.5,
        value_range=(-1.0, 1.0),
        evaluation="rollout",
        seed=5,
    )
    ratios = []
    for _ in range(pairs):
        start = time.perf_counter()
        search(game, None, config)
        one = time.perf_counter() - start
        search_parallel(game, None, config.replace(simulations=2 * simulations), threads=2)
        two = time.perf_counter() - start - one
        ratios.append(2 * one / two)
    click.echo(" ".join(f"{ratio:.2f}" for ratio in ratios))
    click.echo(f"median {statistics.median(ratios):.2f}")


if __name__ == "__main__":
    main()
