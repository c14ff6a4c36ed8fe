"""Explicit models as arrays: made from a Python simulator by walking it, or from dense matrices.

The arrays are those of ``mcts_core.simulator.ExplicitModel``: state s owns the choices
``action_offsets[s]:action_offsets[s+1]``, choice c the outcomes
``outcome_offsets[c]:outcome_offsets[c+1]``.
"""

import math
from array import array
from collections import deque
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

from mcts_core.config import MAX_COUNT, check_int
from mcts_core.errors import ModelError, ModelTooLargeError, NonFiniteError, SimulatorError
from mcts_core.simulator import Outcome, SimulatedStep, Simulator, StochasticSimulator
from simulators.tabular import TabularModel

__all__ = ["Enumerated", "from_dense", "tabulate"]

S = TypeVar("S")
A = TypeVar("A", bound=Hashable)

TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Enumerated(Generic[S, A]):
    """A finite world as arrays: an ``ExplicitModel`` that remembers what its numbers stand for.

    S states, C choices (state-action pairs), E outcomes.

    Attributes:
        action_offsets: int32 [S+1], from 0 to C.
        outcome_offsets: int32 [C+1], from 0 to E.
        next_state: int32 [E], 0 to S-1.
        reward: float64 [E], finite, for the player who moved.
        probability: float64 [E], > 0, sums to 1 within 1e-9 for each choice.
        terminal: uint8 [E], 1 where the step ends the world.
        value: float64 [S], finite: ``evaluate`` of each state, for its player to move.
        player: int8 [S], 0 or 1: who moves.
        states: [S] the states themselves; index 0 is the root of ``tabulate``.
        actions: [S] the actions of each state, in the order of its choices.
    """

    action_offsets: npt.NDArray[np.int32]
    outcome_offsets: npt.NDArray[np.int32]
    next_state: npt.NDArray[np.int32]
    reward: npt.NDArray[np.float64]
    probability: npt.NDArray[np.float64]
    terminal: npt.NDArray[np.uint8]
    value: npt.NDArray[np.float64]
    player: npt.NDArray[np.int8]
    states: tuple[S, ...]
    actions: tuple[tuple[A, ...], ...]

    def model(self) -> TabularModel:
        """The compiled model of these arrays, to search in or to solve; it knows the actions.

        Raises:
            ModelError: a reward or value exceeds the largest magnitude that the engine takes.
        """
        return TabularModel(
            self.action_offsets,
            self.outcome_offsets,
            self.next_state,
            self.reward,
            probability=self.probability,
            terminal=self.terminal,
            value=self.value,
            player=self.player,
            labels=[action for offered in self.actions for action in offered],
        )


def tabulate(
    simulator: Simulator[S, A] | StochasticSimulator[S, A], root: S, *, limit: int = 1_000_000
) -> Enumerated[S, A]:
    """Enumerate all states that can be reached from ``root``, breadth first.

    A state that only terminal steps reach gets no actions, as no search asks for them there. A
    ``player`` method makes it a game of two; without one, player 0 always moves. A simulator
    that has ``outcomes`` is asked for those, else for ``step``.

    Args:
        simulator: a simulator of plain methods (not async) with hashable states.
        root: where to begin; it becomes state 0.
        limit: most states, 1 or more.

    Raises:
        ConfigError: ``limit`` is out of range.
        ModelTooLargeError: there are more states than ``limit``, or more than 2**31 - 2 outcomes.
        SimulatorError: an action is offered twice, a distribution is empty or does not sum to
            1, or a player is neither 0 nor 1; the message names the state.
        NonFiniteError: a reward or an ``evaluate`` is NaN or infinite.
        TypeError: a state is not hashable. What the simulator itself raises passes through.
    """
    check_int("limit", limit, 1, MAX_COUNT)
    walk = _Walk(simulator, limit)
    walk.run(root)
    by_state = np.argsort(walk.choice_state, kind="stable")
    edge_order = np.argsort(walk.edge_state, kind="stable")
    return Enumerated(
        action_offsets=_offsets(np.bincount(walk.choice_state, minlength=len(walk.states))),
        outcome_offsets=_offsets(np.array(walk.choice_size, np.int64)[by_state]),
        next_state=np.array(walk.next_state, np.int32)[edge_order],
        reward=np.array(walk.reward, np.float64)[edge_order],
        probability=np.array(walk.probability, np.float64)[edge_order],
        terminal=np.array(walk.terminal, np.uint8)[edge_order],
        value=np.array([walk.value(state) for state in walk.states], np.float64),
        player=np.array([walk.player(state) for state in walk.states], np.int8),
        states=tuple(walk.states),
        actions=tuple(walk.actions),
    )


@dataclass(slots=True)
class _Walk(Generic[S, A]):
    """The walk of ``tabulate``: choices and outcomes in the order in which states were opened."""

    simulator: Simulator[S, A] | StochasticSimulator[S, A]
    limit: int
    number: dict[S, int] = field(default_factory=dict)
    states: list[S] = field(default_factory=list)
    actions: list[tuple[A, ...]] = field(default_factory=list)
    choice_state: "array[int]" = field(default_factory=lambda: array("i"))
    choice_size: "array[int]" = field(default_factory=lambda: array("i"))
    edge_state: "array[int]" = field(default_factory=lambda: array("i"))
    next_state: "array[int]" = field(default_factory=lambda: array("i"))
    reward: "array[float]" = field(default_factory=lambda: array("d"))
    probability: "array[float]" = field(default_factory=lambda: array("d"))
    terminal: "array[int]" = field(default_factory=lambda: array("b"))

    def run(self, root: S) -> None:
        """Open every state to which some step leads that does not end the world."""
        queue = deque([self.find(root)])
        opened = set(queue)
        while queue:
            for to in self.open(queue.popleft()):
                if to not in opened:
                    opened.add(to)
                    queue.append(to)

    def find(self, state: S) -> int:
        """The number of ``state``, a new one if it is new."""
        number = self.number.setdefault(state, len(self.states))
        if number == len(self.states):
            if number >= self.limit:
                raise ModelTooLargeError(f"more than {self.limit} states")
            self.states.append(state)
            self.actions.append(())
        return number

    def open(self, number: int) -> Iterator[int]:
        """Add the choices of a state; yield where they lead and go on."""
        state = self.states[number]
        actions = tuple(self.simulator.actions(state))
        if len(set(actions)) != len(actions):
            raise SimulatorError(f"an action is offered twice in state {state!r}: {actions!r}")
        self.actions[number] = actions
        for action in actions:
            distribution = self.distribution(state, action)
            self.choice_state.append(number)
            self.choice_size.append(len(distribution))
            for outcome in distribution:
                to = self.add(number, outcome)
                if not outcome.step.terminal:
                    yield to

    def distribution(self, state: S, action: A) -> Sequence[Outcome[S]]:
        """What ``action`` may lead to, checked."""
        place = f"action {action!r} in state {state!r}"
        distribution = _outcomes(self.simulator, state, action)
        probabilities = [outcome.probability for outcome in distribution]
        positive = all(p > 0.0 for p in probabilities)
        if not (positive and abs(math.fsum(probabilities) - 1.0) <= TOLERANCE):
            raise SimulatorError(f"{place}: probabilities {probabilities} do not sum to 1")
        for outcome in distribution:
            if not math.isfinite(outcome.step.reward):
                raise NonFiniteError(f"{place}: reward {outcome.step.reward!r}")
        return distribution

    def add(self, number: int, outcome: Outcome[S]) -> int:
        """Add one outcome of the state ``number``; return the number of the next state."""
        to = self.find(outcome.step.state)
        self.edge_state.append(number)
        self.next_state.append(to)
        self.reward.append(outcome.step.reward)
        self.probability.append(outcome.probability)
        self.terminal.append(bool(outcome.step.terminal))
        return to

    def value(self, state: S) -> float:
        """``evaluate``, checked."""
        value = self.simulator.evaluate(state)
        if not math.isfinite(value):
            raise NonFiniteError(f"evaluate of state {state!r} is {value!r}")
        return value

    def player(self, state: S) -> int:
        """Who moves, checked; 0 where the simulator knows of one player only."""
        ask = getattr(self.simulator, "player", None)
        player = 0 if ask is None else ask(state)
        if player not in (0, 1):
            raise SimulatorError(f"player of state {state!r} is {player!r}, wanted 0 or 1")
        return int(player)


def _outcomes(
    simulator: Simulator[S, A] | StochasticSimulator[S, A], state: S, action: A
) -> Sequence[Outcome[S]]:
    if hasattr(simulator, "outcomes"):
        return simulator.outcomes(state, action)
    step: SimulatedStep[S] = simulator.step(state, action)
    return (Outcome(1.0, step),)


def from_dense(
    transitions: npt.ArrayLike,
    rewards: npt.ArrayLike,
    *,
    terminal: npt.ArrayLike | None = None,
    value: npt.ArrayLike | None = None,
    player: npt.ArrayLike | None = None,
) -> Enumerated[int, int]:
    """The same arrays from dense matrices, for A actions and S states, as textbooks write them.

    Args:
        transitions: [A, S, S], transitions[a, s, t] = probability of t after a in s, >= 0. A row
            of zeros says that the action is not legal there; any other row sums to 1 within 1e-9.
        rewards: [A, S, S], by action, state and next state; or [S, A], by state and action.
            Finite where it is used.
        terminal: [S] truth values: a step into such a state ends the world, and the state
            itself gets no actions, whatever its rows say. None: no state is terminal.
        value: [S] what a state is worth where a search ends, finite. None: 0.0.
        player: [S] who moves, 0 or 1. None: 0.

    Returns:
        The arrays, with states 0 to S-1 and actions 0 to A-1.

    Raises:
        ModelError: an array has the wrong shape or a wrong entry; names array and index.
        ModelTooLargeError: there are more than 2**31 - 2 outcomes.
    """
    dense = np.asarray(transitions, np.float64)
    if dense.ndim != 3 or dense.shape[1] != dense.shape[2] or not dense.size:
        raise ModelError(f"transitions: shape {dense.shape}, wanted [A, S, S], not empty")
    size = dense.shape[1]
    ends = _per_state("terminal", False if terminal is None else terminal, size).astype(np.bool_)
    by_state = np.where(ends[:, None, None], 0.0, dense.transpose(1, 0, 2))
    _check_rows(by_state)
    fan = np.count_nonzero(by_state, axis=2)
    legal = fan > 0
    edges = np.nonzero(by_state)
    players = _per_state("player", 0 if player is None else player, size)
    _require("player", np.isin(players, (0, 1)), players, "0 or 1")
    return Enumerated(
        action_offsets=_offsets(legal.sum(axis=1)),
        outcome_offsets=_offsets(fan[legal]),
        next_state=edges[2].astype(np.int32),
        reward=_edge_rewards(rewards, edges, by_state.shape),
        probability=by_state[edges],
        terminal=ends[edges[2]].astype(np.uint8),
        value=_per_state("value", 0.0 if value is None else value, size),
        player=players.astype(np.int8),
        states=tuple(range(size)),
        actions=tuple(tuple(np.flatnonzero(row).tolist()) for row in legal),
    )


def _offsets(counts: npt.NDArray[np.integer]) -> npt.NDArray[np.int32]:
    """[n] counts to [n+1] offsets from 0."""
    offsets = np.concatenate(([0], np.cumsum(counts, dtype=np.int64)))
    if offsets[-1] > MAX_COUNT:
        raise ModelTooLargeError(f"{offsets[-1]} choices or outcomes, more than {MAX_COUNT}")
    return offsets.astype(np.int32)


def _per_state(name: str, given: npt.ArrayLike, size: int) -> npt.NDArray[np.float64]:
    """One finite number per state; a single one stands for all."""
    entries = np.asarray(given, np.float64)
    if entries.shape not in ((), (size,)):
        raise ModelError(f"{name}: shape {entries.shape}, wanted [{size}]")
    _require(name, np.isfinite(entries), entries, "finite")
    return np.broadcast_to(entries, (size,)).copy()


def _check_rows(by_state: npt.NDArray[np.float64]) -> None:
    """Each row [state, action] holds probabilities and sums to 1, or is all 0."""
    with np.errstate(invalid="ignore"):  # inf - inf
        totals = by_state.sum(axis=2)
    sums = (totals == 0.0) | (np.abs(totals - 1.0) <= TOLERANCE)
    good = np.logical_and(sums, np.all(by_state >= 0.0, axis=2))
    for state, action in np.argwhere(~good)[:1]:
        raise ModelError(
            f"transitions[{action}, {state}]: action {action} in state {state} has the "
            f"probabilities {by_state[state, action]}, wanted >= 0 and a sum of 1, or all 0"
        )


def _edge_rewards(
    rewards: npt.ArrayLike, edges: Sequence[npt.NDArray[np.intp]], shape: tuple[int, ...]
) -> npt.NDArray[np.float64]:
    """The reward of each outcome from [A, S, S] or [S, A]."""
    size, actions = shape[:2]
    state, action, to = edges
    dense = np.asarray(rewards, np.float64)
    if dense.shape not in ((actions, size, size), (size, actions)):
        wanted = f"[{actions}, {size}, {size}] or [{size}, {actions}]"
        raise ModelError(f"rewards: shape {dense.shape}, wanted {wanted}")
    used = dense[action, state, to] if dense.ndim == 3 else dense[state, action]
    for edge in np.flatnonzero(~np.isfinite(used))[:1]:
        raise ModelError(
            f"rewards: {used[edge]} for action {action[edge]} in state {state[edge]}, "
            "wanted a finite number"
        )
    return used


def _require(
    name: str, good: npt.NDArray[np.bool_], got: npt.NDArray[np.float64], wanted: str
) -> None:
    """``ModelError`` that names the first entry that is not good."""
    for place in np.argwhere(~good)[:1]:
        index = tuple(place.tolist())
        raise ModelError(f"{name}{list(index) or ''}: {got[index]}, wanted {wanted}")
