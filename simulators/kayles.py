"""Kayles: rows of pins; a move takes one or two neighbours, and who takes the last pin wins."""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from mcts_core.config import MAX_COUNT, check_int
from mcts_core.errors import ConfigError
from mcts_core.simulator import SimulatedStep

__all__ = ["Kayles", "KaylesMove", "KaylesState", "grundy"]


class KaylesState(NamedTuple):
    """Who moves, 0 or 1, and the lengths of the rows, each at least 1, in rising order."""

    mover: int
    rows: tuple[int, ...]


class KaylesMove(NamedTuple):
    """From a row of ``row`` pins take ``took``, so that ``left`` of them stay on the short side."""

    row: int
    left: int
    took: int


@cache
def grundy(row: int) -> int:
    """The Grundy value of one row: the least number that no move's result has (Guy & Smith 1956,
    "The G-values of various games"). Known: 0 1 2 3 1 4 3 2 1 4 2 6 ..., with period 12 from 71 on.
    """
    reached = {
        grundy(left) ^ grundy(row - took - left)
        for took in (1, 2)
        for left in range((row - took) // 2 + 1)
        if row >= took
    }
    return next(value for value in range(len(reached) + 1) if value not in reached)


class Kayles:
    """A zero-sum game of two players; the last move pays 1 (Berlekamp, Conway & Guy, "Winning
    Ways", chapter 4). Known: ``known_value``, by the Sprague-Grundy theorem.

    Args:
        rows: the lengths of the rows, each 0 or more. ``ConfigError`` if there are none, or one is
            out of range.
    """

    def __init__(self, rows: Sequence[int] = (5, 4)) -> None:
        if not rows:
            raise ConfigError("rows", rows, "at least one row")
        for i, row in enumerate(rows):
            check_int(f"rows[{i}]", row, 0, MAX_COUNT)
        self._start = KaylesState(0, tuple(sorted(row for row in rows if row)))

    def initial(self) -> KaylesState:
        """All pins stand; player 0 moves."""
        return self._start

    def player(self, state: KaylesState) -> int:
        """Who moves."""
        return state.mover

    def actions(self, state: KaylesState) -> Sequence[KaylesMove]:
        """Moves of equal result are offered once; none where no pin stands."""
        return [
            KaylesMove(row, left, took)
            for row in dict.fromkeys(state.rows)
            for took in (1, 2)
            for left in range((row - took) // 2 + 1)
            if row >= took
        ]

    def step(self, state: KaylesState, action: KaylesMove) -> SimulatedStep[KaylesState]:
        """Take the pins; ``ValueError`` if there is no such move."""
        if action not in self.actions(state):
            raise ValueError(f"no move {action!r} in {state!r}")
        rest = list(state.rows)
        rest.remove(action.row)
        parts = (action.left, action.row - action.took - action.left)
        rows = tuple(sorted((*rest, *(part for part in parts if part))))
        return SimulatedStep(KaylesState(1 - state.mover, rows), 0.0 if rows else 1.0, not rows)

    def evaluate(self, state: KaylesState) -> float:
        """0.0: the last move has paid."""
        return 0.0

    def known_value(self, state: KaylesState) -> float:
        """1 if the xor of the rows' Grundy values is not 0, -1 if it is, 0 where no pin stands."""
        xor = 0
        for row in state.rows:
            xor ^= grundy(row)
        return (1.0 if xor else -1.0) if state.rows else 0.0
