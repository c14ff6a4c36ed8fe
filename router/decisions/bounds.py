"""Exact bounds on a share from counts: Clopper and Pearson's, without scipy."""

import math
from typing import Final

from mcts_core.config import check_int, check_real

__all__ = ["certifies", "least_n", "lower_bound", "upper_bound"]

STEPS: Final = 60
"""Halvings of [0, 1]: far below rounding."""


def upper_bound(errors: int, n: int, delta: float) -> float:
    """The least upper bound on an error rate that holds with probability 1 - ``delta``.

    Clopper & Pearson 1934: the p at which P(X <= errors; n, p) = delta, X binomial; 1 if all are
    errors or n is 0.

    Args:
        errors: 0 to n.
        n: trials, >= 0.
        delta: above 0, below 1.

    Raises:
        ConfigError: one of them is out of its range.
    """
    _check(errors, n, delta)
    if errors == n:
        return 1.0
    low, high = errors / n, 1.0
    for _ in range(STEPS):
        middle = (low + high) / 2.0
        if _tail(errors, n, middle) > delta:
            low = middle
        else:
            high = middle
    return high


def lower_bound(errors: int, n: int, delta: float) -> float:
    """The greatest lower bound likewise: 1 - the upper bound on the share of the others."""
    _check(errors, n, delta)
    return 1.0 - upper_bound(n - errors, n, delta) if n else 0.0


def certifies(errors: int, n: int, alpha: float, delta: float) -> bool:
    """Is ``upper_bound(errors, n, delta)`` at most ``alpha``? In one step: P(X <= errors; n, alpha)
    is at most delta.
    """
    _check(errors, n, delta)
    check_real("alpha", alpha, 0.0, 1.0)
    return alpha == 1.0 or (errors < n and _tail(errors, n, alpha) <= delta)


def least_n(alpha: float, delta: float) -> int:
    """How many trials without an error certify a rate of at most ``alpha``.

    ceil(ln delta / ln(1 - alpha)): (1 - alpha)^n <= delta.
    """
    check_real("alpha", alpha, 0.0, 1.0, open_low=True)
    check_real("delta", delta, 0.0, 1.0, open_low=True)
    if alpha == 1.0 or delta == 1.0:
        return 0
    return math.ceil(math.log(delta) / math.log1p(-alpha) - 1e-9)


def _check(errors: int, n: int, delta: float) -> None:
    check_int("n", n, 0, 2**53)
    check_int("errors", errors, 0, n)
    check_real("delta", delta, 0.0, 1.0, open_low=True)


def _tail(k: int, n: int, p: float) -> float:
    """P(X <= k) of a binomial X, its terms summed from the largest down, each by its ratio."""
    if p <= 0.0:
        return 1.0
    if p >= 1.0:
        return 0.0
    top = min(k, int((n + 1) * p))
    log_top = (
        math.lgamma(n + 1)
        - math.lgamma(top + 1)
        - math.lgamma(n - top + 1)
        + top * math.log(p)
        + (n - top) * math.log1p(-p)
    )
    odds = p / (1.0 - p)
    total = term = 1.0
    for i in range(top, 0, -1):  # below the largest
        term *= i / ((n - i + 1) * odds)
        total += term
        if term < total * 1e-17:
            break
    term = 1.0
    for i in range(top, k):  # above it, up to k
        term *= (n - i) * odds / (i + 1)
        total += term
        if term < total * 1e-17:
            break
    return min(math.exp(log_top) * total, 1.0)
