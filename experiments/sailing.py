"""Sailing: the costs of voyages under UCT beside those that Bonet & Geffner measured.

    python -m experiments.sailing [--width 10 --width 50 --width 100] [--trials 1000] [--json]

Lake of 100 x 100, discount .95, voyages cut off after 100 moves. Each move is decided by a fresh
search of ``width`` simulations with random voyages to horizon 50, and is the one with the least
mean cost. As in the published runs (AAAI-12; raw logs of January 2012 in bonetblai/mdp-engine) the
first simulation only makes the root, each move is tried once before any twice, and the exploration
constant is the move's own value: Q + |Q| sqrt(2 ln N / n). 1,000 trials of width 100 take a minute
or two.
"""

import json
import math
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import click
import numpy as np
import numpy.typing as npt

from experiments.bar import bar
from mcts_core import SearchConfig, search
from mcts_core.reference import SplitMix64
from simulators.sailing import DX, DY, TACK, WIND, sailing

SIZE: Final = 100
HORIZON: Final = 50
MOST_MOVES: Final = 100
DISCOUNT: Final = 0.95
# Mean and standard error of 1,000 trials by width; lake 100, random base policy.
PUBLISHED: Final = {
    10: (44.384, 0.111),
    50: (34.116, 0.125),
    100: (30.606, 0.137),
    500: (27.260, 0.170),
    1000: (26.534, 0.170),
    10_000: (26.497, 0.175),
}
RULE: Final = "experiments.sailing:own_value"
TURNS: Final = np.cumsum(WIND, axis=1).tolist()


def own_value(value: float, visits: float, parent_visits: float) -> float:
    """The scoring rule of the published runs: UCB1 whose constant is the action's own value (Bonet
    & Geffner 2012): Q + |Q| sqrt(2 ln N / n).
    """
    if visits == 0.0:
        return value
    return value + abs(value) * math.sqrt(2.0 * math.log(parent_visits) / visits)


def voyage(lake: Any, width: int, seed: int) -> float:
    """The discounted cost of one voyage from corner to corner."""
    config = SearchConfig(
        simulations=max(width - 1, 1),
        max_depth=HORIZON,
        discount=DISCOUNT,
        selection=RULE,
        evaluation="rollout",
    )
    world, x, y, wind = SplitMix64(seed), 0, 0, 0
    cost, weight = 0.0, 1.0
    for _ in range(MOST_MOVES):
        if x == y == SIZE - 1:
            break
        found = search(lake, (x, y, wind), config.replace(seed=world.next_u64()))
        course: int = found.actions[int(np.nanargmax(found.values))]  # type: ignore[assignment]
        cost += weight * (1.0 + TACK[course, wind])
        weight *= DISCOUNT
        x, y = x + int(DX[course]), y + int(DY[course])
        u = world.uniform()
        wind = next(w for w in range(8) if u < TURNS[wind][w] or w == 7)
    return cost


def costs(width: int, trials: int, *, jobs: int = 1, seed: int = 0) -> npt.NDArray[np.float64]:
    """[trials] the costs of voyages, in ``jobs`` threads; shows a bar."""
    lake, seeds = sailing(SIZE), SplitMix64(seed)
    starts = [seeds.next_u64() for _ in range(trials)]
    with bar() as progress, ThreadPoolExecutor(jobs) as pool:
        voyages = pool.map(lambda start: voyage(lake, width, start), starts)
        return np.array([*progress.track(voyages, trials, description=f"width {width}")])


def table(widths: Iterable[int], trials: int, jobs: int, seed: int) -> list[dict[str, Any]]:
    """Our mean and standard error by width, beside the published ones."""
    rows = []
    for width in widths:
        paid = costs(width, trials, jobs=jobs, seed=seed)
        mean, error = float(paid.mean()), float(paid.std(ddof=1) / trials**0.5)
        row: dict[str, Any] = {"width": width, "trials": trials, "mean": mean, "error": error}
        if width in PUBLISHED:
            theirs, its_error = PUBLISHED[width]
            distance = (mean - theirs) / (error**2 + its_error**2) ** 0.5
            row |= {"published": theirs, "published_error": its_error, "distance": distance}
        rows.append(row)
    return rows


@click.command(help=__doc__)
@click.option("--width", "widths", multiple=True, default=(10, 50, 100), show_default=True)
@click.option("--trials", default=1000, show_default=True, type=click.IntRange(2))
@click.option("--jobs", default=2, show_default=True, type=click.IntRange(1), help="Threads.")
@click.option("--seed", default=0, show_default=True)
@click.option("--json", "as_json", is_flag=True)
def main(widths: tuple[int, ...], trials: int, jobs: int, seed: int, as_json: bool) -> None:
    """Print the table."""
    rows = table(widths, trials, jobs, seed)
    if as_json:
        click.echo(json.dumps(rows))
        return
    click.echo("width   trials            ours       published   distance in standard errors")
    for row in rows:
        line = f"{row['width']:>5}{row['trials']:>9,}{row['mean']:>10.3f} ± {row['error']:.3f}"
        if "published" in row:
            line += (
                f"{row['published']:>8.3f} ± {row['published_error']:.3f}{row['distance']:>11.2f}"
            )
        click.echo(line)


if __name__ == "__main__":
    main()
