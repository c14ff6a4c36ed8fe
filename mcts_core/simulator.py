"""What a simulator is, seen from Python: the protocols, and the step that it returns."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

__all__ = [
    "EvaluateBatch",
    "ExplicitModel",
    "ManyPlayerSimulator",
    "ManyPlayerStep",
    "Outcome",
    "SimulatedStep",
    "Simulator",
    "StochasticSimulator",
    "TwoPlayerSimulator",
]

S = TypeVar("S")
A = TypeVar("A", bound=Hashable)


@dataclass(frozen=True, slots=True)
class SimulatedStep(Generic[S]):
    """One predicted step. Nothing real has happened.

    Attributes:
        state: the state after the step.
        reward: finite, any scale; seen by the player who moved.
        terminal: True if nothing follows. The state is then still asked for its ``evaluate``,
            as at every place where a search ends.
    """

    state: S
    reward: float = 0.0
    terminal: bool = False


@dataclass(frozen=True, slots=True)
class ManyPlayerStep(SimulatedStep[S]):
    """A step in a world of three players or more, for type checkers: a ``SimulatedStep`` with a
    sequence as ``reward`` does the same.

    Attributes:
        state: as in ``SimulatedStep``.
        reward: one number for each player, what they gain by the step, whoever moved.
        terminal: as in ``SimulatedStep``.
    """

    reward: Sequence[float] = ()  # type: ignore[assignment]  # not a float: each player has one


@dataclass(frozen=True, slots=True)
class Outcome(Generic[S]):
    """One of the things that a step may lead to.

    Attributes:
        probability: > 0; the probabilities of one (state, action) sum to 1 within 1e-9.
        step: what happens then.
    """

    probability: float
    step: SimulatedStep[S]


class Simulator(Protocol[S, A]):
    """A one-player world without side effects.

    Optional further method: ``priors(state, actions) -> Sequence[float]``, weights >= 0 for the
    actions in the same order (any positive sum; all zero means uniform).
    """

    def actions(self, state: S) -> Sequence[A]:
        """Legal actions, distinct, in a fixed order; empty where the world ends."""

    def step(self, state: S, action: A) -> SimulatedStep[S]:
        """The step that ``action`` leads to; the same for the same arguments."""

    def evaluate(self, state: S) -> float:
        """Estimate of the return from ``state`` on, for the player to move; finite."""


class TwoPlayerSimulator(Simulator[S, A], Protocol[S, A]):
    """A zero-sum world of two players: rewards and values are the mover's own."""

    def player(self, state: S) -> int:
        """Who moves at ``state``: 0 or 1."""


class ManyPlayerSimulator(Protocol[S, A]):
    """A world of three players or more, each of whom has rewards of their own and moves for the
    most of them (max^n: Luckhardt & Irani 1986).

    With chance it has ``outcomes`` instead of ``step``, as ``StochasticSimulator``, and its steps
    are of this kind. The values of a search are those of the player who moves. Values are proven
    and models solved (``SearchConfig.solver``, ``exact``) for one player or two only.
    """

    @property
    def players(self) -> int:
        """How many there are, 3 to 255; the same at all times."""

    def player(self, state: S) -> int:
        """Who moves at ``state``: 0 to ``players`` - 1; any of them where the world ends."""

    def actions(self, state: S) -> Sequence[A]:
        """As in ``Simulator``."""

    def step(self, state: S, action: A) -> SimulatedStep[S]:
        """As in ``Simulator``, with one reward for each player: a ``ManyPlayerStep``."""

    def evaluate(self, state: S) -> Sequence[float]:
        """Estimates of the return from ``state`` on, one for each player."""


class StochasticSimulator(Protocol[S, A]):
    """A world with chance whose distributions are known."""

    def actions(self, state: S) -> Sequence[A]:
        """As in ``Simulator``."""

    def outcomes(self, state: S, action: A) -> Sequence[Outcome[S]]:
        """All that ``action`` may lead to, at least one outcome."""

    def evaluate(self, state: S) -> float:
        """As in ``Simulator``."""


class EvaluateBatch(Protocol):
    """Estimates many leaves in one call, as a network does."""

    def __call__(self, states: Any, /) -> tuple[npt.ArrayLike | None, npt.ArrayLike]:
        """Estimate ``states``: [K] an array of the state dtype of a native simulator, else a list
        of states in the simulator's own terms; K from 1 to the batch size.

        Returns:
            priors: [K, A] weights >= 0, column a for the action number a: of a native simulator
                its own number, else its place in the order offered; what is not legal is ignored.
                None: the simulator's own prior, else uniform.
            values: [K] the estimated return for the player who moves, finite; with three players
                or more [K, players], for each of them.
        """


class ExplicitModel(Protocol):
    """A finite model as arrays. State s owns the choices ``action_offsets[s]:action_offsets[s+1]``,
    choice c owns the outcomes ``outcome_offsets[c]:outcome_offsets[c+1]``.

    S states, C choices (state-action pairs), E outcomes.
    """

    @property
    def action_offsets(self) -> npt.NDArray[np.int32]:
        """[S+1], from 0 to C, not decreasing."""

    @property
    def outcome_offsets(self) -> npt.NDArray[np.int32]:
        """[C+1], from 0 to E, strictly increasing: each choice has an outcome."""

    @property
    def next_state(self) -> npt.NDArray[np.int32]:
        """[E], 0 to S-1."""

    @property
    def probability(self) -> npt.NDArray[np.float64]:
        """[E], > 0, sums to 1 for each choice."""

    @property
    def reward(self) -> npt.NDArray[np.float64]:
        """[E], finite."""

    @property
    def terminal(self) -> npt.NDArray[np.uint8]:
        """[E], 1 where the step ends the world."""

    @property
    def value(self) -> npt.NDArray[np.float64]:
        """[S], finite: the estimate used where a search ends."""

    @property
    def player(self) -> npt.NDArray[np.int8]:
        """[S], 0 or 1: who moves."""
