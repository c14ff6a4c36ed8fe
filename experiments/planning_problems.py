"""148 planning problems from BFCL's back ends: does the search name an optimal first call?

    python -m experiments.planning_problems PATH/bfcl_mdp.jsonl [--seeds 5] [--json]

A problem is a graph: each call costs .05, reaching the goal pays 1 and ends it; calls that the
back end refuses are not offered. The order in which calls are offered is shuffled for each seed,
since the source lists the right ones early. Horizon 8 (the furthest goal is 5 calls away),
discount .95. `cost` and `goal` are not tuned: any small cost gives the same optimal calls.
"""

import json
import random
from pathlib import Path
from typing import Any

import click

from experiments.published_choices import decide
from simulators.graph import SimulationGraph, graph_from_mapping

BUDGETS = (16, 64, 256, 1024)
RULES: dict[str, dict[str, Any]] = {
    "ucb1, rollouts (default)": {},
    "puct, rollouts": {"selection": "puct"},
    "ucb1, no rollouts": {"evaluation": "forced"},
}
COST = 0.05
GOAL = 1.0


def graph_of(problem: dict[str, Any], shuffled: random.Random) -> SimulationGraph:
    """The problem's transition table as a simulation graph."""
    table, solved = problem["T"], problem["solved"]
    states, transitions = [], []
    for state in range(problem["n_states"]):
        row = [] if solved[state] else table[state] or []
        legal = [action for action, to in enumerate(row) if to >= 0]
        shuffled.shuffle(legal)
        calls = [problem["actions"][action]["call"] for action in legal]
        names = [f"{action}: {call}" for action, call in zip(legal, calls, strict=True)]
        states.append(
            {
                "id": str(state),
                "goal": problem["goal"],
                "tools": [{"name": name, "description": "call"} for name in names],
            }
        )
        transitions += [
            {
                "from_state": str(state),
                "tool": name,
                "to_state": str(row[action]),
                "reward": GOAL * solved[row[action]] - COST,
                "terminal": bool(solved[row[action]]),
            }
            for action, name in zip(legal, names, strict=True)
        ]
    return graph_from_mapping({"root_state": "0", "states": states, "transitions": transitions})


def is_optimal(tool: str | None, problem: dict[str, Any]) -> bool:
    """Is the call among the optimal first ones?"""
    return tool is not None and int(tool.split(":")[0]) in problem["optimal_first"]


def run(path: Path, seeds: int) -> dict[str, Any]:
    """Share of solvable problems with an optimal first call, exact and by search."""
    problems = [json.loads(line) for line in path.read_text().splitlines()]
    solvable = [p for p in problems if p["optimal_first"]]
    settings = {"max_depth": 8, "discount": 0.95}
    counts: dict[str, dict[int, list[int]]] = {name: {} for name in RULES}
    graphs = [[graph_of(p, random.Random(seed)) for p in solvable] for seed in range(seeds)]
    for name, rule in RULES.items():
        for budget in BUDGETS:
            counts[name][budget] = [
                sum(
                    is_optimal(
                        decide(
                            graph,
                            solver="mcts",
                            simulations=budget,
                            seed=seed,
                            **settings,
                            **rule,
                        )[0],
                        problem,
                    )
                    for graph, problem in zip(graphs[seed], solvable, strict=True)
                )
                for seed in range(seeds)
            ]
    exact = [decide(graph, solver="exact", **settings) for graph in graphs[0]]
    return {
        "problems": len(problems),
        "solvable": len(solvable),
        "seeds": seeds,
        "exact": sum(is_optimal(tool, p) for (tool, _), p in zip(exact, solvable, strict=True)),
        "search": counts,
    }


@click.command(help=__doc__)
@click.argument("path", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--seeds", default=5, show_default=True)
@click.option("--json", "as_json", is_flag=True)
def main(path: Path, seeds: int, as_json: bool) -> None:
    """Print the table."""
    found = run(path, seeds)
    if as_json:
        click.echo(json.dumps(found))
        return
    solvable = found["solvable"]
    click.echo(f"{solvable} of {found['problems']} problems are solvable; exact: {found['exact']}")
    click.echo(f"{'mean share (worst seed)':<26}" + "".join(f"{b:>16}" for b in BUDGETS))
    for name, row in found["search"].items():
        cells = "".join(
            f"{sum(c) / len(c) / solvable:>8.3f} ({min(c)}){'':>2}" for c in row.values()
        )
        click.echo(f"{name:<26}{cells}")


if __name__ == "__main__":
    main()
