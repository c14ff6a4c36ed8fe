"""How exactly a time limit holds: overshoot in milliseconds of searches that would go on.

python -m benchmarks.time_limit [--runs 200]
"""

import time

import click
import numpy as np

from benchmarks.graphs import random_model
from mcts_core import Search, SearchConfig
from simulators import TabularModel

LIMITS_MS = (1.0, 5.0, 25.0, 100.0)


def long_chain(length: int) -> TabularModel:
    """Each simulation follows forced moves to the end: some 10 ns a step."""
    return TabularModel(
        [0, *range(2, length + 2), length + 1],
        range(length + 2),
        [1, *range(1, length + 1)],
        [0.0] * (length + 1),
        terminal=[0] * length + [1],
    )


WORLDS = {
    "graph 256x4, depth 8": (random_model(), 8),
    "chain of 10,000 forced moves": (long_chain(10_000), 10_000),
}


@click.command(help=__doc__)
@click.option("--runs", default=200, show_default=True)
def main(runs: int) -> None:
    """Print the table."""
    click.echo(f"{'world':<32}{'limit ms':>9}{'p50':>9}{'p99':>9}{'max':>9}   overshoot, ms")
    for name, (model, depth) in WORLDS.items():
        for limit in LIMITS_MS:
            over = []
            for _ in range(max(10, int(runs / limit**0.5))):
                config = SearchConfig(
                    simulations=2**31 - 2, max_depth=depth, time_limit_ms=limit, seed=1
                )
                run = Search(model, 0, config)
                start = time.perf_counter()
                run.run()
                over.append((time.perf_counter() - start) * 1e3 - limit)
            p50, p99, worst = np.percentile(over, [50, 99, 100])
            click.echo(f"{name:<32}{limit:>9g}{p50:>9.3f}{p99:>9.3f}{worst:>9.3f}")


if __name__ == "__main__":
    main()
