"""Backward induction gives the values that a plain recursion over the definition gives."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcts_core import ConfigError, ModelError, ModelTooLargeError
from mcts_core.exact import backward_induction
from mcts_core.policy_tree import policy_tree
from simulators import TabularModel
from tests.models import arms, models


def action_values(model: TabularModel, state: int, horizon: int, discount: float) -> list[float]:
    """Q_h(s, a) by recursion over the definition, independent of the engine's layers."""
    result = []
    for choice in range(*model.action_offsets[state : state + 2].tolist()):
        total = 0.0
        for edge in range(*model.outcome_offsets[choice : choice + 2].tolist()):
            to = int(model.next_state[edge])
            after = float(model.value[to])
            if not model.terminal[edge] and horizon > 1:
                after = max(action_values(model, to, horizon - 1, discount), default=after)
            sign = 1.0 if model.player[to] == model.player[state] else -1.0
            total += model.probability[edge] * (model.reward[edge] + discount * sign * after)
        result.append(float(total))
    return result


@settings(max_examples=150, deadline=None)
@given(
    models(most_states=5, most_actions=3, most_outcomes=2, root_has_actions=True),
    st.integers(1, 4),
    st.sampled_from([0.0, 0.7, 1.0]),
)
def test_values_equal_a_recursion_over_the_definition(
    model: TabularModel, horizon: int, discount: float
) -> None:
    result = backward_induction(model, 0, horizon=horizon, discount=discount)
    expected = action_values(model, 0, horizon, discount)
    np.testing.assert_allclose(result.values, expected, atol=1e-9)
    assert result.value == max(result.values)
    assert result.proven
    assert result.proven_by == "backward induction"
    assert 1 <= len(result.principal_variation) <= horizon
    assert result.principal_variation[0] == result.action


@settings(max_examples=60, deadline=None)
@given(models(most_outcomes=1, players=1, root_has_actions=True), st.integers(1, 12))
def test_the_principal_variation_earns_the_value_in_a_deterministic_world(
    model: TabularModel, horizon: int
) -> None:
    result = backward_induction(model, 0, horizon=horizon, discount=0.9)
    state, total, weight = 0, 0.0, 1.0
    for action in result.principal_variation:
        assert isinstance(action, int)
        edge = int(model.action_offsets[state]) + action
        total += weight * float(model.reward[edge])
        weight *= 0.9
        state = int(model.next_state[edge])
    assert math.isclose(total + weight * float(model.value[state]), result.value, abs_tol=1e-9)


def test_a_long_horizon_converges_to_value_iteration() -> None:
    rng = np.random.default_rng(3)
    states, actions = 30, 3
    model = TabularModel(
        np.arange(states + 1) * actions,
        np.arange(states * actions + 1),
        rng.integers(0, states, states * actions),
        rng.normal(size=states * actions),
    )
    values = np.zeros(states)
    for _ in range(2000):
        q = (model.reward + 0.9 * values[model.next_state]).reshape(states, actions)
        values = q.max(1)
    result = backward_induction(model, 0, horizon=2000, discount=0.9)
    np.testing.assert_allclose(result.values, q[0], atol=1e-9)


def test_ties_go_to_the_prior_and_then_to_the_first() -> None:
    model = arms([1.0, 1.0, 0.0])
    assert backward_induction(model, 0, horizon=1).action == 0
    assert backward_induction(model, 0, horizon=1, prior=[1, 3, 1]).action == 1


def test_a_root_without_actions_is_no_action() -> None:
    result = backward_induction(TabularModel([0, 0], [0], [], []), 0, horizon=3)
    assert result.action is None
    assert math.isnan(result.value)


def test_too_much_work_is_refused_before_it_is_done() -> None:
    loop = TabularModel([0, 1], [0, 1], [0], [1.0])
    assert backward_induction(loop, 0, horizon=400, work_limit=1000).value == 400.0
    with pytest.raises(ModelTooLargeError, match="more than 1000 updates"):
        backward_induction(loop, 0, horizon=2**31 - 2, work_limit=1000)


@pytest.mark.parametrize(
    ("arguments", "error", "field"),
    [
        ({"horizon": 0}, ConfigError, "horizon"),
        ({"horizon": 1, "discount": 1.5}, ConfigError, "discount"),
        ({"horizon": 1, "discount": math.nan}, ConfigError, "discount"),
        ({"horizon": 1, "prior": [1.0]}, ModelError, "prior"),
        ({"horizon": 1, "prior": [1.0, -1.0]}, ModelError, "prior"),
    ],
)
def test_bad_arguments_are_refused_by_name(
    arguments: dict[str, object], error: type[Exception], field: str
) -> None:
    with pytest.raises(error, match=field):
        backward_induction(arms([0.0, 1.0]), 0, **arguments)  # type: ignore[arg-type]


@settings(max_examples=60, deadline=None)
@given(models(most_states=6, root_has_actions=True), st.integers(1, 5))
def test_the_policy_tree_is_consistent_with_its_own_values(
    model: TabularModel, horizon: int
) -> None:
    tree, labels, states = policy_tree(model, 0, horizon=horizon, discount=0.9)
    assert len(tree) == len(labels) == len(states)
    children = [np.flatnonzero(tree.parent == i) for i in range(len(tree))]
    assert tree.value[0] == backward_induction(model, 0, horizon=horizon, discount=0.9).value
    for node, below in enumerate(children):
        if len(below) == 0:
            continue
        if tree.kind[node] == 1:
            mean = float((tree.prior[below] * tree.value[below]).sum())
            assert math.isclose(mean, tree.value[node], abs_tol=1e-9)
        else:
            assert tree.visits[below].sum() == 1
