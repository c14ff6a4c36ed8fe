"""Trying the functions of a native simulator in plain Python, where mistakes show."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from mcts_core.errors import SimulatorError
from simulators.awaiting import short
from simulators.checks import LARGEST

__all__ = ["try_in_python"]

GAMES = 3
MOVES = 60


def try_in_python(
    dtype: np.dtype[np.void],
    max_actions: int,
    functions: dict[str, Callable[..., Any]],
    start: bytes,
    *,
    stochastic: bool,
    players: int = 0,
) -> None:
    """Play a few random games from ``start``, each at most 60 moves long.

    Raises:
        SimulatorError: a function raised, returned what it must not, or draws although the world
            is not declared stochastic. The message names the function and the state.
    """
    rng = np.random.default_rng(0)
    trial = _Trial(dtype, max_actions, functions, stochastic, players)
    for _ in range(GAMES):
        state = _record(start, dtype)
        for _ in range(MOVES):
            actions = trial.legal(state)
            trial.extras(state, len(actions))
            if len(actions) == 0:
                break
            state, terminal = trial.step(state, int(rng.choice(actions)))
            if terminal:
                trial.extras(state, 0)  # where a world ends, a search asks for its value
                break


class _Trial:
    def __init__(
        self,
        dtype: np.dtype[np.void],
        max_actions: int,
        functions: dict[str, Callable[..., Any]],
        stochastic: bool,
        players: int,
    ) -> None:
        self.dtype = dtype
        self.max_actions = max_actions
        self.functions = functions
        self.stochastic = stochastic
        self.players = players  # 3 or more: each has a number of their own; else 0
        self.seed = 1  # of the generator that step gets

    def legal(self, state: Any) -> npt.NDArray[np.int32]:
        """The legal actions, checked."""
        actions = np.full(self.max_actions, -1, np.int32)
        count = self.call("legal", state, state[0], actions)
        if not _is_int(count) or not 0 <= count <= self.max_actions:
            self.refuse("legal", state, count, f"a count from 0 to {self.max_actions}")
        found = actions[: int(count)]
        if len(set(found.tolist())) != len(found) or (found < 0).any():
            self.refuse("legal", state, found.tolist(), "distinct actions of at least 0")
        return found

    def step(self, state: Any, action: int) -> tuple[Any, bool]:
        """One step, and if the world is not declared stochastic the same once more."""
        after, reward, terminal = self.one_step(state, action)
        if not self.stochastic:
            again, *answer = self.one_step(state, action)
            if answer != [reward, terminal] or again.tobytes() != after.tobytes():
                wanted = "the same again, or stochastic=True and draws from rng"
                self.refuse("step", state, "another outcome when asked again", wanted)
        return after, terminal

    def one_step(self, state: Any, action: int) -> tuple[Any, object, bool]:
        after = _record(state.tobytes(), self.dtype)
        rng = np.array([self.seed], np.uint64)
        answer = self.call("step", state, after[0], action, rng)
        if rng[0] != self.seed and not self.stochastic:
            self.refuse("step", state, "a draw from rng", "stochastic=True")
        self.seed = int(rng[0])
        if not isinstance(answer, tuple) or len(answer) != 2:
            self.refuse("step", state, answer, "a pair (reward, terminal)")
        reward, terminal = answer
        self.numbers("step", state, reward)
        return after, reward if self.players else float(reward), bool(terminal)

    def extras(self, state: Any, count: int) -> None:
        """The functions that need not be there."""
        if "evaluate" in self.functions:
            self.numbers("evaluate", state, self.call("evaluate", state, state[0]))
        if "player" in self.functions:
            player = self.call("player", state, state[0])
            if not _is_int(player) or not 0 <= int(player) < max(self.players, 2):
                wanted = f"0 to {self.players - 1}" if self.players else "0 or 1"
                self.refuse("player", state, player, wanted)
        if "prior" in self.functions and count:
            weights = np.full(count, np.nan)
            self.call("prior", state, state[0], weights)
            if not ((weights >= 0) & (weights <= LARGEST)).all():
                self.refuse("prior", state, weights.tolist(), f"{count} finite weights >= 0")

    def call(self, name: str, state: Any, *arguments: Any) -> Any:
        before = state.tobytes()
        # As in compiled code: integers wrap, a division by zero raises.
        with np.errstate(over="ignore", invalid="ignore", divide="raise"):
            try:
                answer = self.functions[name](*arguments)
            except Exception as error:
                old = _record(before, self.dtype)[0].item()
                raise SimulatorError(
                    f"{name} raised {type(error).__name__}: {short(str(error))} at state "
                    f"{short(old)}"
                ) from error
        if state.tobytes() != before:
            old = _record(before, self.dtype)
            self.refuse(name, old, "a changed state", "that only step changes its state")
        return answer

    def numbers(self, name: str, state: Any, got: Any) -> None:
        """A number, or in a world of three players or more a tuple of one for each."""
        if not self.players:
            self.number(name, state, got)
            return
        if not isinstance(got, tuple) or len(got) != self.players:
            what = "a pair with rewards " * (name == "step") + short(got)
            self.refuse(name, state, what, f"a tuple of {self.players} floats")
        for number in got:
            self.number(name, state, number)

    def number(self, name: str, state: Any, got: Any) -> None:
        """A finite number within the engine's limit."""
        good = isinstance(got, (int, float, np.integer, np.floating))
        if not good or not abs(float(got)) <= LARGEST:
            self.refuse(name, state, got, "a finite number")

    def refuse(self, name: str, state: Any, got: object, wanted: str) -> None:
        plain = got.item() if isinstance(got, np.generic) else got
        what = plain if isinstance(plain, str) else short(plain)
        raise SimulatorError(
            f"{name}: got {what} at state {short(state[0].item())}, wanted {wanted}"
        )


def _record(data: bytes, dtype: np.dtype[np.void]) -> Any:
    """A writable array of one record; ``copy`` of an array would lose its padding."""
    return np.frombuffer(bytearray(data), dtype).view(np.recarray)


def _is_int(value: object) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)
