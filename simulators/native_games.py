"""Games as native simulators: connect four, and a tree of constant value to measure search by."""

import numpy as np

from mcts_core.native import AddressSimulator
from simulators.native import Actions, Rng, State, compile_simulator

__all__ = ["connect_four", "constant_tree"]

NOTHING = np.uint64(0)
ONE = np.uint64(1)
COLUMN = np.uint64(0x3F)
# Each column of the 7x6 board has seven bits; the topmost stays empty and stops overruns.
FULL = np.uint64(sum(0x3F << 7 * column for column in range(7)))
TOP = np.uint64(sum(0x20 << 7 * column for column in range(7)))
BOTTOM = np.uint64(sum(1 << 7 * column for column in range(7)))
BOARD = np.dtype([("mine", np.uint64), ("theirs", np.uint64)])


def _legal(state: State, actions: Actions) -> int:
    """The columns that are not full, in order."""
    taken = state.mine | state.theirs
    if (taken & TOP) == NOTHING:  # most often, and soon told
        for column in range(7):
            actions[column] = column
        return 7
    count = 0
    for column in range(7):
        actions[count] = column  # overwritten by the next if it is full
        count += 1 - int((taken >> np.uint64(7 * column + 5)) & ONE)
    return count


def _step(state: State, action: int, rng: Rng) -> tuple[float, bool]:
    """Drop a stone of the mover's, who wins 1 with four in a row; then the other side moves."""
    taken = state.mine | state.theirs
    stone = (taken + BOTTOM) & (COLUMN << np.uint64(7 * action))
    stones = state.mine | stone
    state.mine, state.theirs = state.theirs, stones
    up, across = stones & (stones >> np.uint64(1)), stones & (stones >> np.uint64(7))
    falling, rising = stones & (stones >> np.uint64(6)), stones & (stones >> np.uint64(8))
    four = (
        (up & (up >> np.uint64(2)))
        | (across & (across >> np.uint64(14)))
        | (falling & (falling >> np.uint64(12)))
        | (rising & (rising >> np.uint64(16)))
    )
    won = four != NOTHING
    return (1.0 if won else 0.0), won or (taken | stone) == FULL


def connect_four() -> AddressSimulator:
    """Connect four on 7x6; the value of the empty board is a win for the first player, who must
    begin in the centre (Allis 1988). Root None is the empty board; a state is the pair (stones of
    the mover, stones of the other), bit 7 * column + row.
    """
    return compile_simulator(BOARD, legal=_legal, step=_step, player="alternate", max_actions=7)


def constant_tree(branching: int) -> AddressSimulator:
    """``branching`` actions everywhere, reward 0, value .5: what remains is the tree's own cost."""

    def legal(state: State, actions: Actions) -> int:
        for i in range(branching):
            actions[i] = i
        return branching

    def step(state: State, action: int, rng: Rng) -> tuple[float, bool]:
        return 0.0, False

    def evaluate(state: State) -> float:
        return 0.5

    return compile_simulator(
        [("nothing", np.int32)], legal=legal, step=step, evaluate=evaluate, max_actions=branching
    )
