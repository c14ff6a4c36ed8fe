"""Clopper and Pearson's bounds, against exact enumeration and, where it is there, scipy."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcts_core.errors import ConfigError
from router.decisions.bounds import certifies, least_n, lower_bound, upper_bound

COUNTS = st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
DELTAS = st.sampled_from([0.001, 0.0125, 0.05, 0.1, 0.5])


def tail(k: int, n: int, p: float) -> float:
    return math.fsum(math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k + 1))


@given(COUNTS, DELTAS)
def test_the_tail_at_the_bound_is_delta(counts: tuple[int, int], delta: float) -> None:
    k, n = counts
    bound = upper_bound(k, n, delta)
    if k == n:
        assert bound == 1.0
    else:
        assert k / n <= bound < 1.0
        if n <= 200:
            assert tail(k, n, bound) == pytest.approx(delta, rel=1e-8)


@given(COUNTS, DELTAS)
def test_bounds_enclose_the_share_and_move_with_delta(
    counts: tuple[int, int], delta: float
) -> None:
    k, n = counts
    assert lower_bound(k, n, delta) <= k / n <= upper_bound(k, n, delta)
    assert upper_bound(k, n, delta / 2) >= upper_bound(k, n, delta)
    if k:
        assert upper_bound(k - 1, n, delta) <= upper_bound(k, n, delta)


@given(COUNTS, DELTAS, st.floats(0.01, 0.99))
def test_certifying_is_the_same_question(
    counts: tuple[int, int], delta: float, alpha: float
) -> None:
    k, n = counts
    bound = upper_bound(k, n, delta)
    if abs(bound - alpha) > 1e-9:
        assert certifies(k, n, alpha, delta) == (bound <= alpha)


@pytest.mark.parametrize("p", [0.02, 0.1, 0.35])
def test_the_bound_covers_the_truth_as_often_as_it_says(p: float) -> None:
    n, delta = 60, 0.1
    covered = math.fsum(
        math.comb(n, k) * p**k * (1 - p) ** (n - k)
        for k in range(n + 1)
        if upper_bound(k, n, delta) >= p
    )
    assert covered >= 1 - delta


@pytest.mark.parametrize(
    ("alpha", "delta", "n"),
    [
        (0.10, 0.05, 29),
        (0.05, 0.05, 59),
        (0.02, 0.05, 149),
        (0.01, 0.05, 299),
        (0.10, 0.10, 22),
        (0.05, 0.10, 45),
        (0.02, 0.10, 114),
        (0.01, 0.10, 230),
        (0.10, 0.025, 36),
        (0.05, 0.025, 72),
    ],
)
def test_so_many_without_an_error_are_needed(alpha: float, delta: float, n: int) -> None:
    assert least_n(alpha, delta) == n
    assert certifies(0, n, alpha, delta)
    assert not certifies(0, n - 1, alpha, delta)


def test_large_counts_are_exact_too() -> None:
    stats = pytest.importorskip("scipy.stats", reason="scipy is the oracle here")
    for k, n in ((0, 10), (3, 50), (100, 1_000), (12_345, 100_000), (99_999, 100_000)):
        for delta in (0.0125, 0.1):
            wanted = stats.beta.ppf(1 - delta, k + 1, n - k)
            assert upper_bound(k, n, delta) == pytest.approx(wanted, abs=1e-10)


def test_odd_arguments_are_refused_by_name() -> None:
    with pytest.raises(ConfigError, match="errors: got 5"):
        upper_bound(5, 3, 0.1)
    with pytest.raises(ConfigError, match="delta: got 0"):
        upper_bound(0, 3, 0.0)
    assert (upper_bound(0, 0, 0.1), lower_bound(0, 0, 0.1)) == (1.0, 0.0)
