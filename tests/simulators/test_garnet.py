"""Random worlds have the size and the share of chance that was asked for."""

from typing import Any

import numpy as np
import pytest

from mcts_core import ConfigError, ModelTooLargeError
from simulators.garnet import garnet


def sizes(chance: float, **settings: Any) -> tuple[Any, Any]:
    """The model, and how many outcomes each of its choices has."""
    model = garnet(300, 3, 4, chance=chance, **settings)
    return model, np.diff(model.outcome_offsets)


def test_a_share_of_the_actions_has_chance() -> None:
    for chance in (0.0, 0.3, 1.0):
        model, count = sizes(chance)
        assert np.diff(model.action_offsets).tolist() == [3] * 300
        assert set(count.tolist()) <= {1, 4}
        assert (count == 4).mean() == pytest.approx(chance, abs=0.05)
        assert model.deterministic == (chance == 0.0)


def test_a_share_of_the_outcomes_ends_the_world() -> None:
    for ends in (0.0, 0.25, 1.0):
        model, _ = sizes(0.5, ends=ends)
        assert np.asarray(model.terminal).mean() == pytest.approx(ends, abs=0.05)


def test_a_loss_comes_with_the_least_probable_outcome_and_only_with_chance() -> None:
    model, count = sizes(0.5, loss=7.0)
    for choice, first in enumerate(model.outcome_offsets[:-1]):
        reward = model.reward[first : first + count[choice]]
        if count[choice] == 1:
            assert abs(reward[0]) <= 1.0
        else:
            rare = int(np.argmin(model.probability[first : first + 4]))
            assert reward[rare] == -7.0
            assert min(np.delete(reward, rare)) >= 0.0


def test_the_seed_decides_the_world() -> None:
    first, again, other = (garnet(seed=seed).reward.tolist() for seed in (1, 1, 2))
    assert first == again != other


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({"states": 0}, "states"),
        ({"actions": 0}, "actions"),
        ({"outcomes": 1}, "outcomes"),
        ({"chance": 1.1}, "chance"),
        ({"ends": -0.1}, "ends"),
        ({"loss": -1.0}, "loss"),
        ({"seed": -1}, "seed"),
    ],
)
def test_a_setting_out_of_range_is_named(settings: Any, name: str) -> None:
    with pytest.raises(ConfigError, match=name):
        garnet(**settings)


def test_a_world_too_large_is_refused() -> None:
    with pytest.raises(ModelTooLargeError, match="outcomes"):
        garnet(2**20, 64, 3)
