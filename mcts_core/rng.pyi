from typing import final

@final
class SplitMix64:
    """A stream of random numbers (Steele, Lea & Flood 2014, "Fast splittable PRNGs")."""

    def __init__(self, seed: int) -> None: ...
    def next_u64(self) -> int:
        """The next 64 bits, 0 to 2**64 - 1."""
    def uniform(self) -> float:
        """A float in [0, 1), 53 random bits."""
    def below(self, n: int) -> int:
        """An integer in [0, n). Raises ValueError unless n >= 1."""
