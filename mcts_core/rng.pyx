"""The engine's random generator for Python: the same stream as inside the search."""

cimport cython

from mcts_core import config


@cython.final
cdef class SplitMix64:
    """A stream of random numbers (Steele, Lea & Flood 2014, "Fast splittable PRNGs")."""

    def __init__(self, seed):
        config.check_int("seed", seed, 0, config.MAX_SEED)
        self.state = seed

    def next_u64(self):
        """The next 64 bits, 0 to 2**64 - 1."""
        return next_u64(&self.state)

    def uniform(self):
        """A float in [0, 1), 53 random bits."""
        return uniform(&self.state)

    def below(self, int32_t n):
        """An integer in [0, n). Raises ValueError unless n >= 1."""
        if n < 1:
            raise ValueError(f"n: got {n}, wanted at least 1")
        return below(&self.state, n)
