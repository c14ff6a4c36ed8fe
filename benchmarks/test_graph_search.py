"""A graph of 256 states and 1,024 edges: the engine beside reference.py, and exact solving."""

import random
from typing import Any

import pytest

from mcts_core import SearchConfig, search
from mcts_core.exact import backward_induction
from mcts_core.reference import search as reference_search
from simulators import TabularModel, compile_graph
from simulators.graph import graph_from_mapping

STATES = 256
EDGES = 4
SIMULATIONS = 4096
DEPTH = 8
RULES = [("puct", "forced"), ("ucb1", "forced"), ("puct", "rollout"), ("ucb1", "rollout")]


def random_graph(seed: int = 0) -> TabularModel:
    """Four tools in each state, targets and rewards at random, no end."""
    rng = random.Random(seed)
    names = [f"tool{i}" for i in range(EDGES)]
    states = [
        {
            "id": str(s),
            "goal": "benchmark",
            "tools": [{"name": name, "description": name} for name in names],
        }
        for s in range(STATES)
    ]
    transitions = [
        {
            "from_state": str(s),
            "tool": name,
            "to_state": str(rng.randrange(STATES)),
            "reward": rng.gauss(0, 1),
        }
        for s in range(STATES)
        for name in names
    ]
    graph = {"root_state": "0", "states": states, "transitions": transitions}
    return compile_graph(graph_from_mapping(graph)).model


def config(selection: str, evaluation: str) -> SearchConfig:
    return SearchConfig(
        simulations=SIMULATIONS,
        max_depth=DEPTH,
        discount=0.95,
        selection=selection,  # type: ignore[arg-type]
        evaluation=evaluation,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize(("selection", "evaluation"), RULES)
def test_engine(benchmark: Any, selection: str, evaluation: str) -> None:
    benchmark.group = f"graph 256x4, 4,096 simulations, depth 8: {selection}, {evaluation}"
    result = benchmark(search, random_graph(), 0, config(selection, evaluation))
    assert result.simulations == SIMULATIONS


@pytest.mark.parametrize(("selection", "evaluation"), RULES)
def test_reference(benchmark: Any, selection: str, evaluation: str) -> None:
    benchmark.group = f"graph 256x4, 4,096 simulations, depth 8: {selection}, {evaluation}"
    root = benchmark.pedantic(
        reference_search, (random_graph(), 0, config(selection, evaluation)), rounds=5
    )
    assert root.visits == SIMULATIONS


def test_exact(benchmark: Any) -> None:
    benchmark.group = "graph 256x4, depth 8: solved exactly"
    result = benchmark(backward_induction, random_graph(), 0, horizon=DEPTH, discount=0.95)
    assert result.proven
