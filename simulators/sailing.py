"""The sailing domain: a boat crosses a lake under a wind that turns; native, explicit and solved.

Vanderbei 1996, "Optimal sailing strategies"; used for UCT by Kocsis & Szepesvari 2006, section 3.2;
here with the rules of Bonet & Geffner, AAAI-12. On a lake of size * size points the boat moves to
one of 8 neighbours. A move costs 1 with the wind and 2, 3 or 4 at 45, 90 or 135 degrees to it;
straight into the wind it is impossible. After each move the wind stays or turns by 45 degrees. The
voyage begins in one corner and ends in the one opposite. Costs are negative rewards.

Importing this module imports numba.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from mcts_core.config import check_int, check_real
from mcts_core.native import AddressSimulator
from simulators.native import Actions, Rng, State, compile_simulator, uniform
from simulators.tabular import TabularModel

__all__ = ["WIND", "sailing", "sailing_model", "sailing_values"]

WIND: Final = np.array(
    [
        [0.4, 0.3, 0.0, 0.0, 0.0, 0.0, 0.0, 0.3],
        [0.4, 0.3, 0.3, 0.0, 0.0, 0.0, 0.0, 0.0],
        [0.0, 0.4, 0.3, 0.3, 0.0, 0.0, 0.0, 0.0],
        [0.0, 0.0, 0.4, 0.3, 0.3, 0.0, 0.0, 0.0],
        [0.0, 0.0, 0.0, 0.4, 0.2, 0.4, 0.0, 0.0],
        [0.0, 0.0, 0.0, 0.0, 0.3, 0.3, 0.4, 0.0],
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.3, 0.3, 0.4],
        [0.4, 0.0, 0.0, 0.0, 0.0, 0.0, 0.3, 0.3],
    ]
)
"""[8, 8], probability of the next direction of the wind by the present one."""

DX: Final = np.array([0, 1, 1, 1, 0, -1, -1, -1])
DY: Final = np.array([1, 1, 0, -1, -1, -1, 0, 1])
TURN: Final = np.abs(np.arange(8)[:, None] - np.arange(8))
TACK: Final = np.minimum(TURN, 8 - TURN)
"""[8, 8], eighths of a turn between a course and the wind; 4 is impossible."""
INTO: Final = 4

BOAT: Final = np.dtype([("x", np.int32), ("y", np.int32), ("wind", np.int32)])
MOST_SIZE: Final = 30_000


def sailing(size: int = 100) -> AddressSimulator:
    """The lake as a native simulator: open chance nodes, no table of states.

    Args:
        size: points on a side, 2 to 30,000. ``ConfigError`` if it is out of range.

    Returns:
        A simulator; a state is (x, y, wind), root None is (0, 0, 0), the voyage ends in
        (size - 1, size - 1). Actions are courses 0 to 7, wind w blows in the direction of course w.
    """
    check_int("size", size, 2, MOST_SIZE)

    def legal(state: State, actions: Actions) -> int:
        count = 0
        for course in range(8):
            x, y = state.x + DX[course], state.y + DY[course]
            if TACK[course, state.wind] != INTO and 0 <= x < size and 0 <= y < size:
                actions[count] = course
                count += 1
        return count

    def step(state: State, action: int, rng: Rng) -> tuple[float, bool]:
        cost = 1.0 + TACK[action, state.wind]
        state.x += DX[action]
        state.y += DY[action]
        u, wind = uniform(rng), 0
        cumulative = WIND[state.wind, 0]
        while wind < 7 and u >= cumulative:
            wind += 1
            cumulative += WIND[state.wind, wind]
        state.wind = wind
        return -cost, state.x == size - 1 and state.y == size - 1

    return compile_simulator(BOAT, legal=legal, step=step, max_actions=8, stochastic=True)


def sailing_values(
    size: int, *, discount: float = 0.95, tolerance: float = 1e-9
) -> npt.NDArray[np.float64]:
    """Exact values without horizon, by value iteration (Puterman 1994, section 6.3).

    Args:
        size: as for ``sailing``.
        discount: 0 to below 1.
        tolerance: sweeps go on until none of them changes a value by more.

    Returns:
        float64 [size, size, 8], the value of (x, y, wind): minus the least expected cost.
    """
    check_int("size", size, 2, MOST_SIZE)
    check_real("discount", discount, 0.0, 1.0 - 1e-9)
    check_real("tolerance", tolerance, 0.0, 1.0, open_low=True)
    values = np.zeros((size, size, 8))
    while True:
        after = discount * values @ WIND.T
        best = np.full_like(values, -np.inf)
        for course in range(8):
            here, there = _from_to(size, DX[course]), _from_to(size, DY[course])
            pays = np.where(TACK[course] == INTO, -np.inf, -1.0 - TACK[course])
            worth = after[here[1], there[1]] + pays
            best[here[0], there[0]] = np.maximum(best[here[0], there[0]], worth)
        best[-1, -1] = 0.0
        change = float(np.abs(best - values).max())
        values = best
        if change <= tolerance:
            return values


def _from_to(size: int, move: int) -> tuple[slice, slice]:
    """Where a move along one side may begin, and where it ends."""
    return (
        slice(max(-move, 0), size - max(move, 0)),
        slice(max(move, 0), size - max(-move, 0)),
    )


def sailing_model(size: int) -> TabularModel:
    """The same world as arrays, for exact values within a horizon; state 8 * (x * size + y) + wind.

    ``size`` is at least 2; some 22 outcomes a state.
    """
    check_int("size", size, 2, MOST_SIZE)
    x, y, wind = (grid.ravel() for grid in np.indices((size, size, 8)))
    to_x, to_y = x[:, None] + DX, y[:, None] + DY
    inside = (to_x >= 0) & (to_x < size) & (to_y >= 0) & (to_y < size)
    afloat = (x < size - 1) | (y < size - 1)
    legal = inside & (TACK[wind] != INTO) & afloat[:, None]
    state, course = np.nonzero(legal)
    choice, turned = np.nonzero(WIND[wind[state]])
    place = to_x[legal] * size + to_y[legal]
    return TabularModel(
        _offsets(legal.sum(axis=1)),
        _offsets(np.count_nonzero(WIND[wind[state]], axis=1)),
        8 * place[choice] + turned,
        -1.0 - TACK[course, wind[state]][choice],
        probability=WIND[wind[state]][choice, turned],
        terminal=place[choice] == size * size - 1,
        labels=course.tolist(),
    )


def _offsets(counts: npt.NDArray[np.integer]) -> npt.NDArray[np.int64]:
    """[n] counts to [n+1] offsets from 0."""
    return np.concatenate(([0], np.cumsum(counts, dtype=np.int64)))
