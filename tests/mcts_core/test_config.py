"""Settings are checked at construction, and the message says what was got and what was wanted."""

import math

import pytest

from mcts_core import ConfigError, SearchConfig

BAD = [
    ("simulations", 0),
    ("simulations", 1.5),
    ("simulations", True),
    ("simulations", 2**31),
    ("time_limit_ms", 0.0),
    ("time_limit_ms", -1),
    ("time_limit_ms", math.inf),
    ("time_limit_ms", "5"),
    ("max_depth", 0),
    ("discount", -0.1),
    ("discount", 1.1),
    ("discount", math.nan),
    ("selection", "best"),
    ("selection", None),
    ("exploration", -1.0),
    ("exploration", math.nan),
    ("fpu", "last"),
    ("fpu", math.inf),
    ("fpu", None),
    ("value_range", (1.0, 1.0)),
    ("value_range", (0.0, math.inf)),
    ("value_range", [0.0, 1.0]),
    ("value_range", (0.0,)),
    ("evaluation", "guess"),
    ("prior_mix", 1.5),
    ("seed", -1),
    ("seed", 2**64),
]


@pytest.mark.parametrize(("field", "value"), BAD)
def test_a_bad_setting_is_refused_with_its_name(field: str, value: object) -> None:
    with pytest.raises(ConfigError) as caught:
        SearchConfig(**{field: value})  # type: ignore[arg-type]
    assert caught.value.field.startswith(field)
    assert str(caught.value).startswith(field)
    assert "wanted" in str(caught.value)


def test_decisive_rollouts_need_to_know_what_a_win_pays() -> None:
    with pytest.raises(ConfigError, match=r"^value_range: got None, wanted .*decisive"):
        SearchConfig(evaluation="decisive")
    assert SearchConfig(evaluation="decisive", value_range=(0.0, 1.0)).evaluation == "decisive"


def test_a_changed_copy_is_checked_too() -> None:
    config = SearchConfig()
    assert config.replace(simulations=5).simulations == 5
    with pytest.raises(ConfigError, match="simulations"):
        config.replace(simulations=0)


def test_a_config_cannot_be_changed_in_place() -> None:
    with pytest.raises(AttributeError):
        SearchConfig().seed = 3  # type: ignore[misc]
