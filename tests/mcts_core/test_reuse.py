"""Tree reuse: after a real step the search goes on from the place that it led to."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcts_core import ConfigError, Search, SearchConfig, SimulatedStep
from simulators.native_games import connect_four
from simulators.python import PythonSimulator
from simulators.tabular import TabularModel
from tests.models import configs, models


def children_of(run: Search) -> dict[object, tuple[int, float]]:
    """Action at the root -> (visits, value)."""
    result = run.result()
    return {
        action: (int(n), float(q))
        for action, n, q in zip(result.actions, result.visits, result.values, strict=True)
    }


def below(run: Search, action: object) -> dict[tuple[object, ...], tuple[int, float]]:
    """Path of actions below ``action`` -> (visits, value) of what was visited there."""
    tree, names = run.tree(), run.tree_actions()
    paths: list[tuple[object, ...]] = [()]
    for parent, name in zip(tree.parent[1:].tolist(), names[1:], strict=True):
        paths.append((*paths[parent], name))
    return {
        path[1:]: (int(n), float(q))
        for path, n, q in zip(paths, tree.visits, tree.value, strict=True)
        if len(path) > 1 and path[0] == action
    }


def test_what_was_found_below_the_action_taken_is_kept() -> None:
    config = SearchConfig(simulations=3000, evaluation="rollout", selection="ucb1")
    run = Search(connect_four(), None, config)
    run.run()
    action = run.result().action
    before = below(run, action)
    run.advance(action)
    tree, names = run.tree(), run.tree_actions()
    paths: list[tuple[object, ...]] = [()]
    for parent, name in zip(tree.parent[1:].tolist(), names[1:], strict=True):
        paths.append((*paths[parent], name))
    after = {p: (int(n), float(q)) for p, n, q in zip(paths, tree.visits, tree.value, strict=True)}
    root_visits, _ = after.pop(())
    assert after == before
    assert root_visits == sum(n for path, (n, _) in before.items() if len(path) == 1)
    assert run.simulations == 0
    assert run.run(500) == "simulations"
    assert run.result().visits.sum() == root_visits + 500


def test_the_kept_tree_is_searched_as_the_same_tree_grown_there() -> None:
    """One child of the root that was visited once holds nothing but its state: the same search as
    a new one from there."""
    config = SearchConfig(simulations=7, evaluation="simulator", max_depth=50)
    run = Search(connect_four(), None, config)
    run.run()
    run.advance(4)
    run.run(1000)
    fresh = Search(connect_four(), run.tree_states()[0], config)
    fresh.run(1000)
    assert run.result().visits.tolist() == fresh.result().visits.tolist()


@settings(max_examples=150, deadline=None)
@given(models(), configs, st.data())
def test_a_tree_can_be_advanced_to_its_end_in_any_world(model, config, data) -> None:  # type: ignore[no-untyped-def]
    run = Search(model, 0, config)
    for _ in range(4):
        if run.run(20) == "no_action":
            return
        result = run.result()
        visited = [a for a, n in zip(result.actions, result.visits, strict=True) if n > 0]
        action = data.draw(st.sampled_from(visited))
        states = [
            state
            for state, parent, name in zip(
                run.tree_states(), run.tree().parent, run.tree_actions(), strict=True
            )
            if parent >= 0 and state is not None and _first(run, parent, name) == action
        ]
        run.advance(action, data.draw(st.sampled_from(states)))
        tree = run.tree()
        assert tree.visits[0] == tree.visits[1:][tree.parent[1:] == 0].sum()


def _first(run: Search, parent: int, name: object) -> object:
    """The root's action above a node that stands one decision below the root, else a mark."""
    tree, names = run.tree(), run.tree_actions()
    if parent == 0:
        return name
    return names[parent] if tree.parent[parent] == 0 and tree.kind[parent] == 1 else object


def test_proofs_that_rest_on_the_horizon_are_given_up_and_others_kept() -> None:
    class Line:
        """Left ends with a reward after one more step; right goes on for ever."""

        def actions(self, state: int) -> list[str]:
            return ["left", "right"]

        def step(self, state: int, action: str) -> SimulatedStep[int]:
            return SimulatedStep(state + 1, float(action == "left"), action == "left")

        def evaluate(self, state: int) -> float:
            return 0.0

    config = SearchConfig(
        simulations=200, max_depth=3, solver=True, evaluation="simulator", discount=0.5
    )
    run = Search(PythonSimulator(Line()), 0, config)
    assert run.run() == "proven"
    run.advance("right")
    tree, names = run.tree(), run.tree_actions()
    proven = {
        name for name, ok, p in zip(names, tree.proven, tree.parent, strict=True) if ok and p == 0
    }
    assert proven == {"left"}
    assert not run.result().proven
    assert run.run() == "proven"
    assert run.result().value == 1.0


def test_a_step_by_chance_needs_the_state_that_came_about() -> None:
    model = TabularModel(
        [0, 1, 2, 3], [0, 2, 3, 4], [1, 2, 0, 0], [0.0, 1.0, 0.0, 0.0],
        probability=[0.5, 0.5, 1.0, 1.0],
    )  # fmt: skip
    run = Search(model, 0, SearchConfig(simulations=50))
    run.run()
    with pytest.raises(ConfigError, match="state: got None"):
        run.advance(0)
    assert run.result().visits.sum() == 50
    run.advance(0, 2)
    assert run.tree_states()[0] == 2


def test_an_action_that_was_never_tried_leads_to_a_new_tree() -> None:
    run = Search(connect_four(), None, SearchConfig(simulations=2))
    run.run()
    run.advance(6)
    assert run.tree_states() == [(0, 1 << 42)]
    run.run(100)
    assert run.result().visits.sum() == 100


def test_an_unknown_action_is_refused_by_name() -> None:
    run = Search(connect_four(), None, SearchConfig(simulations=2))
    with pytest.raises(ConfigError, match="action: got 9, wanted one of the root's actions"):
        run.advance(9)
    run.run()
    assert run.result().visits.sum() == 2


def test_a_world_that_has_ended_offers_no_action() -> None:
    class Once:
        def actions(self, state: int) -> list[str]:
            return ["go"]

        def step(self, state: int, action: str) -> SimulatedStep[int]:
            return SimulatedStep(state + 1, 1.0, True)

        def evaluate(self, state: int) -> float:
            return 0.0

    run = Search(PythonSimulator(Once()), 0, SearchConfig(simulations=3))
    run.run()
    run.advance("go")
    assert run.run(5) == "no_action"
    assert run.result().action is None
