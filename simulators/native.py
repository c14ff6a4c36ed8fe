"""The authoring kit: a state dtype and a few plain functions become a compiled simulator.

The functions are ordinary Python that numba understands. They are tried in plain Python first, so
that mistakes show with their line, then compiled to C function pointers that the engine calls
without the GIL. What was compiled is kept on disk for the next process (see ``native_cache``).

Importing this module imports numba.
"""

import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, cast

import numba
import numpy as np
import numpy.typing as npt
from numba.core.errors import NumbaError

from mcts_core.config import MAX_COUNT
from mcts_core.errors import SimulatorError
from mcts_core.native import AddressSimulator
from simulators.awaiting import short
from simulators.native_cache import Built, build
from simulators.native_check import try_in_python
from simulators.native_rng import Rng, below, uniform

__all__ = ["Actions", "Rng", "State", "below", "compile_simulator", "uniform"]

Function = Callable[..., Any]

State = Any
"""In an author's functions: a record of the state dtype, its fields as attributes."""
Actions = npt.NDArray[np.int32]
"""[max_actions] where ``legal`` writes."""


@dataclass(frozen=True)
class _Parts:
    """What a person wrote."""

    dtype: np.dtype[np.void]
    max_actions: int
    functions: dict[str, Function]
    stochastic: bool
    players: int  # 3 or more; else 0


def compile_simulator(
    state: npt.DTypeLike,
    *,
    legal: Function,
    step: Function,
    max_actions: int,
    evaluate: Function | None = None,
    prior: Function | None = None,
    player: Function | Literal["alternate"] | None = None,
    players: int | None = None,
    stochastic: bool = False,
    decisive: bool = False,
    initial: object = None,
    check: bool = True,
) -> AddressSimulator:
    """Compile a simulator.

    Args:
        state: a structured dtype, for example ``[("board", np.uint64), ("moves", np.int32)]``. In
            the functions below a state has its fields as attributes.
        legal: ``legal(state, actions) -> count``: write the legal actions into ``actions``, an
            int32 array of ``max_actions`` entries, and say how many there are; 0 ends the world.
        step: ``step(state, action, rng) -> (reward, terminal)``: change ``state`` in place (it is a
            copy); the reward is the mover's. ``rng`` is for ``uniform`` and ``below``.
        max_actions: the most actions that any state has, 1 to 2**31 - 2.
        evaluate: ``evaluate(state) -> float``: the estimated return; None: 0.
        prior: ``prior(state, weights)``: write one weight >= 0 for each legal action, in the order
            of ``legal``; None: uniform.
        player: two-player zero-sum worlds: "alternate" if they move in turn, else
            ``player(state) -> int`` (0 or 1), who moves. With ``players`` that function, 0 to
            ``players`` - 1.
        players: 3 to 255 for a world where each has rewards of their own: ``step`` returns
            ``(tuple of players floats, terminal)``, what everyone gains, and ``evaluate`` such a
            tuple; None: one player, or two.
        stochastic: True if ``step`` draws from ``rng``.
        decisive: compile rollouts of ``evaluation="decisive"`` too; else they are played by calls
            of ``legal`` and ``step``, at some half of the speed.
        initial: a state to try the functions from (a tuple or record of the dtype), and the root
            that stands for None; None: all fields zero.
        check: try the functions in plain Python first.

    Returns:
        A simulator for ``Search`` and ``search``; root states are tuples or records of the dtype.

    Raises:
        SimulatorError: the dtype is not structured; a function raised in plain Python, returned
            what it must not, or uses what numba does not compile. The message names the function
            and what was expected.
    """
    dtype = _checked_dtype(state)
    whole = isinstance(max_actions, int) and not isinstance(max_actions, bool)
    if not whole or not 1 <= max_actions <= MAX_COUNT:
        raise SimulatorError(
            f"max_actions: got {max_actions!r}, wanted an integer from 1 to {MAX_COUNT}"
        )
    many = _checked_players(players, player)
    given: dict[str, Any] = {"legal": legal, "step": step, "evaluate": evaluate, "prior": prior}
    alternate = player == "alternate"
    given["player"] = None if alternate else player
    functions: dict[str, Function] = {name: f for name, f in given.items() if f is not None}
    for name, function in functions.items():
        if not isinstance(getattr(function, "py_func", function), types.FunctionType):
            raise SimulatorError(f"{name}: got {function!r}, wanted a function made by def")
    parts = _Parts(dtype, max_actions, functions, stochastic, many)
    start = pack(dtype, initial, None)
    if check:
        plain = {name: getattr(f, "py_func", f) for name, f in functions.items()}
        try_in_python(dtype, max_actions, plain, start, stochastic=stochastic, players=many)
    built = build(
        dtype, max_actions, functions, alternate=alternate, decisive=decisive, players=many
    )
    return _simulator(parts, start, built)


def _checked_players(players: object, player: object) -> int:
    """3 or more, or 0 for None."""
    if players is None:
        return 0
    if not isinstance(players, int) or isinstance(players, bool) or not 3 <= players <= 255:
        raise SimulatorError(f"players: got {players!r}, wanted None or an integer from 3 to 255")
    if player is None or player == "alternate":
        wanted = f"a function of the state that says who moves, 0 to {players - 1}"
        raise SimulatorError(f"player: got {player!r}, wanted {wanted}")
    return players


def _checked_dtype(state: npt.DTypeLike) -> np.dtype[np.void]:
    try:
        dtype = np.dtype(state)
        if dtype.names and not dtype.hasobject:
            numba.from_dtype(dtype)  # refuses what numba cannot hold
            return dtype
        problem = ""
    except (TypeError, ValueError, NumbaError) as error:
        dtype, problem = cast(Any, state), f" ({str(error).splitlines()[0]})"
    raise SimulatorError(
        f"state: got dtype {dtype}{problem}, wanted a structured dtype of numbers in native byte "
        'order, for example [("position", np.int32)]'
    )


def _simulator(parts: _Parts, start: bytes, built: Built) -> AddressSimulator:
    dtype = parts.dtype
    return AddressSimulator(
        state_size=dtype.itemsize,
        pack=lambda root: pack(dtype, root, start),
        unpack=lambda data: np.frombuffer(data, dtype)[0].item(),
        stochastic=parts.stochastic,
        players=parts.players,
        dtype=dtype,
        keep=built,
        **built.addresses,
    )


def pack(dtype: np.dtype[np.void], state: object, default: bytes | None) -> bytes:
    """The bytes of a state given as a tuple, record or array of one; None: ``default``, or zeros.

    Raises:
        SimulatorError: it does not fit the dtype.
    """
    if state is None and default is not None:
        return default
    array = np.zeros(1, dtype)
    if state is not None:
        try:
            if not isinstance(state, (tuple, np.void, np.ndarray)):
                raise TypeError("numpy would write it into every field")
            array[0] = state
        except (TypeError, ValueError, OverflowError) as error:
            raise SimulatorError(
                f"state: got {short(state)}, wanted a tuple or record of the fields {dtype}"
            ) from error
    return array.tobytes()
