"""The engine's random generator for numba functions: the stream that ``step`` draws from."""

from collections.abc import Callable
from typing import Any, Final, TypeVar, cast

import numba
import numpy as np
import numpy.typing as npt

__all__ = ["Rng", "below", "next_u64", "uniform"]

F = TypeVar("F", bound=Callable[..., Any])

Rng = npt.NDArray[np.uint64]
"""[1], the state of the generator: for ``uniform`` and ``below``."""

GOLDEN: Final = np.uint64(0x9E3779B97F4A7C15)
FIRST: Final = np.uint64(0xBF58476D1CE4E5B9)
SECOND: Final = np.uint64(0x94D049BB133111EB)


def _njit(function: F) -> F:
    """``numba.njit``, kept on disk where numba finds a folder that can be written."""
    try:
        return cast(F, numba.njit(cache=True)(function))
    except RuntimeError:
        return cast(F, numba.njit(function))


@_njit
def next_u64(rng: Rng) -> Any:
    """The next 64 bits of the engine's generator (SplitMix64); ``rng`` is what ``step`` gets."""
    rng[0] += GOLDEN
    z = rng[0]
    z = (z ^ (z >> np.uint64(30))) * FIRST
    z = (z ^ (z >> np.uint64(27))) * SECOND
    return z ^ (z >> np.uint64(31))


@_njit
def uniform(rng: Rng) -> float:
    """A float in [0, 1)."""
    return float(next_u64(rng) >> np.uint64(11)) * 2.0**-53


@_njit
def below(rng: Rng, n: int) -> int:
    """An integer in [0, n), 1 <= n < 2**31."""
    return int(((next_u64(rng) >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32))
