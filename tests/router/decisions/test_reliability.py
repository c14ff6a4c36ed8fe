"""Measures of calibration against their definitions and, where it is there, scikit-learn."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from router.decisions.maps import ProbabilityMap, fit_isotonic, fit_map, fit_temperature
from router.decisions.reliability import (
    Labelled,
    auroc,
    brier,
    buckets,
    calibration_error,
    log_loss,
    risk_by_coverage,
)

PAIRS = st.lists(st.tuples(st.integers(0, 20), st.booleans()), min_size=1, max_size=60)


def labelled(pairs: list[tuple[int, bool]]) -> Labelled:
    score = np.array([score / 20 for score, _ in pairs])
    return Labelled(
        score, np.array([right for _, right in pairs]), [str(i) for i in range(len(score))]
    )


def drawn(n: int, temperature: float = 1.0, seed: int = 0) -> Labelled:
    generator = np.random.default_rng(seed)
    score = generator.uniform(0.02, 0.98, n)
    true = 1 / (1 + np.exp(-np.log(score / (1 - score)) / temperature))
    return Labelled(score, generator.random(n) < true, [str(i) for i in range(n)])


@given(PAIRS)
def test_auroc_is_the_share_of_pairs_in_order(pairs: list[tuple[int, bool]]) -> None:
    right = [score for score, label in pairs if label]
    wrong = [score for score, label in pairs if not label]
    found = auroc(labelled(pairs))
    if not right or not wrong:
        assert np.isnan(found)
        return
    wanted = np.mean([(a > b) + (a == b) / 2 for a in right for b in wrong])
    assert found == pytest.approx(float(wanted))


@given(PAIRS, st.integers(1, 12))
def test_buckets_hold_every_decision_once(pairs: list[tuple[int, bool]], count: int) -> None:
    for binning in ("mass", "width"):
        found = buckets(labelled(pairs), count, binning)
        assert sum(bucket.n for bucket in found) == len(pairs)
        assert all(b.low <= b.observed <= b.high for b in found)


def test_the_calibration_error_of_known_cases() -> None:
    data = Labelled(np.full(100, 0.8), np.arange(100) < 60, ["s"] * 50 + ["t"] * 50)
    assert calibration_error(data, 10, "width").value == pytest.approx(0.2)
    sure = Labelled(np.ones(10), np.ones(10, dtype=bool), [str(i) for i in range(10)])
    perfect = calibration_error(sure)
    assert (perfect.value, perfect.low, perfect.high, perfect.if_calibrated) == (0, 0, 0, 0)


def test_few_decisions_look_uncalibrated_and_it_says_by_how_much() -> None:
    few, many = calibration_error(drawn(100)), calibration_error(drawn(20_000))
    assert few.if_calibrated > 0.05
    assert many.if_calibrated < 0.02
    assert many.value < 0.02
    assert few.low <= few.value * 1.5
    assert calibration_error(drawn(20_000, 2.5)).value > 0.08


def test_scores_are_those_of_their_definitions() -> None:
    data = Labelled(np.array([0.9, 0.2]), np.array([True, False]), ["a", "b"])
    assert brier(data) == pytest.approx((0.01 + 0.04) / 2)
    assert log_loss(data) == pytest.approx(-(np.log(0.9) + np.log(0.8)) / 2)
    certain = Labelled(np.array([1.0]), np.array([False]), ["a"])
    assert log_loss(certain) == pytest.approx(-np.log(0.005))
    coverage, risk, area = risk_by_coverage(data)
    assert (coverage.tolist(), risk.tolist(), area) == ([0.5, 1.0], [0.0, 0.5], 0.25)


def test_scikit_learn_agrees() -> None:
    metrics = pytest.importorskip("sklearn.metrics", reason="scikit-learn is the oracle here")
    isotonic = pytest.importorskip("sklearn.isotonic")
    data = drawn(500, 1.7)
    assert auroc(data) == pytest.approx(metrics.roc_auc_score(data.right, data.score))
    assert brier(data) == pytest.approx(metrics.brier_score_loss(data.right, data.score))
    other = isotonic.IsotonicRegression().fit(data.score, data.right)
    found = fit_isotonic(data)
    assert found(data.score) == pytest.approx(other.predict(data.score))


def test_odd_input_is_refused() -> None:
    with pytest.raises(ValueError, match="lengths"):
        Labelled(np.array([0.5]), np.array([True, False]), ["a"])
    for bad in (np.nan, -0.1, 1.1):
        with pytest.raises(ValueError, match="score"):
            Labelled(np.array([bad]), np.array([True]), ["a"])


@pytest.mark.parametrize("temperature", [0.6, 1.0, 2.5])
def test_a_temperature_is_found_again(temperature: float) -> None:
    assert fit_temperature(drawn(20_000, temperature)).temperature == pytest.approx(
        temperature, rel=0.08
    )


@given(st.lists(st.tuples(st.integers(0, 4), st.booleans()), min_size=1, max_size=9))
def test_no_rising_map_is_closer_than_the_isotonic_one(pairs: list[tuple[int, bool]]) -> None:
    data = labelled(pairs)
    fitted = fit_isotonic(data)(data.score)
    order = np.argsort(data.score, kind="stable")
    assert (np.diff(fitted[order]) >= -1e-12).all()
    loss = float(((fitted - data.right) ** 2).sum())
    levels = np.linspace(0, 1, 6)
    values = np.unique(data.score)
    for rising in np.array(np.meshgrid(*[levels] * len(values))).T.reshape(-1, len(values))[:4000]:
        if (np.diff(rising) >= 0).all():
            other = rising[np.searchsorted(values, data.score)]
            assert loss <= float(((other - data.right) ** 2).sum()) + 1e-9


def test_the_amount_of_labels_chooses_the_map_and_it_survives_a_file() -> None:
    assert fit_map(drawn(10)).kind == "identity"
    assert fit_map(drawn(100)).kind == "temperature"
    grown = fit_map(drawn(500))
    assert grown.kind == "isotonic"
    assert ProbabilityMap.from_json(grown.as_json()) == grown
    grid = np.linspace(0, 1, 101)
    assert (np.diff(grown(grid)) >= 0).all()
    assert grown(grid).min() >= 0.0
    assert grown(grid).max() <= 1.0
