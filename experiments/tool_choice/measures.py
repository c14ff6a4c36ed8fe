"""Figures of a selector: ranks, areas, calibration, with intervals."""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from router.decisions.reliability import Binning, area_under_roc, expected_calibration_error

__all__ = ["area", "calibration_error", "error_if_calibrated", "interval"]

Floats = npt.NDArray[np.float64]


def area(low: Floats, high: Floats) -> float:
    """P(a value of ``high`` is above one of ``low``), ties half: the area under the ROC curve."""
    above = np.repeat([False, True], [len(low), len(high)])
    return area_under_roc(np.concatenate([low, high]), above)


def calibration_error(
    probabilities: Floats, right: Floats, bins: int = 15, equal_mass: bool = True
) -> float:
    """``expected_calibration_error`` in bins of equal mass or of equal width."""
    binning: Binning = "mass" if equal_mass else "width"
    return expected_calibration_error(probabilities, right, bins, binning)


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
