"""A graph of 256 states and 1,024 edges: the engine beside reference.py, and exact solving."""

from typing import Any

import pytest

from benchmarks.graphs import random_model
from mcts_core import SearchConfig, search
from mcts_core.exact import backward_induction
from mcts_core.reference import search as reference_search

SIMULATIONS = 4096
DEPTH = 8
RULES = [("puct", "forced"), ("ucb1", "forced"), ("puct", "rollout"), ("ucb1", "rollout")]


def config(selection: str, evaluation: str) -> SearchConfig:
    return SearchConfig(
        simulations=SIMULATIONS,
        max_depth=DEPTH,
        discount=0.95,
        selection=selection,
        evaluation=evaluation,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize(("selection", "evaluation"), RULES)
def test_engine(benchmark: Any, selection: str, evaluation: str) -> None:
    benchmark.group = f"graph 256x4, 4,096 simulations, depth 8: {selection}, {evaluation}"
    result = benchmark(search, random_model(), 0, config(selection, evaluation))
    assert result.simulations == SIMULATIONS


@pytest.mark.parametrize(("selection", "evaluation"), RULES)
def test_reference(benchmark: Any, selection: str, evaluation: str) -> None:
    benchmark.group = f"graph 256x4, 4,096 simulations, depth 8: {selection}, {evaluation}"
    root = benchmark.pedantic(
        reference_search, (random_model(), 0, config(selection, evaluation)), rounds=5
    )
    assert root.visits == SIMULATIONS


def test_exact(benchmark: Any) -> None:
    benchmark.group = "graph 256x4, depth 8: solved exactly"
    result = benchmark(backward_induction, random_model(), 0, horizon=DEPTH, discount=0.95)
    assert result.proven
