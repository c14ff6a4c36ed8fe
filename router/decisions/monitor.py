"""The monitor: withdraws a certificate when the live error leaves its bound.

A betting test of "the error rate is at most alpha" (Waudby-Smith & Ramdas 2024, Estimating means of
bounded random variables by betting, sec. 4): a gambler whose wealth cannot be expected to grow
while the hypothesis holds. By Ville's inequality it ever reaches 1/delta with probability at most
delta, so it may be looked at after every label.
"""

import math
from dataclasses import dataclass, replace
from typing import Any, Final

from mcts_core.config import check_real

__all__ = ["Monitor"]

BETS: Final = (0.25, 0.5, 1.0, 2.0, 4.0)
"""Stakes that share the initial wealth; each wins most at its own excess of the error rate."""


@dataclass(frozen=True, slots=True)
class Monitor:
    """The state of the test; a new one for each label, so that it can be kept and replayed.

    Attributes:
        alpha: error rate that was promised, above 0, below 1.
        delta: probability of a false alarm, ever.
        logs: logarithm of the wealth of each bet.
        n, errors: labels seen.
        alarmed: the wealth has reached 1/delta: withdraw the certificate. It stays so.
    """

    alpha: float
    delta: float = 0.05
    logs: tuple[float, ...] = (0.0,) * len(BETS)
    n: int = 0
    errors: int = 0
    alarmed: bool = False

    def __post_init__(self) -> None:
        check_real("alpha", self.alpha, 0.0, 0.99, open_low=True)
        check_real("delta", self.delta, 0.0, 1.0, open_low=True)

    @property
    def log_wealth(self) -> float:
        """ln of the mean wealth of the bets."""
        top = max(self.logs)
        return top + math.log(math.fsum(math.exp(x - top) for x in self.logs) / len(self.logs))

    def after(self, right: bool) -> "Monitor":
        """The state after one more label of an accepted decision."""
        x = 0.0 if right else 1.0
        stakes = (min(bet, 0.9 / self.alpha) for bet in BETS)
        logs = tuple(
            log + math.log1p(stake * (x - self.alpha))
            for log, stake in zip(self.logs, stakes, strict=True)
        )
        new = replace(self, logs=logs, n=self.n + 1, errors=self.errors + (not right))
        return replace(new, alarmed=self.alarmed or new.log_wealth >= -math.log(self.delta))

    def as_json(self) -> dict[str, Any]:
        """For a file."""
        return {
            "alpha": self.alpha,
            "delta": self.delta,
            "logs": list(self.logs),
            "n": self.n,
            "errors": self.errors,
            "alarmed": self.alarmed,
        }

    @classmethod
    def from_json(cls, kept: dict[str, Any]) -> "Monitor":
        """What ``as_json`` wrote."""
        return cls(**{**kept, "logs": tuple(kept["logs"])})
