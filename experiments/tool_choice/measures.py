"""Figures of a selector: ranks, areas, calibration, with intervals."""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

__all__ = ["area", "calibration_error", "error_if_calibrated", "interval"]

Floats = npt.NDArray[np.float64]


def area(low: Floats, high: Floats) -> float:
    """P(a value of ``high`` is above one of ``low``), ties half: the area under the ROC curve."""
    values, inverse = np.unique(np.concatenate([low, high]), return_inverse=True)
    counts = np.bincount(inverse[: len(low)], minlength=len(values))
    below = np.cumsum(counts) - counts
    own = inverse[len(low) :]
    return float((below[own] + 0.5 * counts[own]).mean() / len(low))


def calibration_error(
    probabilities: Floats, right: Floats, bins: int = 15, equal_mass: bool = True
) -> float:
    """Expected calibration error: sum_b n_b / n |mean p - share right|, in bins of p.

    Bins of equal mass (as many items each) or of equal width.
    """
    order = np.argsort(probabilities, kind="stable")
    if equal_mass:
        parts = np.array_split(order, bins)
    else:
        place = np.minimum((probabilities[order] * bins).astype(int), bins - 1)
        parts = [order[place == b] for b in range(bins)]
    gaps = [
        len(part) * abs(probabilities[part].mean() - right[part].mean())
        for part in parts
        if len(part)
    ]
    return float(sum(gaps) / len(probabilities))


def error_if_calibrated(
    probabilities: Floats, bins: int = 15, equal_mass: bool = True, draws: int = 500
) -> float:
    """Mean calibration error that these probabilities would show if each were exactly right.

    With n items and b bins a perfect forecaster shows about sqrt(2 p (1-p) b / (pi n)), not 0.
    """
    chance = np.random.default_rng(0)
    errors = [
        calibration_error(
            probabilities,
            (chance.random(len(probabilities)) < probabilities).astype(float),
            bins,
            equal_mass,
        )
        for _ in range(draws)
    ]
    return float(np.mean(errors))


def interval(
    groups: Sequence[str], figure: Callable[[npt.NDArray[np.int64]], float], draws: int = 500
) -> tuple[float, float]:
    """95 % bootstrap interval of ``figure`` (of rows), whole groups drawn with replacement."""
    names = sorted(set(groups))
    index = {name: k for k, name in enumerate(names)}
    members: list[list[int]] = [[] for _ in names]
    for row, group in enumerate(groups):
        members[index[group]].append(row)
    chance = np.random.default_rng(0)
    found = []
    for _ in range(draws):
        drawn = chance.integers(len(names), size=len(names))
        rows = np.array([row for k in drawn for row in members[k]], dtype=np.int64)
        found.append(figure(rows))
    low, high = np.percentile(found, [2.5, 97.5])
    return float(low), float(high)
