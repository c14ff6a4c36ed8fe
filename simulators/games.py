"""Board games for two players whose values are known: worlds to check a search against.

One-player and chance worlds stand in ``puzzles.py``. All of these are zero sum and pure: a
step returns a new state, and a reward belongs to the player who moved. The last step has
already paid, so ``evaluate`` is 0.0 everywhere, also where a game has ended.
"""

from collections.abc import Hashable, Sequence
from typing import ClassVar, NamedTuple, TypeVar

from mcts_core.config import MAX_SEED, check_int
from mcts_core.errors import ConfigError
from mcts_core.reference import SplitMix64
from mcts_core.simulator import SimulatedStep, TwoPlayerSimulator

__all__ = ["ConnectFour", "Nim", "NimState", "PGame", "PState", "Stones", "TicTacToe", "negamax"]

S = TypeVar("S")
A = TypeVar("A", bound=Hashable)

Stones = tuple[int, int]
"""The stones of player 0 and of player 1, one bit per square."""


def negamax(game: TwoPlayerSimulator[S, A], state: S, memo: dict[S, float] | None = None) -> float:
    """Exact undiscounted value of ``state`` for the player who moves there.

    Visits every state below ``state`` once (Knuth & Moore 1975, "An analysis of alpha-beta
    pruning", procedure F, with a table). For small, finite games without cycles; the longest
    line of play must fit Python's recursion limit.

    Args:
        game: a deterministic simulator with hashable states.
        state: where to begin.
        memo: values found so far, filled in place; None for a fresh table.
    """
    memo = {} if memo is None else memo
    if state in memo:
        return memo[state]
    best: float | None = None
    for action in game.actions(state):
        step = game.step(state, action)
        below = game.evaluate(step.state) if step.terminal else negamax(game, step.state, memo)
        same = game.player(step.state) == game.player(state)
        worth = step.reward + (below if same else -below)
        best = worth if best is None else max(best, worth)
    memo[state] = game.evaluate(state) if best is None else best
    return memo[state]


class _StoneGame:
    """Players put stones on free squares in turn; the first who completes a line wins +1."""

    board: ClassVar[int]

    def initial(self) -> Stones:
        """The empty board; player 0 moves first."""
        return 0, 0

    def player(self, state: Stones) -> int:
        """Who moves: 0 after an even number of stones, else 1."""
        return (state[0] | state[1]).bit_count() & 1

    def evaluate(self, state: Stones) -> float:
        """0.0: the winning step has paid."""
        return 0.0

    def line(self, stones: int) -> bool:
        """Whether these stones hold a winning line."""
        raise NotImplementedError

    def ended(self, state: Stones) -> bool:
        """Whether the player who moved last has won, or the board is full."""
        full = state[0] | state[1] == self.board
        return full or self.line(state[1 - self.player(state)])

    def _put(self, state: Stones, stone: int) -> SimulatedStep[Stones]:
        mover = self.player(state)
        mine = state[mover] | stone
        after = (state[0], mine) if mover else (mine, state[1])
        won = self.line(mine)
        full = after[0] | after[1] == self.board
        return SimulatedStep(after, 1.0 if won else 0.0, won or full)


class TicTacToe(_StoneGame):
    """Noughts and crosses: three in a row on 3 x 3. Square r * 3 + c is bit and action r * 3 + c.

    Known: a draw, value 0 from the empty board; 255,168 games can be played (Bottomley 2001, "How
    many tic-tac-toe (noughts and crosses) games are possible?") through 5,478 positions, the
    empty board and the ended games included (both counted in tests/simulators/test_games.py).
    """

    board: ClassVar[int] = 0o777
    LINES: ClassVar[tuple[int, ...]] = (
        *(0o007, 0o070, 0o700),
        *(0o111, 0o222, 0o444),
        *(0o421, 0o124),
    )

    def line(self, stones: int) -> bool:
        """Whether three of these stones stand in a row."""
        return any(stones & line == line for line in self.LINES)

    def actions(self, state: Stones) -> Sequence[int]:
        """The free squares, 0 to 8; none once the game has ended."""
        if self.ended(state):
            return ()
        taken = state[0] | state[1]
        return tuple(square for square in range(9) if not taken >> square & 1)

    def step(self, state: Stones, action: int) -> SimulatedStep[Stones]:
        """Put a stone on a free square; ``ValueError`` if it is not free or the game has ended."""
        if action not in self.actions(state):
            raise ValueError(f"square {action!r} is not free in {state!r}")
        return self._put(state, 1 << action)

    def solve(self, state: Stones | None = None) -> float:
        """Exact value for the mover, -1, 0 or 1, from ``state`` (None: the empty board)."""
        return negamax(self, self.initial() if state is None else state)


class ConnectFour(_StoneGame):
    """Four in a row on 7 columns of 6. Column c, height h is bit 7 * c + h; an action is a column.

    The seventh bit of each column stays empty, so that a line cannot wrap around the edge (Tromp,
    Fhourstones). Known: the first player wins by beginning in the middle column 3 (Allen 1988;
    Allis 1988, "A knowledge-based approach of connect-four"); positions after 0, 1, 2... stones:
    1, 7, 49, 238, 1120, 4263, 16422 (Tromp, OEIS A212693). Too large to solve here.
    """

    COLUMNS: ClassVar[int] = 7
    ROWS: ClassVar[int] = 6
    board: ClassVar[int] = sum(0b111111 << 7 * column for column in range(7))

    def line(self, stones: int) -> bool:
        """Whether four of these stones stand in a row: up, across or on either diagonal."""
        for shift in (1, 7, 6, 8):
            pairs = stones & stones >> shift
            if pairs & pairs >> 2 * shift:
                return True
        return False

    def actions(self, state: Stones) -> Sequence[int]:
        """The columns with room, 0 to 6; none once the game has ended."""
        if self.ended(state):
            return ()
        taken = state[0] | state[1]
        return tuple(column for column in range(7) if not taken >> 7 * column + 5 & 1)

    def step(self, state: Stones, action: int) -> SimulatedStep[Stones]:
        """Drop a stone; ``ValueError`` if the column has no room or the game has ended."""
        if action not in self.actions(state):
            raise ValueError(f"column {action!r} has no room in {state!r}")
        taken = state[0] | state[1]
        floor = 1 << 7 * action
        return self._put(state, (taken + floor) & ~taken & (0b111111 << 7 * action))


class NimState(NamedTuple):
    """Who moves (0 or 1), and the size of each heap."""

    mover: int
    heaps: tuple[int, ...]


class Nim:
    """Normal play: take one or more from one heap; who takes the last one wins +1.

    Known: the mover wins exactly if the xor of the heap sizes is not 0 (Bouton 1901, "Nim, a
    game with a complete mathematical theory"); ``known_value`` states it, ``solve`` searches it.

    Args:
        heaps: at least one heap, each of 0 or more; ``ConfigError`` otherwise.
    """

    def __init__(self, heaps: Sequence[int] = (3, 4, 5)) -> None:
        if not heaps:
            raise ConfigError("heaps", heaps, "at least one heap")
        for place, heap in enumerate(heaps):
            check_int(f"heaps[{place}]", heap, 0, 2**31 - 1)
        self.heaps = tuple(heaps)

    def initial(self) -> NimState:
        """The given heaps; player 0 moves first."""
        return NimState(0, self.heaps)

    def player(self, state: NimState) -> int:
        """Who moves."""
        return state.mover

    def actions(self, state: NimState) -> Sequence[tuple[int, int]]:
        """All (heap, how many to take from it)."""
        return tuple((h, n) for h, size in enumerate(state.heaps) for n in range(1, size + 1))

    def step(self, state: NimState, action: tuple[int, int]) -> SimulatedStep[NimState]:
        """Take from a heap; ``ValueError`` if it does not hold as many."""
        heap, count = action
        if not 0 <= heap < len(state.heaps) or not 1 <= count <= state.heaps[heap]:
            raise ValueError(f"cannot take {action!r} from {state.heaps!r}")
        heaps = tuple(size - count * (h == heap) for h, size in enumerate(state.heaps))
        won = not any(heaps)
        return SimulatedStep(NimState(1 - state.mover, heaps), 1.0 if won else 0.0, won)

    def evaluate(self, state: NimState) -> float:
        """0.0: the winning step has paid."""
        return 0.0

    def known_value(self, state: NimState) -> float:
        """Bouton's theorem: 1 if the xor is not 0, -1 if it is, 0 where nothing is left."""
        xor = 0
        for size in state.heaps:
            xor ^= size
        return (1.0 if xor else -1.0) if any(state.heaps) else 0.0

    def solve(self, state: NimState | None = None) -> float:
        """The same by search, without the theorem (None: from the initial heaps)."""
        return negamax(self, self.initial() if state is None else state)


class PState(NamedTuple):
    """Moves made, the number of the node in its level, and the sum of the moves' values."""

    depth: int
    node: int
    total: int


class PGame:
    """A random game tree, won by the sign of the sum of its moves' values.

    MAX (player 0) and MIN alternate for ``depth`` moves. A move of MAX adds an integer drawn
    uniformly from 0 to 127, one of MIN from -127 to 0; at the end MAX wins if the sum is
    positive, MIN if it is negative, and 0 is a draw (Kocsis & Szepesvari 2006, "Bandit based
    Monte-Carlo planning", section 3.1, after Smith & Nau 1994). Values come from a hash of the
    node, so no table is stored and any size is playable. Known: ``solve``, by full-width search.

    Args:
        branching: moves per node, 1 or more.
        depth: moves per game, 1 or more.
        seed: which tree, 0 to 2**64 - 1. ``ConfigError`` if an argument is out of range.
    """

    def __init__(self, branching: int = 2, depth: int = 10, seed: int = 0) -> None:
        check_int("branching", branching, 1, 2**31 - 1)
        check_int("depth", depth, 1, 2**31 - 1)
        check_int("seed", seed, 0, MAX_SEED)
        self.branching, self.depth, self.seed = branching, depth, seed
        self._actions = tuple(range(branching))
        self._salt = SplitMix64(seed).next_u64()

    def initial(self) -> PState:
        """The root; MAX moves."""
        return PState(0, 0, 0)

    def player(self, state: PState) -> int:
        """0 for MAX, at even depth, else 1."""
        return state.depth & 1

    def actions(self, state: PState) -> Sequence[int]:
        """0 to branching - 1; none at the end."""
        return self._actions if state.depth < self.depth else ()

    def step(self, state: PState, action: int) -> SimulatedStep[PState]:
        """Add the move's value; the last move pays its mover 1, 0 or -1.

        ``ValueError`` if there is no such move, or the game has ended.
        """
        if action not in self.actions(state):
            raise ValueError(f"no move {action!r} in {state!r}")
        after = self._child(state, action)
        if after.depth < self.depth:
            return SimulatedStep(after)
        return SimulatedStep(after, float(self._outcome(after, state.depth & 1)), True)

    def evaluate(self, state: PState) -> float:
        """0.0: the last move has paid."""
        return 0.0

    def solve(self, state: PState | None = None) -> int:
        """Exact value for the mover, -1, 0 or 1 (None: from the root), by alpha-beta."""
        start = self.initial() if state is None else state
        return self._alpha_beta(start, -1, 1) if start.depth < self.depth else 0

    def _child(self, state: PState, action: int) -> PState:
        node = state.node * self.branching + action
        random = SplitMix64(self._salt ^ SplitMix64(node).next_u64() ^ state.depth)
        value = random.below(128)
        return PState(state.depth + 1, node, state.total + (-value if state.depth & 1 else value))

    def _outcome(self, leaf: PState, player: int) -> int:
        """1, 0 or -1: the end of the game as ``player`` sees it."""
        sign = (leaf.total > 0) - (leaf.total < 0)
        return -sign if player else sign

    def _alpha_beta(self, state: PState, alpha: int, beta: int) -> int:
        """Value for the mover, exact in (alpha, beta), else a bound (Knuth & Moore 1975)."""
        if state.depth == self.depth:
            return self._outcome(state, self.player(state))
        best = -1
        for action in self._actions:
            child = self._child(state, action)
            best = max(best, -self._alpha_beta(child, -beta, -max(alpha, best)))
            if best >= beta:
                break
        return best
