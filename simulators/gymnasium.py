"""Gymnasium environments as simulators: by transition table, by state setting, or by copies.

The package is an extra: ``pip install 'harness-router[gymnasium]'``. The environment that is given
is never stepped: a search runs in copies of it, or in a second environment that is set to a state.

An environment ends where it says ``terminated`` or ``truncated``, and where the ``TimeLimit``
wrapper around it would cut it off. All three count as terminal. A search that begins in the middle
of an episode has only the steps left that the episode has.
"""

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import numpy as np

from mcts_core.config import MAX_COUNT, MAX_SEED, check_int
from mcts_core.errors import SimulatorError
from mcts_core.reference import SplitMix64
from mcts_core.simulator import Outcome, SimulatedStep
from simulators.awaiting import short
from simulators.gymnasium_snapshots import (
    Env,
    checked,
    elapsed_steps,
    legal_actions,
    require_reset,
    second,
    step_limit,
    working_way,
)
from simulators.tabular import TabularModel

__all__ = [
    "SampledSimulator",
    "Snapshot",
    "SnapshotSimulator",
    "TableSimulator",
    "TableState",
    "from_gymnasium",
    "to_model",
]

Value = Callable[[Any], float]
"""Estimates the return from an observation on."""
Table = dict[int, dict[int, dict[tuple[int, float, bool], float]]]
"""state -> action -> (next state, reward, terminated) -> probability."""

CHECKED_EPISODES: Final = 4
CHECKED_STEPS: Final = 16


def from_gymnasium(
    env: Env,
    *,
    samples: int = 1,
    time_limit: bool = True,
    value: Value | None = None,
    seed: int | None = 0,
) -> "TableSimulator | SnapshotSimulator":
    """The simulator that suits ``env``, for ``PythonSimulator``; ``snapshot()`` is its root.

    A toy-text environment with a transition table ``P`` gives a ``TableSimulator``: chance with
    its exact distribution. Any other gives a ``SnapshotSimulator``, or a ``SampledSimulator``.

    Args:
        env: an environment with a ``Discrete`` action space, best before its episode begins: one
            that shares its world with its copies is found out by playing in them.
        samples: futures drawn for each action where there is no table, 1 or more. 1 is right
            where nothing is random; a search of a random world needs several, or it takes one
            possible future for the only one.
        time_limit: whether the limit of a ``TimeLimit`` wrapper ends the world.
        value: estimate for an observation where a search ends early; None: 0.0. A terminated
            state is always worth 0.0.
        seed: of the random futures, 0 to 2**64 - 1. None keeps the generator of the environment:
            the search then foresees what will really be drawn.

    Raises:
        ImportError: Gymnasium is not installed; names the extra.
        SimulatorError: not an environment, another action space than ``Discrete``, or no way to
            take snapshots works; says what was tried and what the author can do.
        ConfigError: ``samples`` or ``seed`` is out of range.
    """
    check_int("samples", samples, 1, MAX_COUNT)
    core = checked(env).core
    if _table_fault(core) is None:
        return TableSimulator(env, time_limit=time_limit, value=value)
    if samples == 1:
        return SnapshotSimulator(env, time_limit=time_limit, value=value, seed=seed)
    return SampledSimulator(env, samples, time_limit=time_limit, value=value, seed=seed)


def to_model(env: Env) -> TabularModel:
    """The transition table ``P`` of a toy-text environment as arrays, to search or to solve.

    State s is state s of the environment, so ``env.unwrapped.s`` is the root; there is no time
    limit (give it as the horizon), and every state is worth 0.0 where a search ends.

    Raises:
        ImportError: Gymnasium is not installed; names the extra.
        SimulatorError: the environment has no table, or does not follow it; says why.
        ModelError: the table is no model, say because probabilities do not sum to 1.
    """
    table = _required_table(checked(env).core)
    choices = [chances for state in range(max(table) + 1) for chances in table[state].values()]
    edges = [(p, *outcome) for chances in choices for outcome, p in chances.items()]
    return TabularModel(
        np.cumsum([0, *(len(table[state]) for state in range(max(table) + 1))]),
        np.cumsum([0, *map(len, choices)]),
        [to for _, to, _, _ in edges],
        [reward for _, _, reward, _ in edges],
        probability=[p for p, _, _, _ in edges],
        terminal=np.array([terminated for _, _, _, terminated in edges], np.uint8),
        labels=[action for state in range(max(table) + 1) for action in table[state]],
    )


# --- worlds with a transition table ---------------------------------------------------------------


class TableState(NamedTuple):
    """State number, steps taken (0 where no limit counts them), whether the world has ended."""

    number: int
    elapsed: int = 0
    ended: bool = False


class TableSimulator:
    """A toy-text environment by its table ``P``; outcomes that are alike are merged.

    Args and errors: as in ``from_gymnasium``; ``SimulatorError`` also where there is no table.
    """

    def __init__(self, env: Env, *, time_limit: bool = True, value: Value | None = None) -> None:
        self.env, self.value = env, value
        self._core, self._clock = checked(env)
        self._table = _required_table(self._core)
        self._actions = {state: tuple(offered) for state, offered in self._table.items()}
        self._limit = step_limit(self._clock) if time_limit else None

    def snapshot(self) -> TableState:
        """Where the environment stands now; ``SimulatorError`` before its first ``reset``."""
        require_reset(self.env)
        return TableState(int(self._core.s), elapsed_steps(self._clock) if self._limit else 0)

    def actions(self, state: TableState) -> Sequence[int]:
        """The actions of the table; none where the world has ended."""
        return () if state.ended else self._actions[state.number]

    def outcomes(self, state: TableState, action: int) -> list[Outcome[TableState]]:
        """The exact distribution; the step that reaches the time limit is terminal."""
        elapsed = state.elapsed + 1 if self._limit else 0
        late = self._limit is not None and elapsed >= self._limit
        return [
            Outcome(p, SimulatedStep(TableState(to, elapsed, ended), reward, ended or late))
            for (to, reward, ended), p in self._table[state.number][action].items()
        ]

    def evaluate(self, state: TableState) -> float:
        """``value`` of the state's number; 0.0 without one, or where the world has ended."""
        return 0.0 if self.value is None or state.ended else self.value(state.number)


def _read_table(core: Env) -> Table:
    """``P`` with equal outcomes merged, in the order first named, and impossible ones left out."""
    table: Table = {}
    for state, offered in core.P.items():
        for action, outcomes in offered.items():
            chances = table.setdefault(int(state), {}).setdefault(int(action), {})
            for p, to, reward, terminated in outcomes:
                outcome = (int(to), float(reward), bool(terminated))
                if p > 0.0:
                    chances[outcome] = chances.get(outcome, 0.0) + float(p)
    return table


def _required_table(core: Env) -> Table:
    fault = _table_fault(core)
    if fault is not None:
        raise SimulatorError(f"{short(core)}: {fault}, wanted a transition table P")
    return _read_table(core)


def _table_fault(core: Env) -> str | None:
    """Why the table of ``core`` cannot be used; None if it can."""
    if core is not core.unwrapped:
        return f"the wrapper {type(core).__name__} may change what P says"
    if not isinstance(getattr(core, "P", None), Mapping):
        return "no transition table P"
    if getattr(core, "fickle_passenger", False):
        return "P does not tell of the fickle passenger"
    table, walker = _read_table(core), second(core)
    if sorted(table) != list(range(len(table))):
        return "the states of P are not numbered from 0 on"
    for episode in range(CHECKED_EPISODES):
        walker.reset(seed=episode)
        for i in range(CHECKED_STEPS):
            before, offered = int(walker.s), tuple(table[int(walker.s)])
            action = offered[i % len(offered)]
            observation, reward, terminated, _, _ = walker.step(action)
            outcome = (int(walker.s), float(reward), bool(terminated))
            if outcome not in table[before][action] or int(observation) != outcome[0]:
                return f"a step with action {action} from state {before} does not follow P"
            if terminated:
                break
    return None


# --- worlds of which snapshots are taken ----------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """A state of a ``SnapshotSimulator``.

    Attributes:
        saved: the environment itself, or what its state getter returned.
        actions: what is legal: all of the space, or what ``info["action_mask"]`` admits.
        observation: what the step returned; None at the root, or if there is no ``value``.
        elapsed: steps taken in this episode.
        ended: True if the environment has terminated (not if it was cut off).
        stream: names the random future that led here.
    """

    saved: Any = field(repr=False)
    actions: tuple[int, ...]
    observation: Any = None
    elapsed: int = 0
    ended: bool = False
    stream: int = 0


class SnapshotSimulator:
    """An environment by snapshots of it. At a state the same action always does the same.

    Tried in this order: ``clone_state`` and ``restore_state``, ``get_state`` and ``set_state``,
    ``copy.deepcopy`` with the spaces shared, ``copy.deepcopy`` of everything. The first that passes
    a check is used: some episodes played by snapshots go as they go without. Wrappers that change
    actions or rewards are copied with the environment. By copies, a node of the tree holds a whole
    environment: some kilobytes, and some tens of microseconds a step.

    Args and errors: as in ``from_gymnasium``. One search at a time may use it.
    """

    def __init__(
        self,
        env: Env,
        *,
        time_limit: bool = True,
        value: Value | None = None,
        seed: int | None = 0,
    ) -> None:
        if seed is not None:
            check_int("seed", seed, 0, MAX_SEED)
        self.env, self.value, self.seed = env, value, seed
        self._core, self._clock = checked(env)
        self._limit = step_limit(self._clock) if time_limit else None
        self._way = working_way(self._core)

    def snapshot(self, info: Mapping[str, Any] | None = None) -> Snapshot:
        """Where the environment stands now; ``SimulatorError`` before its first ``reset``.

        Args:
            info: of the last step or reset, for its ``action_mask`` if it has one.
        """
        require_reset(self.env)
        saved, elapsed = self._way.save(self._core), elapsed_steps(self._clock)
        if self.seed is not None:
            env = self._way.load(saved)
            env.unwrapped.np_random = np.random.default_rng([self.seed, elapsed])
            saved = self._way.keep(env)
        legal = legal_actions(self._core, info or {})
        return Snapshot(saved, legal, elapsed=elapsed, stream=self.seed or 0)

    def actions(self, state: Snapshot) -> Sequence[int]:
        """The legal actions; none where the environment has terminated."""
        return () if state.ended else state.actions

    def step(self, state: Snapshot, action: int) -> SimulatedStep[Snapshot]:
        """One step of the environment from there; its state is left as it was."""
        return self._advance(self._way.load(state.saved), state, action, state.stream)

    def evaluate(self, state: Snapshot) -> float:
        """``value`` of the observation; 0.0 without one, or where the world has ended."""
        return 0.0 if self.value is None or state.ended else self.value(state.observation)

    def _advance(
        self, env: Env, state: Snapshot, action: int, stream: int
    ) -> SimulatedStep[Snapshot]:
        observation, reward, terminated, truncated, info = env.step(action)
        elapsed = state.elapsed + 1
        late = self._limit is not None and elapsed >= self._limit
        after = Snapshot(
            self._way.keep(env),
            legal_actions(self._core, info),
            None if self.value is None else copy.deepcopy(observation),
            elapsed,
            bool(terminated),
            stream,
        )
        return SimulatedStep(after, float(reward), bool(terminated or truncated or late))


class SampledSimulator(SnapshotSimulator):
    """The same with chance: each action has ``samples`` equally likely futures, drawn once.

    So a search plans for what may happen, not for one course of it (sparse sampling; Kearns,
    Mansour & Ng 2002). Futures differ in the environment's ``np_random``.

    Args and errors: as in ``from_gymnasium``.
    """

    def __init__(
        self,
        env: Env,
        samples: int,
        *,
        time_limit: bool = True,
        value: Value | None = None,
        seed: int | None = 0,
    ) -> None:
        check_int("samples", samples, 1, MAX_COUNT)
        super().__init__(env, time_limit=time_limit, value=value, seed=seed)
        self.samples = samples

    def outcomes(self, state: Snapshot, action: int) -> list[Outcome[Snapshot]]:
        """One step into each future; the same ones for the same state and action."""
        streams = SplitMix64(state.stream ^ SplitMix64(action).next_u64())
        return [
            Outcome(1.0 / self.samples, self._draw(state, action, streams.next_u64()))
            for _ in range(self.samples)
        ]

    def _draw(self, state: Snapshot, action: int, stream: int) -> SimulatedStep[Snapshot]:
        env = self._way.load(state.saved)
        env.unwrapped.np_random = np.random.default_rng(stream)
        return self._advance(env, state, action, stream)
