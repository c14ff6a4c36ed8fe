"""Rollouts with decisive and anti-decisive moves, without the GIL.

Teytaud & Teytaud 2010, "On the huge benefit of decisive moves in Monte-Carlo Tree Search
algorithms"; reference.py says the same in plain Python.
"""

from mcts_core.context cimport legal, release, step, value_of
from mcts_core.native cimport STEP_TERMINAL, STEP_TURN
from mcts_core.rng cimport below
from mcts_core.tree cimport NONE


cdef int play_decisive(Simulation *s, const void *state, int32_t depth,
                       double *worth) noexcept nogil:
    """Moves as ``move`` chooses them to the end or the horizon, then the value there."""
    cdef double total = 0.0, weight = 1.0, reward = 0.0, value = 0.0
    cdef int32_t winner = NONE, turn = 0, count = look(s, state, &winner)
    cdef int32_t flags = count if count < 0 else 0
    cdef const void *here = state
    cdef void *there
    while flags >= 0 and flags & STEP_TERMINAL == 0 and count > 0 and depth < s.max_depth:
        depth += 1
        there = s.scratch + (1 + turn) * s.scratch_stride
        flags = move(s, here, there, depth == s.max_depth, &reward, &count, &winner)
        if flags < 0:
            break
        if here != state:
            release(s, here)
        total = total + weight * reward
        weight = weight * s.discount
        if flags & STEP_TURN:
            weight = -weight
        here = there
        turn = 1 - turn
    if flags >= 0:
        flags = value_of(s, here, &value)
    if here != state:
        release(s, here)
    worth[0] = total + weight * value
    return flags if flags < 0 else 0


cdef int32_t look(Simulation *s, const void *state, int32_t *winner) noexcept nogil:
    """The legal moves into s.actions, and which is the first that ends the world with the highest
    reward (NONE: none does). Returns how many moves there are, or a status."""
    cdef int32_t count = legal(s, state), outcome = 0, flags, i
    cdef void *after = s.scratch + 3 * s.scratch_stride
    cdef double reward = 0.0
    winner[0] = NONE
    for i in range(count):
        flags = step(s, state, s.actions[i], after, &reward, &outcome)
        if flags < 0:
            return flags
        release(s, after)
        if flags & STEP_TERMINAL and reward >= s.rule.high:
            winner[0] = i
            break
    return count


cdef int32_t move(Simulation *s, const void *here, void *there, bint is_last, double *reward,
                  int32_t *count, int32_t *winner) noexcept nogil:
    """Play the ``winner`` of the ``count`` moves in s.actions, else a random one; take it back if
    the other player could then win at once, and another move is left. Both are then those of
    ``there``. Returns the flags of the step, or a status."""
    cdef int32_t left = count[0], outcome = 0, choice, flags, i
    for i in range(left):
        s.ranked[i].action = s.actions[i]
    while True:
        choice = winner[0]
        if choice == NONE:
            choice = below(&s.rng, left) if left > 1 else 0
        flags = step(s, here, s.ranked[choice].action, there, reward, &outcome)
        if flags < 0 or flags & STEP_TERMINAL or is_last:
            return flags
        count[0] = look(s, there, winner)
        if count[0] < 0:
            release(s, there)
            return count[0]
        if winner[0] == NONE or flags & STEP_TURN == 0 or left == 1:
            return flags
        release(s, there)
        winner[0] = NONE
        left -= 1
        s.ranked[choice].action = s.ranked[left].action
