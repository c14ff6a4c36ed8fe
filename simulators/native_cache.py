"""Compiling the functions of a native simulator to C function pointers, once for each content.

Where compiled code is kept, and when it is made anew: ``mcts_core.numba_cache``.
"""

import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mcts_core.errors import SimulatorError
from mcts_core.numba_cache import code_of, compile_module
from simulators.native_rng import below
from simulators.native_wrappers import (
    MANY_PLAYERS,
    WRAPPERS,
    constants,
    copier,
    header,
    on_stack,
    wanted,
)

__all__ = ["Built", "build"]

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
    decisive: bool = False,
    players: int = 0,
) -> Built:
    """Compile, or load what was compiled before.

    ``alternate``: two players move in turn; ``decisive``: decisive rollouts too; ``players``: 3 or
    more, each with rewards of their own.

    Raises:
        SimulatorError: numba cannot compile a function; the message names it.
    """

    def refuse(name: str, reason: str) -> SimulatorError:
        expected = WANTED[name]
        if players and name in WANTED_OF_MANY:
            expected = WANTED_OF_MANY[name].format(players)
        elif "player" in functions and name != "player":
            expected += f" and {WANTED['player']}"
        return SimulatorError(f"{name}: does not compile: {reason}; wanted {expected}")

    ours = [line for made in (on_stack, copier) for line in code_of(made.__code__)]
    wrappers = WRAPPERS | MANY_PLAYERS if players else WRAPPERS
    names = wanted(functions, dtype, max_actions, players)
    module = compile_module(
        "native",
        header(functions, alternate=alternate, decisive=decisive, players=players),
        {name: wrappers[name] for name in names},
        {**functions, "below": below},
        constants=constants(dtype, max_actions) | {"MANY": players},
        depends=(dtype, dtype.itemsize, max_actions, players, *ours),
        refuse=refuse,
        options={"forceinline": True},
        optional=("rollout",),  # which the engine can do without
    )
    made = {name: module.__dict__.get(f"c_{name}") for name in names}
    return Built({name: function.address for name, function in made.items() if function}, module)
