"""Do certified thresholds keep their promise, and how much do they let through?

    python -m experiments.certified_thresholds [--splits 400] [--labels N ...] [--json]

Decisions with known right answers are a population; labels are drawn from it at random, each rule
sets a threshold from them, and the promise is broken if the error rate among all decisions of the
population that the threshold accepts is above alpha. (Judged on a second sample, part of every
share would be noise of that sample.) Three populations: decisions of the local selector on the part
of the tool-choice sets that its weights never saw; simulated ones that are calibrated; simulated
ones that are overconfident. Rules: the loosest threshold whose observed error is at most alpha; the
loosest such that every bucket of width .05 above it is; and learn-then-test, from fixed scores or
from counts.
"""

import json
from collections.abc import Callable, Sequence
from typing import Any, Final

import click
import numpy as np
from rich.console import Console
from rich.table import Table

from experiments.bar import bar
from experiments.tool_choice.data import SETS, data_folder, load, part_of
from router.decisions.certificate import COUNT_STARTS, FIXED_STARTS, GRID, find_threshold
from router.decisions.reliability import Labelled
from router.selectors.local import default_selector

__all__ = ["RULES", "broken_and_coverage", "local_decisions", "simulated"]

DELTA: Final = 0.10
BUCKET: Final = 0.05

Rule = Callable[[Labelled, float], float | None]


def raw(labelled: Labelled, alpha: float) -> float | None:
    """The loosest threshold of the grid whose observed error is at most alpha."""
    passed = None
    for t in GRID:
        accepted = labelled.score >= t
        if accepted.any() and (~labelled.right[accepted]).mean() <= alpha:
            passed = t
    return passed


def by_bucket(labelled: Labelled, alpha: float) -> float | None:
    """The loosest edge such that in every bucket above it the observed error is at most alpha."""
    passed = None
    for i in range(1, round(1 / BUCKET) + 1):
        low = 1.0 - i * BUCKET
        inside = (labelled.score >= low) & (labelled.score < low + BUCKET + (i == 1))
        if inside.any() and (~labelled.right[inside]).mean() > alpha:
            break
        passed = low if inside.any() or passed is not None else None
    return passed


def rule_of(starts: tuple[float, ...] | None, counts: tuple[float, ...] = COUNT_STARTS) -> Rule:
    """Learn-then-test from these scores; None: from these counts."""
    return lambda labelled, alpha: (
        find_threshold(labelled, alpha, DELTA, starts=starts, counts_from=counts).threshold
    )


RULES: Final[dict[str, Rule]] = {
    "observed error <= alpha": raw,
    "every bucket <= alpha": by_bucket,
    "learn-then-test, one start .99": rule_of((0.99,)),
    "learn-then-test, four starts": rule_of(FIXED_STARTS),
    "learn-then-test, four counts": rule_of(None, (1.5, 3.0, 6.0, 12.0)),
    "learn-then-test, one count (ours)": rule_of(None),
}


def simulated(temperature: float, n: int = 20_000, seed: int = 1) -> Labelled:
    """Decisions whose true probabilities are the stated ones at this temperature (2: flatter)."""
    generator = np.random.default_rng(seed)
    stated = generator.beta(4.0, 1.2, n)
    logit = np.log(stated / (1.0 - stated)) / temperature
    right = generator.random(n) < 1.0 / (1.0 + np.exp(-logit))
    return Labelled(stated, right, [str(i) for i in range(n)])


def local_decisions(sources: Sequence[str] = SETS) -> Labelled | None:
    """Picks of the local selector on the report part of the sets, or None where they are absent."""
    folder = data_folder()
    if folder is None:
        return None
    selector = default_selector()
    score, right, session = [], [], []
    for problem in load(folder, sources):
        if part_of(problem) == "fit":
            continue
        found = selector.select_now(problem.state, problem.tools)
        if found.tool is None:
            continue
        score.append(found.probabilities[found.tool])
        gold = None if problem.gold is None else problem.tools[problem.gold].name
        right.append(found.tool == gold)
        session.append(problem.group)
    return Labelled(np.array(score), np.array(right), session)


def broken_and_coverage(
    population: Labelled, rule: Rule, labels: int, alpha: float, *, splits: int, seed: int = 0
) -> dict[str, float]:
    """Share of draws that break the promise, that certify nothing, and the mean coverage."""
    generator = np.random.default_rng(seed)
    broken = none = 0
    coverage = 0.0
    for _ in range(splits):
        rows = generator.integers(0, len(population), labels)
        drawn = Labelled(population.score[rows], population.right[rows], [""] * labels)
        threshold = rule(drawn, alpha)
        if threshold is None:
            none += 1
            continue
        accepted = population.score >= threshold
        coverage += float(accepted.mean())
        broken += bool(accepted.any() and (~population.right[accepted]).mean() > alpha)
    return {"broken": broken / splits, "none": none / splits, "coverage": coverage / splits}


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--splits", default=400, show_default=True, help="Draws of labels.")
@click.option("--labels", multiple=True, type=int, default=(100, 200, 400), show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON list.")
def main(splits: int, labels: tuple[int, ...], as_json: bool) -> None:
    """Do certified thresholds keep their promise, and how much do they let through?"""
    populations = {
        "simulated, calibrated": simulated(1.0),
        "simulated, overconfident": simulated(2.0),
    }
    real = {"live_multiple": ("bfcl_live_multiple",), "all sets": SETS}
    for name, sources in real.items():
        decisions = local_decisions(sources)
        if decisions is None:
            click.echo(f"{name}: skipped, ../shared/data/tool_choice is not here", err=True)
        else:
            populations[f"local selector, {name}"] = decisions
    rows: list[dict[str, Any]] = []
    cells = [
        (name, alpha, count, rule)
        for name in populations
        for alpha in (0.10, 0.05)
        for count in labels
        for rule in RULES
    ]
    with bar() as progress:
        for name, alpha, count, rule in progress.track(cells, description="draws"):
            found = broken_and_coverage(populations[name], RULES[rule], count, alpha, splits=splits)
            rows.append(
                {"population": name, "alpha": alpha, "labels": count, "rule": rule, **found}
            )
    if as_json:
        click.echo(json.dumps(rows, indent=1))
        return
    table = Table("population", "alpha", "labels", "rule", "broken", "none", "coverage")
    for row in rows:
        shares = (f"{row[name]:.3f}" for name in ("broken", "none", "coverage"))
        table.add_row(
            row["population"], f"{row['alpha']:.2f}", str(row["labels"]), row["rule"], *shares
        )
    Console().print(table)


if __name__ == "__main__":
    main()
