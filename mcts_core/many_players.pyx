"""Worlds of three players or more, each with returns of their own: max^n (Luckhardt & Irani 1986,
"An algorithmic solution of N-person games"), searched as by Sturtevant 2008, "An analysis of UCT in
multi-player games".

Whoever moves at a node takes the action that is best for themselves. So selection asks for one
number an action only, its mean return for that player, and the tree holds that. Here is what needs
the returns of all: steps, the evaluation of a leaf, and its way up.
"""

from libc.math cimport fabs
from libc.string cimport memcpy, memset

from mcts_core.context cimport EVALUATE_FORCED, EVALUATE_SIMULATOR, legal, refuse, release
from mcts_core.native cimport LIMIT, STATUS_NO_PLAYER, STEP_TERMINAL
from mcts_core.rng cimport below
from mcts_core.tree cimport NODE_CHANCE, NONE, state_at


cdef int seat_root(Simulation *s) noexcept nogil:
    return seat(s, 0, state_at(&s.arena, 0))


cdef int seat(Simulation *s, int32_t node, const void *state) noexcept nogil:
    """Ask who moves at a node's state. 0, or a status."""
    cdef int32_t player = s.table.player(s.table.context, state)
    if player < 0:
        return player
    if player >= s.players:
        refuse(s, state, NONE, player)
        return STATUS_NO_PLAYER
    s.arena.mover[node] = <unsigned char>player
    return 0


cdef int32_t step_of(Simulation *s, int32_t node, int32_t action, double *reward,
                     int32_t *outcome) noexcept nogil:
    cdef int32_t flags = step_all(s, state_at(&s.arena, s.arena.node[node].state), action,
                                  s.scratch, outcome)
    reward[0] = s.gained[s.arena.mover[node]]
    return flags


cdef int32_t step_all(Simulation *s, const void *state, int32_t action, void *next_state,
                      int32_t *outcome) noexcept nogil:
    """One step of the simulator, the rewards of all into s.gained, checked."""
    cdef int32_t flags = s.table.step(s.table.context, state, action, &s.rng, next_state, s.gained,
                                      outcome)
    cdef int32_t wrong = not_finite(s) if flags >= 0 else NONE
    if wrong == NONE:
        return flags
    release(s, next_state)
    return refuse(s, state, action, s.gained[wrong])


cdef int32_t not_finite(const Simulation *s) noexcept nogil:
    """The first player whose number in s.gained is not finite or too large; else NONE."""
    cdef int32_t player
    for player in range(s.players):
        if not fabs(s.gained[player]) <= LIMIT:
            return player
    return NONE


cdef int arrive(Simulation *s, int32_t node, const void *state) noexcept nogil:
    memcpy(vector_at(s, s.arena.rewards, node), s.gained, s.players * sizeof(double))
    return seat(s, node, state)


cdef int evaluate_all(Simulation *s, const void *state, int32_t depth, bint settled) noexcept nogil:
    cdef double weight = 1.0
    cdef int32_t count, flags = STEP_TERMINAL if settled else 0, outcome = 0, turn = 0
    cdef int status = 0
    cdef const void *here = state
    cdef void *there
    memset(s.returns, 0, s.players * sizeof(double))
    while s.evaluation != EVALUATE_SIMULATOR and flags & STEP_TERMINAL == 0 \
            and depth < s.max_depth:
        count = legal(s, here)
        if count <= 0 or (s.evaluation == EVALUATE_FORCED and count > 1):
            status = min(count, 0)
            break
        there = s.scratch + (1 + turn) * s.scratch_stride
        flags = step_all(s, here, s.actions[below(&s.rng, count) if count > 1 else 0], there,
                         &outcome)
        if flags < 0:
            status = flags
            break
        if here != state:
            release(s, here)
        add_gained(s, weight)
        weight = weight * s.discount
        here = there
        turn = 1 - turn
        depth += 1
    if status == 0 and s.table.evaluate != NULL:
        status = value_all(s, here, weight)
    if here != state:
        release(s, here)
    return status


cdef int value_all(Simulation *s, const void *state, double weight) noexcept nogil:
    """Add what the simulator estimates a state at. 0, or a status."""
    cdef int status = s.table.evaluate(s.table.context, state, s.gained)
    cdef int32_t wrong = not_finite(s) if status >= 0 else NONE
    if wrong != NONE:
        return refuse(s, state, NONE, s.gained[wrong])
    if status >= 0:
        add_gained(s, weight)
    return status


cdef inline void add_gained(Simulation *s, double weight) noexcept nogil:
    cdef int32_t player
    for player in range(s.players):
        s.returns[player] = s.returns[player] + weight * s.gained[player]


cdef double remember_worths(Simulation *s) noexcept nogil:
    cdef int32_t leaf = s.path[s.path_length - 1]
    memcpy(vector_at(s, s.arena.worths, leaf), s.returns, s.players * sizeof(double))
    return s.returns[s.arena.mover[leaf]]


cdef void recall(Simulation *s) noexcept nogil:
    cdef int32_t leaf = s.path[s.path_length - 1]
    memcpy(s.returns, vector_at(s, s.arena.worths, leaf), s.players * sizeof(double))


cdef double carry_up(Simulation *s, int32_t i) noexcept nogil:
    cdef int32_t node = s.path[i], player
    cdef const double *rewards = vector_at(s, s.arena.rewards, node)
    if s.arena.flags[node] & NODE_CHANCE == 0:
        for player in range(s.players):
            s.returns[player] = rewards[player] + s.discount * s.returns[player]
    return s.returns[s.arena.mover[s.path[i - 1]]]
