"""Temperature scaling: one exponent that makes stated probabilities match observed shares."""

import bisect
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from mcts_core.config import check_int, check_real

__all__ = ["IDENTITY", "Temperatures", "temper"]

FLOOR: Final = 0.005
"""Providers round to two decimals: a stated 0 means less than this."""


def temper(probabilities: Sequence[float], temperature: float) -> list[float]:
    """p_i^(1/T) / sum_j p_j^(1/T): temperature scaling (Guo et al. 2017, On Calibration of Modern
    Neural Networks, eq. 9) of stated probabilities instead of logits.

    Args:
        probabilities: at least one, each >= 0, with a sum > 0; values below 0.005 count as 0.005
            if T is not 1, since providers round to two decimals.
        temperature: T > 0; above 1 flattens, below 1 sharpens, 1 only normalises.
    """
    if temperature == 1.0:
        total = math.fsum(probabilities)
        return [p / total for p in probabilities]
    raised = [max(p, FLOOR) ** (1.0 / temperature) for p in probabilities]
    total = math.fsum(raised)
    return [p / total for p in raised]


@dataclass(frozen=True)
class Temperatures:
    """Temperatures by the number of options, "none fits" counted.

    A stated probability means another thing with 3 options than with 30, so each range of counts
    has its own temperature; a count between two entries takes the lower entry's, one below all
    entries the first's.

    Attributes:
        by_count: least number of options (>= 1) -> T (0.01 to 100).
        version: name of the map; part of a selector's version.
    """

    by_count: Mapping[int, float]
    version: str

    def __post_init__(self) -> None:
        for count, temperature in self.by_count.items():
            check_int("by_count", count, 1, 2**31)
            check_real(f"by_count[{count}]", temperature, 0.01, 100.0)

    def at(self, count: int) -> float:
        """The temperature for ``count`` options; 1 if the map is empty."""
        counts = sorted(self.by_count)
        if not counts:
            return 1.0
        return self.by_count[counts[max(bisect.bisect_right(counts, count) - 1, 0)]]


IDENTITY: Final = Temperatures({}, "uncalibrated")
"""Stated probabilities as they are, until a map has been fitted from records."""
