"""Random simulation graphs for the benchmarks."""

import random
from typing import Any

from simulators import TabularModel, compile_graph
from simulators.graph import graph_from_mapping

__all__ = ["random_graph", "random_model"]


def random_graph(states: int = 256, tools: int = 4, seed: int = 0) -> dict[str, Any]:
    """A graph as a JSON object: ``tools`` in each state, targets and rewards at random, no end."""
    rng = random.Random(seed)
    names = [f"tool{i}" for i in range(tools)]
    offered = [{"name": name, "description": name} for name in names]
    return {
        "root_state": "0",
        "states": [{"id": str(s), "goal": "benchmark", "tools": offered} for s in range(states)],
        "transitions": [
            {
                "from_state": str(s),
                "tool": name,
                "to_state": str(rng.randrange(states)),
                "reward": rng.gauss(0, 1),
            }
            for s in range(states)
            for name in names
        ],
    }


def random_model() -> TabularModel:
    """The graph of 256 states and 1,024 edges, compiled."""
    return compile_graph(graph_from_mapping(random_graph())).model
