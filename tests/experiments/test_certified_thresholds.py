"""The experiment on certified thresholds: rules on simulated decisions."""

from experiments.certified_thresholds import DELTA, RULES, broken_and_coverage, simulated


def test_certified_thresholds_keep_their_promise_and_observed_shares_do_not() -> None:
    population = simulated(1.0)
    found = {
        name: broken_and_coverage(population, rule, 300, 0.10, splits=150)
        for name, rule in RULES.items()
    }
    for name, shares in found.items():
        if name.startswith("learn-then-test"):
            assert shares["broken"] <= DELTA, name
    assert found["observed error <= alpha"]["broken"] > 0.3
    assert found["learn-then-test, one count (ours)"]["coverage"] > 0.05
