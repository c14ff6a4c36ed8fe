"""Worlds for one player whose values are known, with and without chance.

Games for two players stand in ``games.py``. All of these are pure: a step returns a new state.
The last step has already paid, so ``evaluate`` is 0.0 everywhere, also where a world has ended.
"""

import math
from collections.abc import Sequence
from typing import ClassVar, Final, Literal

from mcts_core.config import check_int, check_real
from mcts_core.errors import ConfigError
from mcts_core.simulator import Outcome, SimulatedStep

__all__ = ["LAKE_4X4", "LAKE_8X8", "Bandit", "Chain", "ChainAction", "FrozenLake"]

ChainAction = Literal["stop", "go on"]

LAKE_4X4: Final = (
    "SFFF",
    "FHFH",
    "FFFH",
    "HFFG",
)
LAKE_8X8: Final = (
    "SFFFFFFF",
    "FFFFFFFF",
    "FFFHFFFF",
    "FFFFFHFF",
    "FFFHFFFF",
    "FHHFFFHF",
    "FHFFHFHF",
    "FFFHFFFG",
)


class Chain:
    """Links 0 to length - 1: at each "stop" pays ``early_reward``, or "go on"; the last one pays.

    "go on" at the last link pays ``final_reward``. Both ends lead to state ``length``. A search
    that trusts what it sees early stops early: a plain form of the chain on which UCT needs time
    beyond any bound (Coquelin & Munos 2007, "Bandit algorithms for tree search", where the early
    rewards rise along the chain). Known in closed form: ``known_value``.

    Args:
        length: number of links, 1 or more.
        early_reward: what stopping pays, finite.
        final_reward: what going on to the end pays, finite. ``ConfigError`` if out of range.
    """

    def __init__(
        self, length: int = 10, early_reward: float = 0.1, final_reward: float = 1.0
    ) -> None:
        check_int("length", length, 1, 2**31 - 2)
        check_real("early_reward", early_reward, -math.inf, math.inf)
        check_real("final_reward", final_reward, -math.inf, math.inf)
        self.length = length
        self.early_reward, self.final_reward = float(early_reward), float(final_reward)

    def initial(self) -> int:
        """Link 0."""
        return 0

    def actions(self, state: int) -> Sequence[ChainAction]:
        """Stop or go on at each link; none at the end."""
        return ("stop", "go on") if state < self.length else ()

    def step(self, state: int, action: ChainAction) -> SimulatedStep[int]:
        """Stop, or go one link on; ``ValueError`` for anything else, or at the end."""
        if action not in self.actions(state):
            raise ValueError(f"no action {action!r} at link {state!r}")
        if action == "stop":
            return SimulatedStep(self.length, self.early_reward, True)
        last = state == self.length - 1
        return SimulatedStep(state + 1, self.final_reward if last else 0.0, last)

    def evaluate(self, state: int) -> float:
        """0.0: the last step has paid."""
        return 0.0

    def known_value(self, state: int = 0, discount: float = 1.0) -> float:
        """Value of link ``state`` without horizon: stop now, stop last, or go to the end.

        With k = length - 1 - state more links, max(early, discount**k * max(early, final)): what
        stopping pays after j links, discount**j * early, is monotone in j.
        """
        if state >= self.length:
            return 0.0
        at_last = max(self.early_reward, self.final_reward)
        return max(self.early_reward, discount ** (self.length - 1 - state) * at_last)


class Bandit:
    """One pull of one of k arms: arm i pays means[i] + spread or means[i] - spread, 1/2 each.

    Known: the value is the greatest mean, and the arm that has it is best; the regret of a
    search against it is what Auer, Cesa-Bianchi & Fischer 2002 bound for UCB1.

    Args:
        means: at least one arm, finite.
        spread: >= 0; 0 makes the rewards certain. ``ConfigError`` if out of range.
    """

    def __init__(self, means: Sequence[float] = (0.2, 0.5, 0.8), spread: float = 0.5) -> None:
        if not means:
            raise ConfigError("means", means, "at least one arm")
        for arm, mean in enumerate(means):
            check_real(f"means[{arm}]", mean, -math.inf, math.inf)
        check_real("spread", spread, 0.0, math.inf)
        self.means, self.spread = tuple(float(mean) for mean in means), float(spread)

    def initial(self) -> int:
        """State 0: before the pull; state 1 comes after it."""
        return 0

    def actions(self, state: int) -> Sequence[int]:
        """The arms, 0 to k - 1; none after the pull."""
        return tuple(range(len(self.means))) if state == 0 else ()

    def outcomes(self, state: int, action: int) -> Sequence[Outcome[int]]:
        """The two rewards of an arm, one if they are equal; ``ValueError`` for any other arm."""
        if action not in self.actions(state):
            raise ValueError(f"no arm {action!r} in state {state!r}")
        mean = self.means[action]
        rewards = (mean - self.spread, mean + self.spread) if self.spread else (mean,)
        return tuple(Outcome(1 / len(rewards), SimulatedStep(1, r, True)) for r in rewards)

    def evaluate(self, state: int) -> float:
        """0.0: the pull has paid."""
        return 0.0

    def known_value(self) -> float:
        """The greatest mean."""
        return max(self.means)

    def best_arm(self) -> int:
        """The arm with the greatest mean, the first of equals."""
        return self.means.index(self.known_value())


class FrozenLake:
    """Walk from S over frozen F to the goal G, which pays 1; a hole H ends the walk and pays 0.

    The world of Gymnasium's FrozenLake-v1 (Towers et al. 2024; first in OpenAI Gym, Brockman et
    al. 2016), written anew. A state is the cell row * columns + column; actions are left 0, down
    1, right 2, up 3; walking against the border stays. On slippery ice each step goes in the
    chosen direction or in one of the two perpendicular ones, 1/3 each; outcomes that end in the
    same cell are merged into one. Known for slippery ice, by value iteration (``solve``):
    LAKE_4X4 0.74419 within 100 steps and 14/17 = 0.82353 without limit, LAKE_8X8 0.91322 within
    200 steps; on ice that is not slippery 1, in 6 and in 14 steps.

    Args:
        rows: equal rows of S, F, H and G with one S; ``ConfigError`` otherwise.
        slippery: whether steps slip.
    """

    MOVES: ClassVar[tuple[tuple[int, int], ...]] = ((0, -1), (1, 0), (0, 1), (-1, 0))

    def __init__(self, rows: Sequence[str] = LAKE_4X4, slippery: bool = True) -> None:
        cells = "".join(rows)
        if len({len(row) for row in rows}) != 1 or set(cells) - set("SFHG"):
            raise ConfigError("rows", rows, "equal rows of the letters S, F, H and G")
        if cells.count("S") != 1:
            raise ConfigError("rows", rows, "exactly one start S")
        self.rows, self.slippery = tuple(rows), slippery
        self._cells, self._columns = cells, len(rows[0])
        slips = (-1, 0, 1) if slippery else (0,)
        self._outcomes = {
            (cell, action): self._merge([self._walk(cell, (action + slip) % 4) for slip in slips])
            for cell in range(len(cells))
            for action in self.actions(cell)
        }

    def initial(self) -> int:
        """The cell of S."""
        return self._cells.index("S")

    def actions(self, state: int) -> Sequence[int]:
        """Left 0, down 1, right 2, up 3; none in a hole or at the goal."""
        return () if self._cells[state] in "HG" else (0, 1, 2, 3)

    def outcomes(self, state: int, action: int) -> Sequence[Outcome[int]]:
        """The cells that a step may reach; ``ValueError`` if there is no such step."""
        if (state, action) not in self._outcomes:
            raise ValueError(f"no action {action!r} in cell {state!r}")
        return self._outcomes[state, action]

    def evaluate(self, state: int) -> float:
        """0.0: the step to the goal has paid."""
        return 0.0

    def solve(self, horizon: int, discount: float = 1.0) -> float:
        """Exact value of the start within ``horizon`` steps, by backward induction.

        Without discount, the chance to reach the goal; O(cells * horizon).
        """
        values = [0.0] * len(self._cells)
        for _ in range(horizon):
            values = [self._backup(cell, values, discount) for cell in range(len(values))]
        return values[self.initial()]

    def _backup(self, cell: int, values: list[float], discount: float) -> float:
        """Bellman's step: the best expectation over the actions of ``cell``."""
        expectations = [
            sum(
                o.probability * (o.step.reward + discount * values[o.step.state])
                for o in self._outcomes[cell, action]
            )
            for action in self.actions(cell)
        ]
        return max(expectations, default=0.0)

    def _walk(self, cell: int, direction: int) -> int:
        row, column = divmod(cell, self._columns)
        down, right = self.MOVES[direction]
        row = min(max(row + down, 0), len(self.rows) - 1)
        column = min(max(column + right, 0), self._columns - 1)
        return row * self._columns + column

    def _merge(self, reached: list[int]) -> tuple[Outcome[int], ...]:
        """One outcome per distinct cell, in the order first reached."""
        return tuple(
            Outcome(
                reached.count(cell) / len(reached),
                SimulatedStep(cell, float(self._cells[cell] == "G"), self._cells[cell] in "HG"),
            )
            for cell in dict.fromkeys(reached)
        )
