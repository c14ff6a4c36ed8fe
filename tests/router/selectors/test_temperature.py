"""Temperature scaling."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcts_core.errors import ConfigError
from router.selectors.temperature import IDENTITY, Temperatures, temper

DISTRIBUTIONS = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=20).filter(
    lambda values: math.fsum(values) > 0.1
)


@given(DISTRIBUTIONS, st.floats(0.05, 20.0))
def test_the_result_is_a_distribution_in_the_same_order(
    stated: list[float], temperature: float
) -> None:
    tempered = temper(stated, temperature)
    assert math.fsum(tempered) == pytest.approx(1.0)
    ranked = sorted(range(len(stated)), key=stated.__getitem__)
    assert all(tempered[a] <= tempered[b] + 1e-12 for a, b in itertools.pairwise(ranked))


def test_it_is_the_softmax_of_divided_logits() -> None:
    logits = [2.0, 0.5, 1.0]
    stated = [math.exp(x) / sum(map(math.exp, logits)) for x in logits]
    wanted = [math.exp(x / 1.7) / sum(math.exp(y / 1.7) for y in logits) for x in logits]
    assert temper(stated, 1.7) == pytest.approx(wanted)


def test_one_normalises_only_and_a_rounded_zero_is_not_impossible() -> None:
    assert temper([0.98, 0.01, 0.0], 1.0) == pytest.approx([0.98 / 0.99, 0.01 / 0.99, 0.0])
    assert temper([1.0, 0.0], 2.0)[1] > 0.05


@pytest.mark.parametrize(
    ("count", "wanted"), [(1, 2.0), (2, 2.0), (4, 2.0), (5, 3.0), (9, 3.0), (10, 4.0), (255, 4.0)]
)
def test_a_count_takes_the_temperature_of_its_range(count: int, wanted: float) -> None:
    assert Temperatures({10: 4.0, 2: 2.0, 5: 3.0}, "t").at(count) == wanted


def test_no_map_is_the_identity_and_bad_maps_are_refused_by_name() -> None:
    assert IDENTITY.at(7) == 1.0
    with pytest.raises(ConfigError, match=r"by_count\[3\]: got 0.0"):
        Temperatures({3: 0.0}, "t")
    with pytest.raises(ConfigError, match="by_count: got 0"):
        Temperatures({0: 1.0}, "t")
