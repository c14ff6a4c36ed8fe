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
from numba import carray, types

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
) -> Built:
    """Compile, or load what was compiled before. ``alternate``: two players move in turn.

    Raises:
        SimulatorError: numba cannot compile a function; the message names it.
    """
    turn = FIXED_TURN.format(turn=2 if alternate else 0)
    names = [name for name in ("legal", "step", "evaluate", "prior") if name in functions]

    def refuse(name: str, reason: str) -> SimulatorError:
        wanted = WANTED[name] + (f" and {WANTED['player']}" if "player" in functions else "")
        return SimulatorError(f"{name}: does not compile: {reason}; wanted {wanted}")

    module = compile_module(
        "native",
        HEADER + (WRAPPERS["player"] if "player" in functions else turn),
        {name: WRAPPERS[name] for name in names},
        functions,
        constants={"DTYPE": dtype, "MAX_ACTIONS": max_actions},
        depends=(dtype, dtype.itemsize, max_actions),
        refuse=refuse,
    )
    return Built({name: module.__dict__[f"c_{name}"].address for name in names}, module)
