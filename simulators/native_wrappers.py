"""The texts of a native simulator's C functions, compiled around the author's by native_cache."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from simulators.checks import LARGEST

__all__ = ["MANY_PLAYERS", "WRAPPERS", "constants", "copier", "header", "on_stack", "wanted"]

STACK: Final = 1024
"""Most bytes of a state, and most actions, that a rollout keeps on the stack."""


def wanted(
    functions: Mapping[str, Callable[..., Any]],
    dtype: np.dtype[np.void],
    max_actions: int,
    players: int,
) -> list[str]:
    """Which of ``WRAPPERS`` to compile around these functions."""
    names = [name for name in ("legal", "step", "evaluate", "prior") if name in functions]
    if players:
        return [*names, "player"]
    fits = dtype.itemsize <= STACK and max_actions <= STACK
    return [*names, "rollout"] if fits else names  # else the engine plays rollouts itself


def header(
    functions: Mapping[str, Callable[..., Any]], *, alternate: bool, decisive: bool, players: int
) -> str:
    """What the wrappers of these functions need before them."""
    if players:
        return HEADER + WRITE_OUT
    turn = PLAYERS if "player" in functions else FIXED_TURN.format(turn=2 if alternate else 0)
    value = "EVALUATE = evaluate\n" if "evaluate" in functions else NO_VALUE
    return HEADER + turn + value + (DECISIVE if decisive else NO_DECISIVE)


def constants(dtype: np.dtype[np.void], max_actions: int) -> dict[str, Any]:
    """The names in the wrappers that are not texts."""
    return {
        "DTYPE": dtype,
        "MAX_ACTIONS": max_actions,
        "LIMIT": LARGEST,
        "STATE": on_stack(dtype.itemsize),
        "ACTIONS": on_stack(4 * max_actions),
        "WORD": on_stack(8),
        "COPY": copier(dtype.itemsize),
    }


def on_stack(size: int) -> Any:
    """A numba function without arguments that returns the address of ``size`` bytes on the stack of
    its caller, others for each place that calls it; LLVM keeps them in registers where it can."""

    @intrinsic
    def address(typing_context: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            with builder.goto_entry_block():
                slot = builder.alloca(ir.ArrayType(ir.IntType(64), (size + 7) // 8))
            slot.align = 16
            return builder.bitcast(slot, cgutils.voidptr_t)

        return types.voidptr(), code

    return address


def copier(size: int) -> Any:
    """A numba function (to, source) that copies ``size`` bytes between addresses. (An assignment of
    records would copy byte by byte, and keep each byte in a register of its own.)"""

    @intrinsic
    def copy(typing_context: Any, target: Any, origin: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            to, source = arguments
            length = ir.Constant(ir.IntType(64), size)
            cgutils.raw_memcpy(builder, to, source, length, 1)  # type: ignore[no-untyped-call]
            return context.get_dummy_value()

        return types.void(types.voidptr, types.voidptr), code

    return copy


HEADER: Final = """
import numba
from numba import carray, literal_unroll, types

VOID = types.voidptr
INTS = types.CPointer(types.int32)
FLOATS = types.CPointer(types.float64)
RNG = types.CPointer(types.uint64)
INFINITY = float("inf")
FAILED = -2
"""
# MOVER before a step and TURN after it say whether the player to move changed (STEP_TURN).
PLAYERS: Final = """
@numba.njit(forceinline=True)
def MOVER(state):
    return player(state)

@numba.njit(forceinline=True)
def TURN(mover, state):
    return 2 if player(state) != mover else 0
"""
FIXED_TURN: Final = """
@numba.njit(forceinline=True)
def MOVER(state):
    return 0

@numba.njit(forceinline=True)
def TURN(mover, state):
    return {turn}
"""
NO_DECISIVE: Final = """
@numba.njit(forceinline=True)
def PLAY_DECISIVE(state, depth_left, discount, win, rng, value):
    return -1
"""
DECISIVE: Final = """
@numba.njit(forceinline=True)
def WINNING_MOVE(state, actions, count, win):
    address = STATE()
    after = carray(address, 1, DTYPE)
    stream = carray(WORD(), 1, types.uint64)
    stream[0] = 0
    reward = carray(WORD(), 1, types.float64)
    for i in range(count):
        COPY(address, state)
        reward[0], terminal = step(after[0], actions[i], stream)
        if not abs(reward[0]) <= LIMIT:
            return FAILED
        if terminal and reward[0] >= win:
            return i
    return -1

@numba.njit
def PLAY_DECISIVE(state, depth_left, discount, win, rng, value):
    address = STATE()
    COPY(address, state)
    here = carray(address, 1, DTYPE)
    other = STATE()
    there = carray(other, 1, DTYPE)
    actions = carray(ACTIONS(), MAX_ACTIONS, types.int32)
    replies = carray(ACTIONS(), MAX_ACTIONS, types.int32)
    stream = carray(WORD(), 1, types.uint64)
    stream[0] = carray(rng, 1)[0]
    number = carray(WORD(), 1, types.float64)
    total, weight = 0.0, 1.0
    count = types.int64(legal(here[0], actions))
    if not 0 <= count <= MAX_ACTIONS:
        return -1
    winner = WINNING_MOVE(address, actions, count, win)
    if winner == FAILED:
        return -1
    while depth_left > 0 and count > 0:
        left = count
        mover = MOVER(here[0])
        while True:
            choice = winner
            if winner < 0:
                choice = types.int64(below(stream, left)) if left > 1 else 0
            COPY(other, address)
            number[0], terminal = step(there[0], actions[choice], stream)
            if not abs(number[0]) <= LIMIT:
                return -1
            turn = TURN(mover, there[0])
            if terminal or depth_left == 1:
                break
            count = types.int64(legal(there[0], replies))
            if not 0 <= count <= MAX_ACTIONS:
                return -1
            reply = WINNING_MOVE(other, replies, count, win)
            if reply == FAILED:
                return -1
            if reply < 0 or not turn or left == 1:
                winner = reply
                break
            left -= 1
            actions[choice] = actions[left]
        total = total + weight * number[0]
        weight = weight * discount
        if turn:
            weight = -weight
        COPY(address, other)
        if terminal:
            break
        for i in range(count):
            actions[i] = replies[i]
        depth_left -= 1
    number[0] = EVALUATE(here[0])
    if not abs(number[0]) <= LIMIT:
        return -1
    rng[0] = stream[0]
    value[0] = total + weight * number[0]
    return 0
"""
NO_VALUE: Final = """
@numba.njit(forceinline=True)
def EVALUATE(state):
    return 0.0
"""

# What the engine calls; `legal`, `step`, ... are the compiled functions of the author. An exception
# inside becomes status -1, as does a count that cannot be: a C function has no other way to say it.
WRAPPERS: Final = {
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
    types.int32(VOID, VOID, types.int32, RNG, VOID, FLOATS, INTS), cache=CACHE
)
def c_step(context, state, action, rng, next_state, reward, outcome):
    before = carray(state, 1, DTYPE)
    after = carray(next_state, 1, DTYPE)
    COPY(next_state, state)
    outcome[0] = 0
    try:
        mover = MOVER(before[0])
        gained, terminal = step(after[0], action, carray(rng, 1))
        reward[0] = gained
        return TURN(mover, after[0]) + (1 if terminal else 0)
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
    "rollout": """
@numba.cfunc(
    types.int32(VOID, VOID, types.int32, types.float64, types.float64, RNG, FLOATS), cache=CACHE
)
def c_rollout(context, state, depth_left, discount, win, rng, value):
    address = STATE()
    COPY(address, state)
    here = carray(address, 1, DTYPE)
    actions = carray(ACTIONS(), MAX_ACTIONS, types.int32)
    stream = carray(WORD(), 1, types.uint64)
    stream[0] = carray(rng, 1)[0]
    number = carray(WORD(), 1, types.float64)
    total, weight = 0.0, 1.0
    try:
        if win < INFINITY:
            return PLAY_DECISIVE(state, depth_left, discount, win, rng, value)
        while depth_left > 0:
            count = types.int64(legal(here[0], actions))
            if not 0 <= count <= MAX_ACTIONS:
                return -1
            if count == 0:
                break
            choice = 0
            if count > 1:
                choice = types.int64(below(stream, count))
            action = actions[choice]
            mover = MOVER(here[0])
            number[0], terminal = step(here[0], action, stream)
            if not abs(number[0]) <= LIMIT:
                return -1
            total = total + weight * number[0]
            weight = weight * discount
            if TURN(mover, here[0]):
                weight = -weight
            if terminal:
                break
            depth_left -= 1
        number[0] = EVALUATE(here[0])
        if not abs(number[0]) <= LIMIT:
            return -1
    except Exception:
        return -1
    rng[0] = stream[0]
    value[0] = total + weight * number[0]
    return 0
""",
}

# In worlds of three players or more (MANY of them) a tuple has one number for each.
WRITE_OUT: Final = """
@numba.njit
def write_out(given, numbers):
    if len(given) != MANY:
        raise ValueError
    i = 0
    for number in literal_unroll(given):
        numbers[i] = number
        i += 1
"""
MANY_PLAYERS: Final = {
    "step": WRAPPERS["step"]
    .replace("        mover = MOVER(before[0])\n", "")
    .replace("reward[0] = gained", "write_out(gained, carray(reward, MANY))")
    .replace("TURN(mover, after[0]) + (1 if terminal else 0)", "1 if terminal else 0"),
    "evaluate": WRAPPERS["evaluate"].replace(
        "value[0] = evaluate(carray(state, 1, DTYPE)[0])",
        "write_out(evaluate(carray(state, 1, DTYPE)[0]), carray(value, MANY))",
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
