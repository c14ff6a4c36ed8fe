"""Explicit models refuse malformed arrays by name, and keep copies of their own."""

from typing import Any

import numpy as np
import pytest

from mcts_core import ModelError, SearchConfig, search
from simulators import TabularModel

GOOD: dict[str, Any] = {
    "action_offsets": [0, 2, 3],
    "outcome_offsets": [0, 2, 3, 4],
    "next_state": [0, 1, 1, 0],
    "reward": [1.0, -1.0, 0.5, 2.0],
    "probability": [0.25, 0.75, 1.0, 1.0],
    "terminal": [False, True, False, True],
    "value": [0.0, 1.0],
    "prior": [1.0, 2.0, 3.0],
    "player": [0, 1],
    "labels": ["a", "b", "c"],
}

BAD = [
    ("action_offsets", [], "action_offsets"),
    ("action_offsets", [0], "action_offsets"),
    ("action_offsets", [1, 2, 3], "first entry of 0"),
    ("action_offsets", [0, 3, 2], r"action_offsets\[2\]"),
    ("action_offsets", [[0, 2, 3]], "one dimension"),
    ("action_offsets", [0.0, 2.0, 3.0], "integers"),
    ("action_offsets", "abc", "action_offsets"),
    ("action_offsets", [0, 2, 2**31], "action_offsets"),
    ("outcome_offsets", [0, 2, 3], "outcome_offsets"),
    ("outcome_offsets", [0, 2, 2, 4], r"outcome_offsets\[2\]"),
    ("next_state", [0, 1, 2, 0], r"next_state\[2\]: got 2, wanted 0 to 1"),
    ("next_state", [0, -1, 1, 0], r"next_state\[1\]"),
    ("next_state", [0, 1, 1], "next_state"),
    ("reward", [1.0, float("nan"), 0.5, 2.0], r"reward\[1\]"),
    ("reward", [1.0, float("-inf"), 0.5, 2.0], r"reward\[1\]"),
    ("reward", [1.0, 1e151, 0.5, 2.0], r"reward\[1\]"),
    ("reward", ["1", "2", "3", "4"], "reward"),
    ("probability", None, "probability"),
    ("probability", [0.25, 0.7, 1.0, 1.0], r"probability\[0:2\]: got a sum of 0.95"),
    ("probability", [-0.25, 1.25, 1.0, 1.0], "probability"),
    ("probability", [0.0, 1.0, 1.0, 1.0], r"probability\[0\]"),
    ("terminal", [0, 2, 0, 1], r"terminal\[1\]"),
    ("value", [0.0], "value"),
    ("value", [0.0, float("inf")], r"value\[1\]"),
    ("prior", [1.0, -1.0, 0.0], r"prior\[1\]"),
    ("prior", [1.0, 2.0], "prior"),
    ("player", [0, 2], r"player\[1\]"),
    ("labels", ["a"], "labels"),
]


@pytest.mark.parametrize(("name", "value", "message"), BAD)
def test_a_malformed_array_is_refused_by_name(name: str, value: object, message: str) -> None:
    TabularModel(**GOOD)
    with pytest.raises(ModelError, match=message):
        TabularModel(**(GOOD | {name: value}))


def test_the_model_keeps_copies_that_nobody_can_change() -> None:
    rewards = np.array(GOOD["reward"])
    model = TabularModel(**(GOOD | {"reward": rewards}))
    rewards[:] = 7.0
    assert model.reward.tolist() == GOOD["reward"]
    with pytest.raises(ValueError, match="read-only"):
        model.reward[0] = 7.0


def test_labels_name_the_actions_of_a_result() -> None:
    model = TabularModel(**GOOD)
    result = search(model, 0, SearchConfig(simulations=50, max_depth=3))
    assert set(result.actions) == {"a", "b"}
    assert result.action in result.actions
    assert model.action_label(1, 0) == "c"
    assert model.states == 2
    assert not model.deterministic


def test_the_models_own_prior_orders_the_first_tries() -> None:
    result = search(TabularModel(**GOOD), 0, SearchConfig(simulations=1))
    assert result.visits.tolist() == [0, 1]
    assert result.priors.tolist() == pytest.approx([1 / 3, 2 / 3])


def test_outcomes_are_drawn_with_their_probabilities() -> None:
    model = TabularModel(
        [0, 1, 1], [0, 3], [1, 1, 1], [1.0, 10.0, 100.0], probability=[0.2, 0.3, 0.5]
    )
    result = search(model, 0, SearchConfig(simulations=20_000, max_depth=1))
    assert result.values[0] == pytest.approx(0.2 + 3.0 + 50.0, rel=0.02)
