"""Maps from stated to observed probability: temperature for few labels, isotonic for many."""

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from router.decisions.reliability import CLIP, Labelled

__all__ = ["IDENTITY_MAP", "ProbabilityMap", "fit_isotonic", "fit_map", "fit_temperature"]

Floats = npt.NDArray[np.float64]

ENOUGH_FOR_ISOTONIC: Final = 200
"""Labels from which on a free monotone map beats one parameter."""


@dataclass(frozen=True, slots=True)
class ProbabilityMap:
    """A monotone map of [0, 1] into itself.

    Attributes:
        kind: "identity", "temperature" or "isotonic".
        temperature: T of sigma(logit(p) / T); 1 unless ``kind`` is "temperature".
        at, to: knots of the isotonic map, rising; between them it is linear.
        n: labels that it was fitted on.
    """

    kind: str
    temperature: float = 1.0
    at: tuple[float, ...] = ()
    to: tuple[float, ...] = ()
    n: int = 0

    def __call__(self, score: Floats) -> Floats:
        """[n] calibrated probabilities of [n] stated ones."""
        if self.kind == "temperature":
            return _sigmoid(_logit(score) / self.temperature)
        if self.kind == "isotonic":
            return np.interp(score, self.at, self.to)
        return np.asarray(score, dtype=float)

    def as_json(self) -> dict[str, Any]:
        """For a file."""
        return {
            "kind": self.kind,
            "temperature": self.temperature,
            "at": list(self.at),
            "to": list(self.to),
            "n": self.n,
        }

    @classmethod
    def from_json(cls, kept: dict[str, Any]) -> "ProbabilityMap":
        """What ``as_json`` wrote."""
        return cls(**{**kept, "at": tuple(kept["at"]), "to": tuple(kept["to"])})


IDENTITY_MAP: Final = ProbabilityMap("identity")


def fit_map(labelled: Labelled) -> ProbabilityMap:
    """The map that the amount of labels allows: none below 20, temperature below 200, isotonic."""
    if len(labelled) < 20 or labelled.right.all() or not labelled.right.any():
        return IDENTITY_MAP
    few = len(labelled) < ENOUGH_FOR_ISOTONIC
    return fit_temperature(labelled) if few else fit_isotonic(labelled)


def fit_temperature(labelled: Labelled) -> ProbabilityMap:
    """T of greatest likelihood of sigma(logit(p) / T), Guo et al. 2017 for two classes.

    The likelihood is concave in 1/T, so a golden-section search over ln T finds it.
    """
    logits, right = _logit(labelled.score), labelled.right

    def loss(log_t: float) -> float:
        z = logits * math.exp(-log_t)
        return float(np.mean(np.logaddexp(0.0, np.where(right, -z, z))))

    low, high, golden = math.log(0.05), math.log(20.0), (math.sqrt(5.0) - 1.0) / 2.0
    for _ in range(80):
        a, b = high - golden * (high - low), low + golden * (high - low)
        if loss(a) <= loss(b):
            high = b
        else:
            low = a
    return ProbabilityMap("temperature", math.exp((low + high) / 2.0), n=len(labelled))


def fit_isotonic(labelled: Labelled) -> ProbabilityMap:
    """The rising map of least squares: pool adjacent violators (Ayer et al. 1955)."""
    order = np.argsort(labelled.score, kind="stable")
    score, first = np.unique(labelled.score[order], return_index=True)
    sums = np.add.reduceat(labelled.right[order].astype(float), first)
    counts = np.diff(np.append(first, len(order))).astype(float)
    blocks: list[tuple[float, float, int]] = []  # sum, count, distinct scores
    for total, count in zip(sums, counts, strict=True):
        blocks.append((float(total), float(count), 1))
        while len(blocks) > 1 and blocks[-2][0] * blocks[-1][1] >= blocks[-1][0] * blocks[-2][1]:
            b, a = blocks.pop(), blocks.pop()
            blocks.append((a[0] + b[0], a[1] + b[1], a[2] + b[2]))
    values = np.concatenate([np.full(size, total / count) for total, count, size in blocks])
    # Only the ends of flat stretches are knots.
    keep = np.ones(len(values), dtype=bool)
    keep[1:-1] = (values[1:-1] != values[:-2]) | (values[1:-1] != values[2:])
    at, to = score[keep], values[keep]
    return ProbabilityMap("isotonic", at=tuple(at.tolist()), to=tuple(to.tolist()), n=len(labelled))


def _logit(score: Floats) -> Floats:
    p = np.clip(score, CLIP, 1.0 - CLIP)
    result: Floats = np.log(p) - np.log1p(-p)
    return result


def _sigmoid(z: Floats) -> Floats:
    result: Floats = 1.0 / (1.0 + np.exp(-z))
    return result
