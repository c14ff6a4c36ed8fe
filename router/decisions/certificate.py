"""Thresholds that hold: learn-then-test on labelled decisions, and the receipt of such a test.

Angelopoulos, Bates, Candes, Jordan & Lei 2021, Learn then Test: the null at threshold t is "the
error among decisions with a score of at least t exceeds alpha". Thresholds are tested in an order
that is fixed before any label is seen, from strict to loose, each by Clopper and Pearson's bound,
until the first failure (fixed-sequence testing): so the chance that any accepted threshold breaks
its promise is at most delta. Several sequences share delta.
"""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from mcts_core.config import check_real
from router.decisions.bounds import certifies, least_n, upper_bound
from router.decisions.maps import IDENTITY_MAP, ProbabilityMap, fit_map
from router.decisions.reliability import Labelled
from router.models import RiskLevel

__all__ = [
    "ALPHA_BY_RISK",
    "FIXED_STARTS",
    "Certificate",
    "Finding",
    "Key",
    "Level",
    "certify",
    "find_threshold",
    "halves",
]

Level = Literal["options", "point", "source"]

GRID: Final = tuple(round(1.0 - i / 200.0, 3) for i in range(1, 200))
"""Thresholds that are tested, strict to loose: .995 to .005."""

FIXED_STARTS: Final = (0.99, 0.95, 0.90, 0.80)
"""Where sequences begin if they are to begin at scores instead of at counts."""

COUNT_STARTS: Final = (2.5,)
"""Where sequences begin: at the first t that accepts so many times ``least_n`` decisions. Counts
say nothing of labels, so the order stays fixed before any label is seen. One start at 2.5 let the
most through of those tried in ``experiments.certified_thresholds``."""

ALPHA_BY_RISK: Final[Mapping[RiskLevel, float | None]] = {
    RiskLevel.LOW: 0.10,
    RiskLevel.MEDIUM: 0.05,
    RiskLevel.HIGH: 0.01,
    RiskLevel.CRITICAL: None,
}
"""The error rate that is promised by risk of the picked tool; None: never alone."""

MOST_LABELS: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Key:
    """All that a threshold depends on; it is stale as soon as one of them changes.

    Attributes:
        point: decision point, e.g. "tool".
        source: what decided, e.g. "jev" or "local".
        model: build of the provider's model, or "".
        selector: version of the selector.
        prompt: digest of the question's words, or "".
        options: digest of the option set.
        risk: risk class of the picks.
    """

    point: str
    source: str
    model: str
    selector: str
    prompt: str
    options: str
    risk: RiskLevel

    def at(self, level: Level) -> tuple[str, ...]:
        """The fields that count at a level: all; all but the options; those of the source."""
        left_out: Mapping[Level, tuple[str, ...]] = {
            "options": (),
            "point": ("options",),
            "source": ("options", "point"),
        }
        kept = [f.name for f in fields(self) if f.name not in left_out[level]]
        return tuple(str(getattr(getattr(self, n), "value", getattr(self, n))) for n in kept)


@dataclass(frozen=True, slots=True)
class Finding:
    """What the test found.

    Attributes:
        threshold: the loosest that passed, or None: not certified.
        n, errors: decisions that it accepts in the data, and wrong ones among them.
        bound: upper bound on their error rate, at most alpha; 1 if not certified.
        coverage: share of the data that it accepts; 0 if not certified.
        more_labels: about how many more labels would certify some threshold if the error rates
            stay as they are; 0 if certified, None if no number would do.
    """

    threshold: float | None
    n: int = 0
    errors: int = 0
    bound: float = 1.0
    coverage: float = 0.0
    more_labels: int | None = 0


def find_threshold(
    labelled: Labelled,
    alpha: float,
    delta: float,
    *,
    starts: Sequence[float] | None = None,
    counts_from: Sequence[float] = COUNT_STARTS,
) -> Finding:
    """The loosest threshold whose error rate is at most ``alpha`` with probability 1 - ``delta``.

    Args:
        labelled: decisions drawn as the later ones will be; scores on the scale that the threshold
            will be compared with, fitted on other decisions.
        alpha: error rate to promise, above 0, below 1.
        delta: probability that the promise may be broken, above 0, below 1.
        starts: thresholds at which sequences begin; None: begin at counts.
        counts_from: those counts, as multiples of ``least_n``.

    Raises:
        ConfigError: ``alpha`` or ``delta`` is out of its range.
    """
    for name, value in (("alpha", alpha), ("delta", delta)):
        check_real(name, value, 0.0, 1.0, open_low=True)
    counts, errors = _by_threshold(labelled)
    level = delta / len(starts if starts is not None else counts_from)
    needed = least_n(alpha, level)
    if starts is not None:
        begins = [next((i for i, t in enumerate(GRID) if t <= s), len(GRID)) for s in starts]
    else:
        begins = [int(np.searchsorted(counts, math.ceil(x * needed))) for x in counts_from]
    best = None
    for begin in begins:
        for i in range(begin, len(GRID)):
            if not certifies(int(errors[i]), int(counts[i]), alpha, level):
                break
            best = i if best is None else max(best, i)
    if best is None:
        return Finding(None, more_labels=_more_labels(counts, errors, alpha, level))
    n, wrong = int(counts[best]), int(errors[best])
    bound = upper_bound(wrong, n, level)
    return Finding(GRID[best], n, wrong, bound, n / len(labelled))


def _by_threshold(labelled: Labelled) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Accepted decisions and errors among them at each threshold of the grid."""
    order = np.argsort(-labelled.score, kind="stable")
    score, wrong = labelled.score[order], ~labelled.right[order]
    counts = np.searchsorted(-score, [-t for t in GRID], side="right")
    total = np.concatenate([[0], np.cumsum(wrong)])
    return counts.astype(np.int64), total[counts].astype(np.int64)


def _more_labels(
    counts: npt.NDArray[np.int64], errors: npt.NDArray[np.int64], alpha: float, level: float
) -> int | None:
    """Labels missing at the threshold that needs the fewest, if its error rate stays."""
    total = max(int(counts[-1]), 1)
    best: int | None = None
    for n, wrong in {(int(n), int(k)) for n, k in zip(counts, errors, strict=True) if n}:
        rate = wrong / n
        if rate >= alpha:
            continue
        wanted = _enough(rate, alpha, level)
        if wanted is not None:
            missing = max(math.ceil((wanted - n) * total / n), 1)
            best = missing if best is None else min(best, missing)
    if best is None and not counts.any():
        return least_n(alpha, level)
    return best


def _enough(rate: float, alpha: float, level: float) -> int | None:
    """Accepted decisions from which on an error rate of ``rate`` certifies ``alpha``."""
    low, high = 1, 1
    while not certifies(math.ceil(rate * high), high, alpha, level):
        low, high = high, high * 2
        if high > MOST_LABELS:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        if certifies(math.ceil(rate * middle), middle, alpha, level):
            high = middle
        else:
            low = middle
    return high


@dataclass(frozen=True, slots=True)
class Certificate:
    """A threshold with its promise: of decisions like those it was tested on, picks with a score
    of at least ``threshold`` are wrong at most ``alpha`` of the time, unless the draw of the data
    was one of the unlucky ``delta``.

    Attributes:
        key: what it depends on.
        level: how far decisions were pooled; see ``Key.at``.
        finding: what the test found; ``finding.threshold`` None: act alone never.
        alpha, delta: the promise.
        map: from stated to calibrated probability, fitted on other sessions.
        sessions: digest of the sessions that it was tested on.
        labels: decisions that it was tested on.
        created: unix time in seconds.
    """

    key: Key
    level: Level
    finding: Finding
    alpha: float
    delta: float
    map: ProbabilityMap = IDENTITY_MAP
    sessions: str = ""
    labels: int = 0
    created: float = 0.0
    id: str = field(init=False, default="")

    def __post_init__(self) -> None:
        body = {k: v for k, v in self.as_json().items() if k not in ("id", "created")}
        text = json.dumps(body, sort_keys=True)
        object.__setattr__(self, "id", hashlib.sha256(text.encode()).hexdigest()[:16])

    def applies_to(self, key: Key) -> bool:
        """Does it hold for decisions of ``key``? If not it is stale for them."""
        return self.key.at(self.level) == key.at(self.level)

    def accepts(self, score: float) -> bool:
        """May a pick of this stated probability be acted on alone?"""
        threshold = self.finding.threshold
        if threshold is None:
            return False
        return float(self.map(np.array([score]))[0]) >= threshold

    def as_json(self) -> dict[str, Any]:
        """For a file."""
        key = {**asdict(self.key), "risk": self.key.risk.value}
        finding = asdict(self.finding)
        rest = {n: getattr(self, n) for n in ("level", "alpha", "delta", "sessions", "labels")}
        return {
            "id": self.id,
            "key": key,
            "finding": finding,
            "map": self.map.as_json(),
            "created": self.created,
            **rest,
        }

    @classmethod
    def from_json(cls, kept: dict[str, Any]) -> "Certificate":
        """What ``as_json`` wrote.

        Raises:
            ValueError: its id is not that of its content.
        """
        rest = {k: v for k, v in kept.items() if k not in ("id", "key", "finding", "map")}
        made = cls(
            key=Key(**{**kept["key"], "risk": RiskLevel(kept["key"]["risk"])}),
            finding=Finding(**kept["finding"]),
            map=ProbabilityMap.from_json(kept["map"]),
            **rest,
        )
        if made.id != kept["id"]:
            raise ValueError(f"certificate: got id {kept['id']!r}, its content has {made.id!r}")
        return made


def halves(labelled: Labelled, salt: str = "") -> tuple[Labelled, Labelled]:
    """Two parts by a hash of the session: one to fit a map on, the other to test thresholds on."""
    first = np.array([_parity(name, salt) for name in labelled.session], dtype=bool)
    return labelled.take(first), labelled.take(~first)


def _parity(session: str, salt: str) -> bool:
    return hashlib.sha256(f"{salt}:{session}".encode()).digest()[0] % 2 == 0


def certify(
    labelled: Labelled,
    key: Key,
    *,
    level: Level = "options",
    alpha: float | None = None,
    delta: float = 0.10,
    created: float = 0.0,
) -> Certificate:
    """Fit a map on one half of the sessions and test thresholds on the other.

    Args:
        labelled: decisions of ``key`` at ``level`` whose end is known.
        key: what they have in common.
        level: how far they were pooled.
        alpha: error rate to promise; None: that of the risk class (``ALPHA_BY_RISK``); of critical
            risk nothing is ever certified.
        delta: probability that the promise may be broken.
        created: unix time.
    """
    promised = ALPHA_BY_RISK[key.risk] if alpha is None else alpha
    fitting, testing = halves(labelled)
    fitted = fit_map(fitting)
    if promised is None or key.risk is RiskLevel.CRITICAL:
        finding, promised = Finding(None, more_labels=None), 0.0
    else:
        mapped = Labelled(fitted(testing.score), testing.right, testing.session)
        finding = find_threshold(mapped, promised, delta)
    names = "\n".join(sorted(set(testing.session)))
    return Certificate(
        key=key,
        level=level,
        finding=finding,
        alpha=promised,
        delta=delta,
        map=fitted,
        sessions=hashlib.sha256(names.encode()).hexdigest()[:16],
        labels=len(testing),
        created=created,
    )
