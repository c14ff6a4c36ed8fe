"""The 24 published decisions of the public harness-router, decided by our search and proven.

    python -m experiments.published_choices PATH/route_mcts_24.json [--seeds 20] [--json]

Each decision offers 4, 8 or 16 choices, and each choice a chain of three rewards (discount .95).
The public router found 11 of 24 at 32 simulations (4,096 were needed for all). The order in which
choices are offered is shuffled for each seed, so that no rule for ties can help.
"""

import asyncio
import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import click

from router.config import MCTSConfig
from router.mcts_router import MCTSToolRouter
from simulators.graph import SimulationGraph, graph_from_mapping

BUDGETS = (4, 8, 16, 32, 64)


def graph_of(choices: list[dict[str, Any]]) -> SimulationGraph:
    """One edge chain of rewards for each choice, from one root."""
    states: list[dict[str, Any]] = [{"id": "root", "goal": "choose", "tools": []}]
    transitions = []
    for choice in choices:
        name, rewards = choice["name"], choice["rewards"]
        here, tool = "root", name
        for i, reward in enumerate(rewards):
            there = f"{name}/{i}"
            states[-1 if here != "root" else 0]["tools"].append(
                {"name": tool, "description": "go on"}
            )
            transitions.append(
                {
                    "from_state": here,
                    "tool": tool,
                    "to_state": there,
                    "reward": reward,
                    "terminal": i == len(rewards) - 1,
                }
            )
            states.append({"id": there, "goal": "choose", "tools": []})
            here, tool = there, "next"
    return graph_from_mapping({"root_state": "root", "states": states, "transitions": transitions})


def decide(graph: SimulationGraph, **settings: Any) -> tuple[str | None, bool]:
    """The tool that the router names, and whether it is proven."""
    result = asyncio.run(MCTSToolRouter(graph, config=MCTSConfig(**settings)).search())
    return result.decision.tool, result.proven


def run(path: Path, seeds: int) -> dict[str, Any]:
    """Right decisions of 24 by budget and seed, and by exact solving."""
    decisions = json.loads(path.read_text())
    right: Counter[int] = Counter()
    worst = dict.fromkeys(BUDGETS, len(decisions))
    for seed in range(seeds):
        shuffled = random.Random(seed)
        graphs = [
            (graph_of(shuffled.sample(d["choices"], len(d["choices"]))), d["optimal"])
            for d in decisions
        ]
        for budget in BUDGETS:
            found = sum(
                decide(graph, solver="mcts", simulations=budget, seed=seed)[0] in optimal
                for graph, optimal in graphs
            )
            right[budget] += found
            worst[budget] = min(worst[budget], found)
    proven = [(decide(graph_of(d["choices"])), d["optimal"]) for d in decisions]
    return {
        "decisions": len(decisions),
        "seeds": seeds,
        "search": {b: {"mean": right[b] / seeds, "worst_seed": worst[b]} for b in BUDGETS},
        "auto_right": sum(tool in optimal for (tool, _), optimal in proven),
        "auto_proven": sum(is_proven for (_, is_proven), _ in proven),
        "public_router_at_32": sum(
            d["reference_choice_32_sims"] in d["optimal"] for d in decisions
        ),
    }


@click.command(help=__doc__)
@click.argument("path", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--seeds", default=20, show_default=True)
@click.option("--json", "as_json", is_flag=True)
def main(path: Path, seeds: int, as_json: bool) -> None:
    """Print the table."""
    found = run(path, seeds)
    if as_json:
        click.echo(json.dumps(found))
        return
    click.echo(f"right of {found['decisions']}, {seeds} seeds      mean   worst seed")
    for budget, row in found["search"].items():
        click.echo(
            f"search, {budget:>4} simulations   {row['mean']:>8.2f}   {row['worst_seed']:>6}"
        )
    click.echo(f"auto: right {found['auto_right']}, proven {found['auto_proven']}")
    click.echo(f"public router, 32 simulations: {found['public_router_at_32']}")


if __name__ == "__main__":
    main()
