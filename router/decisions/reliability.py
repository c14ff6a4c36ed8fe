"""How far stated confidence can be trusted: buckets, calibration error, scores, risk curve."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from router.decisions.bounds import lower_bound, upper_bound

__all__ = [
    "Binning",
    "Bucket",
    "CalibrationError",
    "Labelled",
    "area_under_roc",
    "auroc",
    "brier",
    "buckets",
    "calibration_error",
    "expected_calibration_error",
    "log_loss",
    "risk_by_coverage",
]

Floats = npt.NDArray[np.float64]
Binning = Literal["width", "mass"]

CLIP: Final = 0.005
"""Providers round to two decimals: a stated 0 or 1 means no less and no more than this."""


@dataclass(frozen=True, slots=True)
class Labelled:
    """Decisions whose end is known.

    Attributes:
        score: [n] calibrated probability that was stated of each pick, 0 to 1.
        right: [n] whether it was right.
        session: n names; decisions of one session are never on both sides of a split.
    """

    score: Floats
    right: npt.NDArray[np.bool_]
    session: Sequence[str]

    def __post_init__(self) -> None:
        if not len(self.score) == len(self.right) == len(self.session):
            sizes = (len(self.score), len(self.right), len(self.session))
            raise ValueError(f"score, right, session: got lengths {sizes}, wanted equal ones")
        if len(self.score) and not (np.isfinite(self.score).all() and self._in_range()):
            raise ValueError("score: wanted finite numbers from 0 to 1")

    def _in_range(self) -> bool:
        return bool(self.score.min() >= 0.0 and self.score.max() <= 1.0)

    def __len__(self) -> int:
        """How many."""
        return len(self.score)

    def take(self, chosen: npt.NDArray[np.bool_]) -> "Labelled":
        """Those where ``chosen`` [n] is true."""
        names = [name for name, kept in zip(self.session, chosen, strict=True) if kept]
        return Labelled(self.score[chosen], self.right[chosen], names)


@dataclass(frozen=True, slots=True)
class Bucket:
    """One bar of a reliability diagram.

    Attributes:
        n: decisions.
        stated: mean stated probability.
        observed: share of right ones.
        low, high: 95 % interval of the share (Clopper and Pearson).
    """

    n: int
    stated: float
    observed: float
    low: float
    high: float


def buckets(labelled: Labelled, count: int = 15, binning: Binning = "mass") -> list[Bucket]:
    """Buckets of equal width or of equal mass, those without a decision left out."""
    found = []
    for chosen in _bins(labelled.score, count, binning):
        n = len(chosen)
        right = int(labelled.right[chosen].sum())
        found.append(
            Bucket(
                n,
                float(labelled.score[chosen].mean()),
                right / n,
                lower_bound(right, n, 0.025),
                upper_bound(right, n, 0.025),
            )
        )
    return found


def _bins(score: Floats, count: int, binning: Binning) -> list[npt.NDArray[np.int64]]:
    """Indices by bucket."""
    if binning == "mass":
        parts = np.array_split(np.argsort(score, kind="stable"), count)
    else:
        place = np.minimum((score * count).astype(np.int64), count - 1)
        parts = [np.flatnonzero(place == i) for i in range(count)]
    return [part for part in parts if len(part)]


@dataclass(frozen=True, slots=True)
class CalibrationError:
    """Expected calibration error.

    Attributes:
        value: sum over buckets of their share times |stated - observed| (Naeini et al. 2015).
        low, high: 95 % bootstrap interval over sessions.
        if_calibrated: mean value that perfectly calibrated decisions with these scores would show:
            with few of them it is far from 0.
    """

    value: float
    low: float
    high: float
    if_calibrated: float


def calibration_error(
    labelled: Labelled,
    count: int = 15,
    binning: Binning = "mass",
    *,
    resamples: int = 500,
    seed: int = 0,
) -> CalibrationError:
    """Expected calibration error with its interval.

    Args:
        labelled: at least one decision.
        count: buckets, >= 1.
        binning: of equal width or of equal mass.
        resamples: of the bootstrap.
        seed: of the bootstrap.
    """
    generator = np.random.default_rng(seed)
    right = labelled.right.astype(float)
    value = expected_calibration_error(labelled.score, right, count, binning)
    names = np.unique(np.array(labelled.session, dtype=object).astype(str), return_inverse=True)[1]
    members = [np.flatnonzero(names == i) for i in range(int(names.max()) + 1)]
    drawn = []
    for _ in range(resamples):
        chosen = generator.integers(0, len(members), len(members))
        rows = np.concatenate([members[i] for i in chosen])
        drawn.append(expected_calibration_error(labelled.score[rows], right[rows], count, binning))
    ideal = [
        expected_calibration_error(
            labelled.score,
            (generator.random(len(labelled)) < labelled.score).astype(float),
            count,
            binning,
        )
        for _ in range(resamples)
    ]
    low, high = np.quantile(drawn, [0.025, 0.975])
    return CalibrationError(value, float(low), float(high), float(np.mean(ideal)))


def expected_calibration_error(score: Floats, right: Floats, count: int, binning: Binning) -> float:
    """sum_b n_b / n |mean score - share right| over buckets b (Naeini et al. 2015).

    Args:
        score: [n] stated probabilities, n > 0.
        right: [n] 1 for right, 0 for wrong.
        count: buckets.
        binning: of equal width or of equal mass.
    """
    gaps = [
        len(chosen) * abs(float(score[chosen].mean() - right[chosen].mean()))
        for chosen in _bins(score, count, binning)
    ]
    return sum(gaps) / len(score)


def brier(labelled: Labelled) -> float:
    """Mean squared difference of stated probability and outcome (Brier 1950), 0 to 1."""
    return float(np.mean((labelled.score - labelled.right) ** 2))


def log_loss(labelled: Labelled) -> float:
    """Mean -ln of the probability stated of what came, clipped at .005 and .995."""
    p = np.clip(labelled.score, CLIP, 1.0 - CLIP)
    return float(-np.mean(np.where(labelled.right, np.log(p), np.log1p(-p))))


def auroc(labelled: Labelled) -> float:
    """``area_under_roc`` of right against wrong decisions."""
    return area_under_roc(labelled.score, labelled.right)


def area_under_roc(score: Floats, right: npt.NDArray[np.bool_]) -> float:
    """Probability that a right one of [n] has a higher score than a wrong one, ties half (Hanley &
    McNeil 1982); NaN where all are right or all wrong. Scores may be any numbers.
    """
    k = int(right.sum())
    if k in (0, len(right)):
        return float("nan")
    _, place, times = np.unique(score, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(times) - (times - 1) / 2.0)[place]
    return float((ranks[right].sum() - k * (k + 1) / 2.0) / (k * (len(right) - k)))


def risk_by_coverage(labelled: Labelled) -> tuple[Floats, Floats, float]:
    """Error among the surest decisions, for each share of them that is accepted.

    Returns:
        coverage: [n] 1/n to 1.
        risk: [n] share of errors among the surest coverage * n decisions.
        area: mean of risk (AURC; Geifman & El-Yaniv 2017).
    """
    n = len(labelled)
    order = np.argsort(-labelled.score, kind="stable")
    accepted = np.arange(1, n + 1)
    risk = np.cumsum(~labelled.right[order]) / accepted
    return accepted / n, risk, float(risk.mean()) if n else 0.0
