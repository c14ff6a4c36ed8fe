"""P-games as a native simulator: the trees of ``simulators.games.PGame``, at compiled speed.

Importing this module imports numba.
"""

from typing import Any, Final

import numba
import numpy as np

from mcts_core.config import MAX_SEED, check_int
from mcts_core.native import AddressSimulator
from mcts_core.reference import SplitMix64
from simulators.native import Actions, Rng, State, compile_simulator
from simulators.native_rng import next_u64

__all__ = ["MOST_MOVES", "p_game_move_values", "p_game_root", "p_game_value", "p_games"]

MOST_MOVES: Final = 256
TREE: Final = np.dtype(
    [
        ("salt", np.uint64),  # which tree
        ("node", np.uint64),  # the number of the node in its level
        ("total", np.int32),  # the sum of the moves' values
        ("made", np.int32),  # moves so far
        ("branching", np.int32),
        ("depth", np.int32),
    ]
)


@numba.njit(cache=True)
def move_value(salt: Any, node: Any, made: int) -> int:
    """0 to 127, what the move to ``node`` is worth; the hash of ``PGame``."""
    stream = np.empty(1, np.uint64)
    stream[0] = node
    stream[0] = salt ^ next_u64(stream) ^ np.uint64(made)
    return int(next_u64(stream) >> np.uint64(57))


def _legal(state: State, actions: Actions) -> int:
    count = state.branching if state.made < state.depth else 0
    for i in range(count):
        actions[i] = i
    return count


def _step(state: State, action: int, rng: Rng) -> tuple[float, bool]:
    """Add the move's value; the last move pays its mover 1, 0 or -1."""
    state.node = state.node * np.uint64(state.branching) + np.uint64(action)
    sign = -1 if state.made & 1 else 1
    state.total += sign * move_value(state.salt, state.node, state.made)
    state.made += 1
    if state.made < state.depth:
        return 0.0, False
    return float(sign * np.sign(state.total)), True


def p_games() -> AddressSimulator:
    """All P-games of up to 256 moves a node: which one is in the state; see ``p_game_root``."""
    return compile_simulator(
        TREE,
        legal=_legal,
        step=_step,
        player="alternate",
        max_actions=MOST_MOVES,
        initial=p_game_root(2, 4),
    )


def p_game_root(branching: int, depth: int, seed: int = 0) -> tuple[int, ...]:
    """The root state of the tree ``PGame(branching, depth, seed)``.

    Args:
        branching: moves per node, 1 to 256.
        depth: moves per game, 1 to 2**31 - 2.
        seed: 0 to 2**64 - 1. ``ConfigError`` if an argument is out of range.
    """
    check_int("branching", branching, 1, MOST_MOVES)
    check_int("depth", depth, 1, 2**31 - 2)
    check_int("seed", seed, 0, MAX_SEED)
    return (SplitMix64(seed).next_u64(), 0, 0, 0, branching, depth)


def p_game_value(state: tuple[int, ...]) -> int:
    """Exact value of a state for its mover, -1, 0 or 1, by alpha-beta; 0 where the game is over."""
    salt, node, total, made, branching, depth = state
    if made >= depth:
        return 0
    found = _alpha_beta(np.uint64(salt), np.uint64(node), total, made, branching, depth, -1, 1)
    return int(found)


def p_game_move_values(state: tuple[int, ...]) -> list[int]:
    """Exact value of each move for the mover; empty where the game is over."""
    salt, node, total, made, branching, depth = state
    if made >= depth:
        return []
    sign = -1 if made & 1 else 1
    values = []
    for action in range(branching):
        child = (node * branching + action) % 2**64
        after = total + sign * move_value(np.uint64(salt), np.uint64(child), made)
        below = p_game_value((salt, child, after, made + 1, branching, depth))
        last = made + 1 == depth
        values.append(sign * int(np.sign(after)) if last else -below)
    return values


@numba.njit(cache=True)
def _alpha_beta(  # noqa: PLR0917
    salt: Any, node: Any, total: int, made: int, branching: int, depth: int, low: int, high: int
) -> Any:
    """Value for the mover, exact in (low, high), else a bound (Knuth & Moore 1975)."""
    sign = -1 if made & 1 else 1
    if made == depth:
        return int(sign * np.sign(total))
    best = -1
    for action in range(branching):
        child = node * np.uint64(branching) + np.uint64(action)
        after = total + sign * move_value(salt, child, made)
        value = -_alpha_beta(salt, child, after, made + 1, branching, depth, -high, -max(low, best))
        best = max(best, value)
        if best >= high:
            break
    return best
