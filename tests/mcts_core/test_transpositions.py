"""Transpositions: the same state at the same depth is one place, whichever way it was reached."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcts_core import ConfigError, Search, SearchConfig, SimulatedStep, SimulatorCallError, search
from mcts_core.exact import backward_induction
from simulators.games import TicTacToe
from simulators.native_games import connect_four
from simulators.python import PythonSimulator
from simulators.tabular import TabularModel
from tests.models import configs, models


class Steps:
    """Add 1, 2 or 3, six times; sums are reached in many ways. The best sum is 11."""

    def actions(self, state: tuple[int, int]) -> list[int]:
        return [1, 2, 3] if state[0] < 6 else []

    def step(self, state: tuple[int, int], action: int) -> SimulatedStep[tuple[int, int]]:
        return SimulatedStep((state[0] + 1, state[1] + action))

    def evaluate(self, state: tuple[int, int]) -> float:
        return -abs(state[1] - 11.0)


def grown(simulator: object, config: SearchConfig, root: object = None) -> Search:
    run = Search(simulator, root, config)  # type: ignore[arg-type]
    run.run()
    return run


def test_each_state_is_evaluated_once_at_each_depth() -> None:
    asked: list[tuple[int, int]] = []

    class Counting(Steps):
        def evaluate(self, state: tuple[int, int]) -> float:
            asked.append(state)
            return super().evaluate(state)

    config = SearchConfig(simulations=3000, evaluation="simulator", transpositions=True)
    grown(PythonSimulator(Counting()), config, (0, 0))
    inside = [state for state in asked if state[0] < 6]
    assert len(set(inside)) == len(inside)
    assert len(inside) == sum(2 * depth + 1 for depth in range(1, 6))


@settings(max_examples=200, deadline=None)
@given(models(), configs)
def test_visits_of_a_state_are_those_of_all_ways_to_it(model: TabularModel, config: SearchConfig) -> None:  # fmt: skip
    run = grown(model, config.replace(transpositions=True), 0)
    tree, states = run.tree(), run.tree_states()
    through: dict[tuple[int, int], int] = {}
    below: dict[tuple[int, int], int] = {}
    for i, (state, depth) in enumerate(zip(states, tree.depth.tolist(), strict=True)):
        if i > 0 and state is not None and not tree.ended[i]:
            through[state, depth] = through.get((state, depth), 0) + int(tree.visits[i])
    for i in range(1, len(tree)):
        parent = int(tree.parent[i])
        if parent > 0 and states[parent] is not None:
            at = (states[parent], int(tree.depth[parent]))
            below[at] = below.get(at, 0) + int(tree.visits[i])
    for at, visits in below.items():
        assert visits <= through[at]  # type: ignore[index]
        if not config.solver:
            assert visits == through[at] - 1  # type: ignore[index]  # its own evaluation


@settings(max_examples=200, deadline=None)
@given(models(most_outcomes=1, most_actions=4, root_has_actions=True), configs)
def test_what_is_proven_is_the_exact_value(model: TabularModel, config: SearchConfig) -> None:
    config = config.replace(
        transpositions=True, solver=True, value_range=None, simulations=2000, max_depth=4
    )
    result = grown(model, config, 0).result()
    exact = backward_induction(model, 0, horizon=4, discount=config.discount)
    assert result.proven
    assert result.value == pytest.approx(exact.value, abs=1e-9)
    assert exact.values[list(exact.actions).index(result.action)] == pytest.approx(exact.value)


def test_sharing_finds_more_with_the_same_budget() -> None:
    shared, apart = (
        grown(
            PythonSimulator(Steps()),
            SearchConfig(simulations=400, solver=True, transpositions=together),
            (0, 0),
        ).result()
        for together in (True, False)
    )
    assert shared.proven
    assert shared.value == 0.0
    assert not apart.proven


def test_a_world_without_transpositions_is_searched_as_a_tree() -> None:
    class Strings:
        def actions(self, state: str) -> list[str]:
            return ["a", "b", "c"] if len(state) < 5 else []

        def step(self, state: str, action: str) -> SimulatedStep[str]:
            return SimulatedStep(state + action, 0.5 * (action == "b"))

        def evaluate(self, state: str) -> float:
            return float(state.count("a")) / 8

    config = SearchConfig(simulations=2000, evaluation="simulator", selection="ucb1")
    one, two = (
        grown(PythonSimulator(Strings()), config.replace(transpositions=together), "").result()
        for together in (True, False)
    )
    assert one.visits.tolist() == two.visits.tolist()
    assert one.values == pytest.approx(two.values)


def test_connect_four_moves_transpose() -> None:
    config = SearchConfig(simulations=20_000, evaluation="rollout", selection="ucb1")
    tree, graph = (grown(connect_four(), config.replace(transpositions=t)) for t in (False, True))
    states = [state for state in graph.tree_states()]
    assert len(set(states)) < len(states)
    assert graph.result().action == tree.result().action == 3


def test_tic_tac_toe_is_proven_a_draw_with_fewer_simulations() -> None:
    used = []
    for together in (False, True):
        config = SearchConfig(
            simulations=100_000, solver=True, value_range=(-1.0, 1.0), transpositions=together
        )
        result = search(PythonSimulator(TicTacToe()), TicTacToe().initial(), config)
        assert result.proven and result.value == 0.0
        used.append(result.simulations)
    assert used[1] < used[0]


@settings(max_examples=100, deadline=None)
@given(models(), configs, st.integers(0, 3))
def test_a_graph_can_be_advanced(model: TabularModel, config: SearchConfig, steps: int) -> None:
    run = Search(model, 0, config.replace(transpositions=True))
    for _ in range(steps + 1):
        if run.run(40) == "no_action":
            return
        result = run.result()
        action = result.actions[int(np.argmax(result.visits))]
        below = [s for s, p, d in zip(run.tree_states(), run.tree().parent, run.tree().depth,
                                      strict=True) if s is not None and d == 1]  # fmt: skip
        run.advance(action, below[0])
        run.run(40)
        assert np.isfinite(run.tree().value).all()


def test_states_that_cannot_be_hashed_are_named() -> None:
    class Lists(Steps):
        def step(self, state, action):  # type: ignore[no-untyped-def]
            return SimulatedStep([*state])

    config = SearchConfig(simulations=10, transpositions=True)
    with pytest.raises(SimulatorCallError, match=r"hash of state \[0, 0\] raised TypeError"):
        search(PythonSimulator(Lists()), (0, 0), config)


def test_batches_share_states_too() -> None:
    def evaluate(states: object) -> tuple[None, list[float]]:
        return None, [-abs(total - 11.0) for _, total in states]  # type: ignore[attr-defined]

    config = SearchConfig(simulations=2000, transpositions=True, batch_size=8, max_depth=6)
    result = search(PythonSimulator(Steps()), (0, 0), config, evaluate_batch=evaluate)
    assert result.visits.sum() == 2000
    assert result.action in (1, 2, 3)


def test_a_simulator_without_keys_is_refused_by_name() -> None:
    with pytest.raises(ConfigError, match="transpositions"):
        SearchConfig(transpositions="yes")  # type: ignore[arg-type]
