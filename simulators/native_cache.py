"""Compiling the functions of a native simulator to C function pointers, once for each content.

Where compiled code is kept, and when it is made anew: ``mcts_core.numba_cache``.
"""

import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mcts_core.errors import SimulatorError
from mcts_core.numba_cache import compile_module

__all__ = ["Built", "build"]

HEADER = """
import numba
from numba import carray, literal_unroll, types

VOID = types.voidptr
INTS = types.CPointer(types.int32)
FLOATS = types.CPointer(types.float64)
"""

# What the engine calls; `legal`, `step`, ... are the compiled functions of the author. An exception
# inside becomes status -1, as does a count that cannot be: a C function has no other way to say it.
WRAPPERS = {
    "legal": """
@numba.cfunc(types.int32(VOID, VOID, INTS, types.int32), cache=CACHE)
def c_legal(context, state, actions, capacity):
    if capacity < MAX_ACTIONS:
        return MAX_ACTIONS
    try:
        count = legal(carray(state, 1, DTYPE)[0], carray(actions, MAX_ACTIONS))
        return count if 0 <= count <= MAX_ACTIONS else -1
    except Exception:
        return -1
""",
    "step": """
@numba.cfunc(
    types.int32(VOID, VOID, types.int32, types.CPointer(types.uint64), VOID, FLOATS, INTS),
    cache=CACHE,
)
def c_step(context, state, action, rng, next_state, reward, outcome):
    before = carray(state, 1, DTYPE)
    after = carray(next_state, 1, DTYPE)
    after[0] = before[0]
    outcome[0] = 0
    try:
        gained, terminal = step(after[0], action, carray(rng, 1))
        reward[0] = gained
        return TURN(before[0], after[0]) + (1 if terminal else 0)
    except Exception:
        return -1
""",
    "evaluate": """
@numba.cfunc(types.int32(VOID, VOID, FLOATS), cache=CACHE)
def c_evaluate(context, state, value):
    try:
        value[0] = evaluate(carray(state, 1, DTYPE)[0])
        return 0
    except Exception:
        return -1
""",
    "prior": """
@numba.cfunc(types.int32(VOID, VOID, types.int32, FLOATS), cache=CACHE)
def c_prior(context, state, count, weights):
    try:
        prior(carray(state, 1, DTYPE)[0], carray(weights, count))
        return 0
    except Exception:
        return -1
""",
    "player": """
@numba.njit
def TURN(before, after):
    return 2 if player(before) != player(after) else 0
""",
}
# The same in worlds of three players or more, where a tuple has one number for each of them.
MANY = {
    "step": WRAPPERS["step"]
    .replace("reward[0] = gained", "write_out(gained, carray(reward, PLAYERS))")
    .replace("TURN(before[0], after[0]) + ", ""),
    "evaluate": WRAPPERS["evaluate"].replace(
        "value[0] = evaluate(carray(state, 1, DTYPE)[0])",
        "write_out(evaluate(carray(state, 1, DTYPE)[0]), carray(value, PLAYERS))",
    ),
    "player": """
@numba.cfunc(types.int32(VOID, VOID), cache=CACHE)
def c_player(context, state):
    try:
        return player(carray(state, 1, DTYPE)[0])
    except Exception:
        return -1
""",
}
WRITE_OUT = """
@numba.njit
def write_out(given, numbers):
    if len(given) != PLAYERS:
        raise ValueError
    i = 0
    for number in literal_unroll(given):
        numbers[i] = number
        i += 1
"""
FIXED_TURN = """
@numba.njit
def TURN(before, after):
    return {turn}
"""
WANTED = {
    "legal": "legal(state, actions) -> int",
    "step": "step(state, action, rng) -> (reward, terminal)",
    "evaluate": "evaluate(state) -> float",
    "prior": "prior(state, weights) -> None",
    "player": "player(state) -> int",
}
WANTED_OF_MANY = {
    "step": "step(state, action, rng) -> (tuple of {} floats, terminal)",
    "evaluate": "evaluate(state) -> tuple of {} floats",
}


@dataclass(frozen=True)
class Built:
    """Addresses by the names of ``AddressSimulator``, and the module that keeps them alive."""

    addresses: dict[str, int]
    module: types.ModuleType


def build(
    dtype: np.dtype[np.void],
    max_actions: int,
    functions: dict[str, Callable[..., Any]],
    *,
    alternate: bool = False,
    players: int = 0,
) -> Built:
    """Compile, or load what was compiled before. ``alternate``: two players move in turn;
    ``players``: 3 or more, each with rewards of their own.

    Raises:
        SimulatorError: numba cannot compile a function; the message names it.
    """
    names: list[str] = [
        name for name in ("legal", "step", "evaluate", "prior") if name in functions
    ]
    if players:
        names.append("player")
        wrappers, common = WRAPPERS | MANY, WRITE_OUT
    else:
        wrappers = WRAPPERS
        common = FIXED_TURN.format(turn=2 if alternate else 0)
        common = WRAPPERS["player"] if "player" in functions else common

    def refuse(name: str, reason: str) -> SimulatorError:
        wanted = WANTED[name]
        if players and name in WANTED_OF_MANY:
            wanted = WANTED_OF_MANY[name].format(players)
        elif "player" in functions and name != "player":
            wanted += f" and {WANTED['player']}"
        return SimulatorError(f"{name}: does not compile: {reason}; wanted {wanted}")

    module = compile_module(
        "native",
        HEADER + common,
        {name: wrappers[name] for name in names},
        functions,
        constants={"DTYPE": dtype, "MAX_ACTIONS": max_actions, "PLAYERS": players},
        depends=(dtype, dtype.itemsize, max_actions, players),
        refuse=refuse,
    )
    return Built({name: module.__dict__[f"c_{name}"].address for name in names}, module)
