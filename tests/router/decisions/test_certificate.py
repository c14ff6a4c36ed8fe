"""Certificates: what is promised holds, what is not known is said, what changed is stale."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from mcts_core.errors import ConfigError
from router.decisions.bounds import least_n
from router.decisions.certificate import (
    FIXED_STARTS,
    Certificate,
    Key,
    certify,
    find_threshold,
    halves,
)
from router.decisions.monitor import Monitor
from router.decisions.reliability import Labelled
from router.models import RiskLevel

KEY = Key("tool", "local", "", "local-1", "p1", "abc", RiskLevel.LOW)


def population(n: int = 50_000, seed: int = 3) -> Labelled:
    """Calibrated decisions, 80 % right."""
    generator = np.random.default_rng(seed)
    score = generator.beta(4.0, 1.0, n)
    return Labelled(score, generator.random(n) < score, [str(i) for i in range(n)])


def test_a_certified_threshold_breaks_its_promise_no_more_often_than_delta() -> None:
    whole, generator = population(), np.random.default_rng(5)
    broken = certified = 0
    for _ in range(300):
        rows = generator.integers(0, len(whole), 300)
        drawn = Labelled(whole.score[rows], whole.right[rows], [""] * 300)
        threshold = find_threshold(drawn, 0.10, 0.10).threshold
        if threshold is not None:
            certified += 1
            broken += (~whole.right[whole.score >= threshold]).mean() > 0.10
    assert certified > 150
    assert broken <= 0.10 * 300


@pytest.mark.parametrize("starts", [None, FIXED_STARTS])
def test_the_finding_is_what_the_data_say(starts: tuple[float, ...] | None) -> None:
    data = population(2_000)
    found = find_threshold(data, 0.10, 0.10, starts=starts)
    assert found.threshold is not None
    accepted = data.score >= found.threshold
    assert (found.n, found.errors) == (int(accepted.sum()), int((~data.right[accepted]).sum()))
    assert found.coverage == pytest.approx(float(accepted.mean()))
    assert found.errors / found.n < found.bound <= 0.10
    assert found.more_labels == 0


def test_too_few_labels_are_a_normal_answer_with_a_number() -> None:
    perfect = Labelled(np.full(20, 0.99), np.ones(20, dtype=bool), [str(i) for i in range(20)])
    found = find_threshold(perfect, 0.10, 0.10)
    assert (found.threshold, found.bound, found.coverage) == (None, 1.0, 0.0)
    assert found.more_labels == least_n(0.10, 0.10) - 20
    nothing = find_threshold(Labelled(np.zeros(0), np.zeros(0, dtype=bool), []), 0.10, 0.10)
    assert (nothing.threshold, nothing.more_labels) == (None, 22)
    hopeless = Labelled(np.full(50, 0.9), np.arange(50) % 2 == 0, [str(i) for i in range(50)])
    assert find_threshold(hopeless, 0.10, 0.10).more_labels is None


def test_the_promised_number_of_further_labels_certifies_if_rates_stay() -> None:
    data = Labelled(
        np.full(40, 0.95), np.arange(40) % 20 != 0, [str(i) for i in range(40)]
    )  # 2 of 40 wrong
    more = find_threshold(data, 0.10, 0.10).more_labels
    assert more is not None
    n = 40 + more
    wrong = np.arange(n) < np.ceil(n * 0.05)
    grown = Labelled(np.full(n, 0.95), ~wrong, [str(i) for i in range(n)])
    assert find_threshold(grown, 0.10, 0.10).threshold is not None


def test_a_better_looking_looser_threshold_after_a_failure_is_not_taken() -> None:
    score = np.concatenate([np.full(60, 0.99), np.full(2000, 0.5)])
    right = np.concatenate([np.arange(60) % 2 == 0, np.ones(2000, dtype=bool)])
    data = Labelled(score, right, [str(i) for i in range(len(score))])
    assert find_threshold(data, 0.10, 0.10).threshold is None


def test_odd_promises_are_refused() -> None:
    for name, alpha, delta in (("alpha", 0.0, 0.1), ("delta", 0.1, 0.0), ("alpha", 1.5, 0.1)):
        with pytest.raises(ConfigError, match=name):
            find_threshold(population(100), alpha, delta)


def test_sessions_are_never_on_both_sides() -> None:
    data = population(1000)
    names = [f"s{i % 40}" for i in range(1000)]
    first, second = halves(Labelled(data.score, data.right, names))
    assert not set(first.session) & set(second.session)
    assert len(first) + len(second) == 1000
    assert min(len(first), len(second)) > 200


def test_a_certificate_names_what_it_depends_on_and_survives_a_file() -> None:
    made = certify(population(4_000), KEY, created=1.0)
    assert made.finding.threshold is not None
    assert (made.alpha, made.delta, made.labels) == (0.10, 0.10, made.labels)
    assert Certificate.from_json(json.loads(json.dumps(made.as_json()))) == made
    assert made.accepts(0.999)
    assert not made.accepts(0.05)
    forged = made.as_json()
    forged["finding"]["threshold"] = 0.01
    with pytest.raises(ValueError, match="id"):
        Certificate.from_json(forged)


@pytest.mark.parametrize("field", ["point", "source", "model", "selector", "prompt", "options"])
def test_whatever_it_is_keyed_on_makes_it_stale_when_it_changes(field: str) -> None:
    made = certify(population(400), KEY)
    changed: Any = {field: "other"}
    other = replace(KEY, **changed)
    assert made.applies_to(KEY)
    assert not made.applies_to(other)
    assert not made.applies_to(replace(KEY, risk=RiskLevel.HIGH))
    pooled = certify(population(400), KEY, level="point")
    assert pooled.applies_to(other) == (field == "options")
    widest = certify(population(400), KEY, level="source")
    assert widest.applies_to(other) == (field in ("options", "point"))


def test_risk_sets_the_promise_and_critical_tools_never_act_alone() -> None:
    medium = certify(population(400), replace(KEY, risk=RiskLevel.MEDIUM))
    assert medium.alpha == 0.05
    critical = certify(population(40_000), replace(KEY, risk=RiskLevel.CRITICAL), alpha=0.5)
    assert critical.finding.threshold is None
    assert not critical.accepts(1.0)


def alarm_at(error_rate: float, n: int, seed: int, alpha: float = 0.1) -> int | None:
    generator = np.random.default_rng(seed)
    monitor = Monitor(alpha, 0.05)
    for i, wrong in enumerate(generator.random(n) < error_rate):
        monitor = monitor.after(not wrong)
        if monitor.alarmed:
            return i + 1
    return None


def test_the_monitor_alarms_seldom_where_the_promise_holds() -> None:
    alarms = sum(alarm_at(0.10, 1500, seed) is not None for seed in range(120))
    assert alarms <= 0.05 * 120


def test_the_monitor_alarms_soon_where_it_does_not() -> None:
    delays = [alarm_at(0.30, 1500, seed) for seed in range(40)]
    found = [delay for delay in delays if delay is not None]
    assert len(found) == 40
    assert np.median(found) < 80


def test_the_monitor_survives_a_file_and_an_alarm_stays() -> None:
    monitor = Monitor(0.1)
    for _ in range(10):
        monitor = monitor.after(False)
    assert monitor.alarmed
    assert (monitor.n, monitor.errors) == (10, 10)
    again = Monitor.from_json(json.loads(json.dumps(monitor.as_json())))
    for _ in range(200):
        again = again.after(True)
    assert again.alarmed
    with pytest.raises(ConfigError, match="alpha"):
        Monitor(0.0)
