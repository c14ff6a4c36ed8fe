"""Simple regret by budget: what a search's choice loses against the exact one, for each algorithm.

    python -m experiments.regret [--worlds 100] [--budgets 12] [--world NAME] [--figure FILE]

Worlds with exact values: P-games (Kocsis & Szepesvari 2006) and Garnet models (Archibald et al.
1995) with and without chance, a new one for each seed. For each algorithm and each budget of 2^k
simulations: mean simple regret (the best action's exact value minus the chosen one's) and the share
of optimal choices, with bootstrap intervals of 95 % over worlds.
"""

import json
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import click
import numpy as np
import numpy.typing as npt

from experiments.bar import bar
from experiments.regret_figure import draw
from mcts_core import SearchConfig, search
from mcts_core.exact import backward_induction
from mcts_core.native import SimulatorHandle
from simulators.garnet import garnet
from simulators.p_games import p_game_move_values, p_game_root, p_games

# One line for each algorithm: what it changes in SearchConfig.
ALGORITHMS: Final[dict[str, dict[str, Any]]] = {
    "ucb1": {"selection": "ucb1", "exploration": 0.7},
    "ucb1, solver": {"selection": "ucb1", "exploration": 0.7, "solver": True},
    "ucb1_tuned": {"selection": "ucb1_tuned", "exploration": 1.0},
    "puct": {"selection": "puct", "exploration": 1.5},
    "puct, solver": {"selection": "puct", "exploration": 1.5, "solver": True},
    "puct, fpu parent": {"selection": "puct", "exploration": 1.5, "fpu": "parent"},
    "ucb1, shared": {"selection": "ucb1", "exploration": 0.7, "transpositions": True},
    "ucb1, chance mean": {"selection": "ucb1", "exploration": 0.7, "chance": "mean"},
    "gumbel root, puct": {"selection": "puct", "root": "gumbel", "gumbel_scale": 0.0},
    "gumbel": {"selection": "gumbel", "root": "gumbel", "gumbel_scale": 0.0},
}


@dataclass(frozen=True)
class Problem:
    """A world, where the search begins, and the exact value of each action there."""

    simulator: SimulatorHandle
    root: object
    values: dict[Hashable, float]


@dataclass(frozen=True)
class World:
    """A family of problems by seed, and the settings with which they are searched."""

    problem: Callable[[int], Problem]
    settings: dict[str, Any]


@cache
def native() -> SimulatorHandle:
    """All P-games, compiled once and only if they are asked for."""
    return p_games()


def p_game(branching: int, depth: int) -> World:
    """P-games of one size; their returns are known to lie between -1 and 1."""

    def problem(seed: int) -> Problem:
        root = p_game_root(branching, depth, seed)
        values: dict[Hashable, float] = dict(enumerate(map(float, p_game_move_values(root))))
        return Problem(native(), root, values)

    return World(problem, {"max_depth": depth, "value_range": (-1.0, 1.0)})


def garnet_of(horizon: int, **settings: Any) -> World:
    """Garnet models of one size."""

    def problem(seed: int) -> Problem:
        model = garnet(**settings, seed=seed)
        exact = backward_induction(model, 0, horizon=horizon)
        return Problem(model, 0, dict(zip(exact.actions, exact.values.tolist(), strict=True)))

    return World(problem, {"max_depth": horizon})


WORLDS: Final = {
    "P-game 2^10": p_game(2, 10),
    "P-game 4^6": p_game(4, 6),
    "garnet, certain": garnet_of(6, states=200, actions=4, chance=0.0),
    "garnet, half chance": garnet_of(6, states=200, actions=4, chance=0.5),
    "garnet, rare losses": garnet_of(4, states=200, actions=4, ends=0.2, loss=4.0),
    "garnet, all chance": garnet_of(6, states=200, actions=4, chance=1.0),
}


def regrets(problem: Problem, config: SearchConfig, budgets: list[int]) -> list[float]:
    """[budgets] the simple regret of a fresh search with each budget."""
    lost = []
    for budget in budgets:
        found = search(problem.simulator, problem.root, config.replace(simulations=budget))
        assert found.action is not None
        lost.append(max(problem.values.values()) - problem.values[found.action])
    return lost


def interval(samples: npt.NDArray[np.float64], resamples: int = 1000) -> tuple[float, float]:
    """The 95 % percentile bootstrap interval of the mean (Efron 1979)."""
    rng = np.random.default_rng(0)
    means = samples[rng.integers(0, len(samples), (resamples, len(samples)))].mean(axis=1)
    low, high = np.percentile(means, (2.5, 97.5))
    return float(low), float(high)


def run(
    worlds: dict[str, World], algorithms: dict[str, dict[str, Any]], budgets: list[int], seeds: int
) -> list[dict[str, Any]]:
    """One row for each world, algorithm and budget; shows a bar."""
    rows = []
    with bar() as progress:
        task = progress.add_task("regret", total=len(worlds) * seeds)
        for name, world in worlds.items():
            lost: dict[str, list[list[float]]] = {label: [] for label in algorithms}
            for seed in range(seeds):
                problem = world.problem(seed)
                for label, changes in algorithms.items():
                    settings = {"evaluation": "rollout", **world.settings, **changes}
                    config = SearchConfig(**settings, seed=seed)
                    lost[label].append(regrets(problem, config, budgets))
                progress.advance(task)
            for label, table in lost.items():
                rows += summaries(name, label, budgets, np.array(table))
    return rows


def summaries(
    world: str, algorithm: str, budgets: list[int], lost: npt.NDArray[np.float64]
) -> list[dict[str, Any]]:
    """One row for each budget from [seeds, budgets] regrets."""
    rows = []
    for budget, regret in zip(budgets, lost.T, strict=True):
        optimal = (regret < 1e-9).astype(np.float64)
        rows.append(
            {
                "world": world,
                "algorithm": algorithm,
                "budget": budget,
                "regret": float(regret.mean()),
                "regret_95": interval(regret),
                "optimal": float(optimal.mean()),
                "optimal_95": interval(optimal),
            }
        )
    return rows


@click.command(help=__doc__)
@click.option("--worlds", "seeds", default=100, show_default=True, type=click.IntRange(1))
@click.option("--budgets", "powers", default=12, show_default=True, type=click.IntRange(3, 24))
@click.option("--world", "names", multiple=True, type=click.Choice(list(WORLDS)))
@click.option("--algorithm", "labels", multiple=True, type=click.Choice(list(ALGORITHMS)))
@click.option("--figure", type=click.Path(path_type=Path), help="Draw the curves: PNG, SVG or PDF.")
@click.option("--json", "as_json", is_flag=True)
def main(
    *,
    seeds: int,
    powers: int,
    names: tuple[str, ...],
    labels: tuple[str, ...],
    figure: Path | None,
    as_json: bool,
) -> None:
    """Print mean regret and optimal share: 2^3 to 2^BUDGETS simulations."""
    worlds = {name: WORLDS[name] for name in names or WORLDS}
    algorithms = {label: ALGORITHMS[label] for label in labels or ALGORITHMS}
    budgets = [2**k for k in range(3, powers + 1)]
    rows = run(worlds, algorithms, budgets, seeds)
    if figure:
        draw(rows, figure)
    if as_json:
        click.echo(json.dumps(rows))
        return
    for name in worlds:
        click.echo(f"\n{name}: mean regret [95 %], optimal")
        click.echo(f"{'simulations':<18}" + "".join(f"{budget:>30,}" for budget in budgets[::3]))
        for label in algorithms:
            cells = [
                f"{row['regret']:.4f} [{row['regret_95'][0]:.4f}, {row['regret_95'][1]:.4f}]"
                f"{row['optimal']:>6.2f}"
                for row in rows
                if (row["world"], row["algorithm"]) == (name, label)
            ]
            click.echo(f"{label:<18}" + "".join(f"{cell:>30}" for cell in cells[::3]))


if __name__ == "__main__":
    main()
