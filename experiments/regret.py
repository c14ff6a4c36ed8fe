"""Simple regret by budget: what a search's choice loses against the exact one, for each algorithm.

    python -m experiments.regret [--worlds 100] [--budgets 12] [--world NAME] [--json]

Worlds with exact values: P-games (Kocsis & Szepesvari 2006) and Garnet models (Archibald et al.
1995) with and without chance, a new one for each seed. For each algorithm and each budget of 2^k
simulations: mean simple regret (the best action's exact value minus the chosen one's) and the share
of optimal choices, with bootstrap intervals of 95 % over worlds.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import click
import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.progress import Progress

from mcts_core import SearchConfig, search
from mcts_core.exact import backward_induction
from simulators import TabularModel
from simulators.dense import tabulate
from simulators.games import PGame
from simulators.garnet import garnet

# One line for each algorithm: what it changes in SearchConfig.
ALGORITHMS: Final[dict[str, dict[str, Any]]] = {
    "ucb1": {"selection": "ucb1", "exploration": 0.7},
    "ucb1, solver": {"selection": "ucb1", "exploration": 0.7, "solver": True},
    "puct": {"selection": "puct", "exploration": 1.5},
    "puct, solver": {"selection": "puct", "exploration": 1.5, "solver": True},
    "puct, fpu parent": {"selection": "puct", "exploration": 1.5, "fpu": "parent"},
}


@dataclass(frozen=True)
class World:
    """A family of worlds by seed, and the settings with which they are searched."""

    make: Callable[[int], TabularModel]
    settings: dict[str, Any]


def p_game(branching: int, depth: int) -> World:
    """P-games of one size; their returns are known to lie between -1 and 1."""

    def make(seed: int) -> TabularModel:
        game = PGame(branching, depth, seed)
        return tabulate(game, game.initial()).model()

    return World(make, {"max_depth": depth, "value_range": (-1.0, 1.0)})


def garnet_of(horizon: int, **settings: Any) -> World:
    """Garnet models of one size."""
    return World(lambda seed: garnet(**settings, seed=seed), {"max_depth": horizon})


WORLDS: Final = {
    "P-game 2^10": p_game(2, 10),
    "P-game 4^6": p_game(4, 6),
    "garnet, certain": garnet_of(6, states=200, actions=4, chance=0.0),
    "garnet, half chance": garnet_of(6, states=200, actions=4, chance=0.5),
    "garnet, all chance": garnet_of(6, states=200, actions=4, chance=1.0),
}


def regrets(
    world: World, algorithm: dict[str, Any], budgets: list[int], seed: int
) -> npt.NDArray[np.float64]:
    """[budgets] the simple regret in the world of that seed."""
    model = world.make(seed)
    exact = backward_induction(model, 0, horizon=world.settings["max_depth"])
    by_action = dict(zip(exact.actions, exact.values, strict=True))
    lost = []
    for budget in budgets:
        config = SearchConfig(
            **{"evaluation": "rollout", **world.settings, **algorithm},
            simulations=budget,
            seed=seed,
        )
        lost.append(exact.value - by_action[search(model, 0, config).action])
    return np.array(lost)


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
    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("regret", total=len(worlds) * len(algorithms) * seeds)
        for name, world in worlds.items():
            for label, algorithm in algorithms.items():
                lost = np.empty((seeds, len(budgets)))
                for seed in range(seeds):
                    lost[seed] = regrets(world, algorithm, budgets, seed)
                    progress.advance(task)
                for budget, regret in zip(budgets, lost.T, strict=True):
                    optimal = (regret < 1e-9).astype(np.float64)
                    rows.append(
                        {
                            "world": name,
                            "algorithm": label,
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
@click.option("--json", "as_json", is_flag=True)
def main(
    seeds: int, powers: int, names: tuple[str, ...], labels: tuple[str, ...], as_json: bool
) -> None:
    """Print mean regret and optimal share: 2^3 to 2^BUDGETS simulations."""
    worlds = {name: WORLDS[name] for name in names or WORLDS}
    algorithms = {label: ALGORITHMS[label] for label in labels or ALGORITHMS}
    budgets = [2**k for k in range(3, powers + 1)]
    rows = run(worlds, algorithms, budgets, seeds)
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
