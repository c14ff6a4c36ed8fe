"""Slippery ice by exact solving and by search through chance nodes."""

import dataclasses

import numpy as np
import pytest

from mcts_core import SearchConfig, search
from mcts_core.exact import backward_induction
from simulators.dense import tabulate
from simulators.puzzles import LAKE_4X4, LAKE_8X8, FrozenLake

BESIDE_THE_GOAL = 14


@pytest.mark.parametrize(
    ("lake", "steps", "success"),
    [
        (LAKE_4X4, 100, 0.74419),
        (LAKE_4X4, 200, 0.81673),
        (LAKE_8X8, 100, 0.64072),
        (LAKE_8X8, 200, 0.91322),
    ],
    ids=["4x4 in 100", "4x4 in 200", "8x8 in 100", "8x8 in 200"],
)
def test_exact_solving_has_the_known_chances_to_cross(
    lake: tuple[str, ...], steps: int, success: float
) -> None:
    model = tabulate(FrozenLake(lake), 0).model()
    assert backward_induction(model, 0, horizon=steps).value == pytest.approx(success, abs=1e-5)


def test_without_knowledge_search_nears_the_value_and_finds_the_step() -> None:
    # Six steps, beside the goal: the chance to reach it is .641 by the best first step, .617 by the
    # second best.
    model = tabulate(FrozenLake(), BESIDE_THE_GOAL).model()
    exact = backward_induction(model, 0, horizon=6)
    short, right = [], []
    for simulations in (1_000, 10_000, 100_000):
        config = SearchConfig(
            simulations=simulations,
            max_depth=6,
            selection="ucb1",
            exploration=0.7,
            evaluation="rollout",
        )
        results = [search(model, 0, config.replace(seed=seed)) for seed in range(12)]
        right.append(sum(result.action == exact.action for result in results))
        short.append(exact.value - float(np.mean([result.value for result in results])))
    assert short[0] > short[1] > short[2]
    assert 0.0 < short[2] < 0.04
    assert right[0] < right[1] <= right[2]
    assert right[2] >= 10


def test_with_known_values_at_its_leaves_a_search_finds_the_step_at_the_start() -> None:
    # The best of four first steps is better by .0001 only.
    table = tabulate(FrozenLake(LAKE_8X8), 0)
    within_300 = [
        backward_induction(table.model(), state, horizon=300).value if actions else 0.0
        for state, actions in enumerate(table.actions)
    ]
    model = dataclasses.replace(table, value=np.array(within_300)).model()
    exact = backward_induction(model, 0, horizon=3)
    config = SearchConfig(simulations=4_096, max_depth=3, evaluation="simulator")
    results = [search(model, 0, config.replace(seed=seed)) for seed in range(20)]
    assert {result.action for result in results} == {exact.action}
    assert float(np.mean([r.value for r in results])) == pytest.approx(exact.value, abs=2e-3)
