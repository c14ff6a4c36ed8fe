"""The lake is the same in all its forms, and worth what is known of it."""

from typing import Any

import numpy as np
import pytest

from mcts_core import ConfigError, Search, SearchConfig
from mcts_core.exact import backward_induction
from mcts_core.native import AddressSimulator
from mcts_core.result import CHANCE
from simulators.sailing import DX, DY, TACK, WIND, sailing, sailing_model, sailing_values


@pytest.fixture(scope="module")
def lake() -> AddressSimulator:
    return sailing(5)


def test_the_value_of_the_start_on_a_lake_of_50_is_the_known_one() -> None:
    assert sailing_values(50)[0, 0, 0] == pytest.approx(-26.165, abs=5e-4)


@pytest.mark.parametrize("state", [(0, 0, 0), (4, 0, 2), (2, 3, 5)], ids=str)
def test_exact_solving_of_the_arrays_agrees_with_value_iteration(
    state: tuple[int, int, int],
) -> None:
    root = 8 * (state[0] * 5 + state[1]) + state[2]
    exact = backward_induction(sailing_model(5), root, horizon=500, discount=0.95)
    assert exact.value == pytest.approx(sailing_values(5)[state], abs=1e-7)


@pytest.mark.parametrize("state", [(0, 0, 0), (0, 4, 6), (2, 2, 3), (3, 3, 7)], ids=str)
def test_a_native_voyage_obeys_the_rules(
    lake: AddressSimulator, state: tuple[int, int, int]
) -> None:
    config = SearchConfig(simulations=4000, max_depth=1, selection="ucb1", exploration=50.0)
    run = Search(lake, state, config)
    run.run()
    tree, states = run.tree(), run.tree_states()
    x, y, wind = state
    legal = [
        course
        for course in range(8)
        if TACK[course, wind] < 4 and 0 <= x + DX[course] < 5 and 0 <= y + DY[course] < 5
    ]
    assert sorted(tree.action[tree.kind == CHANCE].tolist()) == legal
    for node in np.flatnonzero(tree.parent > 0):
        course = tree.action[tree.parent[node]]
        after: Any = states[node]
        assert after[:2] == (x + DX[course], y + DY[course])
        assert WIND[wind, after[2]] > 0.0
        assert tree.reward[node] == -1.0 - TACK[course, wind]
    for chance in np.flatnonzero(tree.kind == CHANCE):
        turned = np.flatnonzero(tree.parent == chance)
        shares = {states[n][2]: tree.visits[n] / tree.visits[chance] for n in turned}  # type: ignore[index]
        assert [shares.get(w, 0.0) for w in range(8)] == pytest.approx(WIND[wind], abs=0.08)


def test_the_voyage_ends_in_the_far_corner(lake: AddressSimulator) -> None:
    run = Search(lake, (3, 3, 1), SearchConfig(simulations=200, max_depth=9, selection="ucb1"))
    run.run()
    tree, states = run.tree(), run.tree_states()
    corner = [i for i, s in enumerate(states) if s is not None and s[:2] == (4, 4)]  # type: ignore[index]
    assert corner
    assert tree.ended[corner].all()
    assert not sailing_values(5)[4, 4].any()


def test_wind_and_tack_are_proper() -> None:
    assert WIND.sum(axis=1) == pytest.approx(np.ones(8))
    assert TACK[0].tolist() == [0, 1, 2, 3, 4, 3, 2, 1]
    assert (TACK == TACK.T).all()


@pytest.mark.parametrize("make", [sailing, sailing_model, sailing_values])
@pytest.mark.parametrize("size", [1, 30_001, 2.0])
def test_a_lake_of_no_size_is_refused(make: Any, size: Any) -> None:
    with pytest.raises(ConfigError, match="size"):
        make(size)
