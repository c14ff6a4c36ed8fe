"""P-games: after how many episodes does UCT hardly ever name a wrong move?

    python -m experiments.p_games [--trees 200] [--episodes 16384] [--curves FILE.csv] [--json]

Kocsis & Szepesvari 2006, section 3.1: on random trees of B moves and D levels the number of
episodes to a fixed rate of failure grows like B^(D/2), as the leaves that alpha-beta looks at do.
A failure is a move that is not best by exact search. Plain UCB1 with random games; for each size
the episodes from which on no more than 1 of 100 trees fails, and the exponents that fit them.
"""

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np
import numpy.typing as npt

from experiments.bar import bar
from mcts_core import Search, SearchConfig
from simulators.p_games import p_game_move_values, p_game_root, p_games

DEPTHS = tuple((2, depth) for depth in (4, 6, 8, 10, 12))
BRANCHINGS = tuple((branching, 6) for branching in (2, 3, 4, 6))
LIMIT = 0.01
GROWTH = 1.1


def episodes_grid(most: int) -> list[int]:
    """1, 2, 3, ... then 10 % further each time, up to ``most``."""
    grid = [1]
    while grid[-1] < most:
        grid.append(min(most, max(grid[-1] + 1, round(grid[-1] * GROWTH))))
    return grid


def failures(game: Any, branching: int, depth: int, seed: int, grid: Sequence[int]) -> list[bool]:
    """Whether the search of one tree names a wrong move after each number of episodes."""
    root = p_game_root(branching, depth, seed)
    values = p_game_move_values(root)
    config = SearchConfig(
        simulations=grid[-1],
        max_depth=depth,
        selection="ucb1",
        exploration=2**0.5,
        value_range=(-1.0, 1.0),
        evaluation="rollout",
        seed=seed,
    )
    run = Search(game, root, config)
    failed = []
    for episodes in grid:
        run.run(episodes - run.simulations)
        failed.append(values[run.result().action] < max(values))  # type: ignore[call-overload]
    return failed


def settled(grid: Sequence[int], rates: npt.NDArray[np.float64]) -> int | None:
    """The first number of episodes from which on the rate stays below ``LIMIT``."""
    above = np.flatnonzero(rates >= LIMIT)
    first = int(above[-1]) + 1 if len(above) else 0
    return grid[first] if first < len(grid) else None


def exponent(sizes: Sequence[float], episodes: Sequence[int | None]) -> float | None:
    """The slope of log episodes over ``sizes``, by least squares; None unless two are known."""
    known = [(x, y) for x, y in zip(sizes, episodes, strict=True) if y is not None]
    if len(known) < 2:
        return None
    x, y = np.array(known, np.float64).T
    return float(np.polyfit(x, np.log(y), 1)[0])


def run(
    trees: int, most_episodes: int = 16_384, sizes: Sequence[tuple[int, int]] = ()
) -> dict[str, Any]:
    """The curves of all sizes, the episodes that they need, and the exponents."""
    sizes = tuple(dict.fromkeys(sizes or (*DEPTHS, *BRANCHINGS)))
    game, grid = p_games(), episodes_grid(most_episodes)
    curves: dict[tuple[int, int], npt.NDArray[np.float64]] = {}
    with bar() as progress:
        task = progress.add_task("P-games", total=trees * len(sizes))
        for size in sizes:
            failed = []
            for seed in range(trees):
                failed.append(failures(game, *size, seed, grid))
                progress.advance(task)
            curves[size] = np.mean(failed, axis=0)
    needed = {size: settled(grid, rates) for size, rates in curves.items()}
    by_depth = [size for size in DEPTHS if size in needed]
    by_branching = [size for size in BRANCHINGS if size in needed]
    slope = exponent([depth for _, depth in by_depth], [needed[size] for size in by_depth])
    power = exponent([np.log(b) for b, _ in by_branching], [needed[size] for size in by_branching])
    return {
        "trees": trees,
        "episodes": grid,
        "sizes": [
            {"branching": b, "depth": d, "needed": needed[b, d], "failure_rate": rates.tolist()}
            for (b, d), rates in curves.items()
        ],
        # B = 2: episodes = const * 2^(x D); D = 6: const * B^x.
        "exponent_per_depth": None if slope is None else slope / np.log(2),
        "exponent_of_branching": power,
    }


def write_curves(path: Path, found: dict[str, Any]) -> None:
    """Rows of branching, depth, episodes and failure rate."""
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(("branching", "depth", "episodes", "failure_rate"))
        for size in found["sizes"]:
            for episodes, rate in zip(found["episodes"], size["failure_rate"], strict=True):
                rows.writerow((size["branching"], size["depth"], episodes, rate))


@click.command(help=__doc__)
@click.option("--trees", default=200, show_default=True, type=click.IntRange(1))
@click.option("--episodes", default=16_384, show_default=True, type=click.IntRange(2), help="Most.")
@click.option("--curves", type=click.Path(dir_okay=False, writable=True, path_type=Path))
@click.option("--json", "as_json", is_flag=True)
def main(trees: int, episodes: int, curves: Path | None, as_json: bool) -> None:
    """Print the table."""
    found = run(trees, episodes)
    if curves is not None:
        write_curves(curves, found)
    if as_json:
        click.echo(json.dumps(found))
        return
    click.echo(" B   D  episodes to < 1 % failures")
    for size in found["sizes"]:
        needed = size["needed"] or f"> {found['episodes'][-1]:,}"
        click.echo(f"{size['branching']:>2}{size['depth']:>4}{needed:>10}")
    for name, predicted in (("exponent_per_depth", 0.5), ("exponent_of_branching", 3.0)):
        got = "unknown" if found[name] is None else f"{found[name]:.2f}"
        click.echo(f"{name.replace('_', ' ')}: {got} (B^(D/2) predicts {predicted})")


if __name__ == "__main__":
    main()
