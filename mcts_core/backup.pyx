"""Carrying what a leaf is worth up the path: counts, means, and what is proven."""

from libc.stdint cimport int32_t

from mcts_core.many_players cimport carry_up, recall, remember_worths
from mcts_core.proof cimport prove
from mcts_core.selection cimport fill_tables, reciprocal, widen_range
from mcts_core.transpositions cimport back_up_shared, prove_shared
from mcts_core.tree cimport (NODE_CHANCE, NODE_NEXT_READY, NODE_OPEN, NODE_SOME_PROVEN, NODE_TURN,
                             Arena, at_least_proven, expected)

fill_tables()


cdef void finish_any(Simulation *s, double worth, bint settled) noexcept nogil:
    if s.arena.columns:
        if s.players:
            worth = remember_worths(s)
        if s.arena.raw != NULL:
            s.arena.raw[s.path[s.path_length - 1]] = worth
    back_up(s, worth, False)
    if s.solver and settled:
        prove_path(s)


cdef void finish_again(Simulation *s, double value) noexcept nogil:
    if s.players:
        recall(s)
    back_up(s, value, True)
    if s.solver:
        prove_path(s)


cdef inline void prove_path(Simulation *s) noexcept nogil:
    if s.arena.home != NULL:
        prove_shared(s)
    else:
        prove(s)


cdef void back_up(Simulation *s, double value, bint settled) noexcept nogil:
    """Carry a return up the path. ``settled``: ``value`` is already the last node's mean."""
    if is_plain(s):
        back_up_plain(s, value, settled)
    elif s.arena.home != NULL:
        back_up_shared(s, value, settled)
    else:
        back_up_any(s, value, settled)


cdef void back_up_plain(Simulation *s, double value, bint settled) noexcept nogil:
    """``back_up_any`` in a world without chance, proofs and optional columns, in fewer steps: only
    the last node of the path can be new."""
    cdef Arena *tree = &s.arena
    cdef const int32_t *path = s.path
    cdef int32_t i = s.path_length - 1, index = path[i], parent
    cdef double discount = s.discount, low = s.rule.low, high = s.rule.high, mean
    if tree.visits[index] == 0:
        parent = path[i - 1]
        tree.visited += 1
        tree.node[parent].tried += 1
        tree.flags[parent] &= ~NODE_NEXT_READY
    if not settled:
        value = tree.node[index].reward + discount * (
            -value if tree.flags[index] & NODE_TURN else value)
    while True:
        tree.visits[index] += 1
        mean = tree.value[index]
        mean += (value - mean) * reciprocal(tree.visits[index])
        tree.value[index] = mean
        i -= 1
        if i < 0:
            break
        if mean < low:
            low = mean
        if mean > high:
            high = mean
        index = path[i]
        if i > 0:
            value = tree.node[index].reward + discount * (
                -value if tree.flags[index] & NODE_TURN else value)
    widen_range(&s.rule, low, high)


cdef void back_up_any(Simulation *s, double value, bint settled) noexcept nogil:
    cdef Arena *tree = &s.arena
    cdef int32_t last = s.path_length - 1, i, index, parent, flags
    cdef bint many = s.players > 0
    for i in range(last, 0, -1):
        index = s.path[i]
        parent = s.path[i - 1]
        flags = tree.flags[index]
        if many:
            value = carry_up(s, i)
        elif flags & NODE_CHANCE == 0 and not (settled and i == last):
            if flags & NODE_SOME_PROVEN and i < last:
                value = at_least_proven(tree, index, s.path[i + 1], value)
            value = tree.node[index].reward + s.discount * (
                -value if flags & NODE_TURN else value)
        tree.visits[index] += 1
        tree.visited += tree.visits[index] == 1
        if tree.square != NULL:
            take_deviation(tree, index, value)
        tree.value[index] += (value - tree.value[index]) * reciprocal(tree.visits[index])
        if flags & NODE_CHANCE and s.expected and flags & NODE_OPEN == 0:
            value = expected(tree, index)
            tree.value[index] = value
        if tree.flags[parent] & NODE_CHANCE == 0:
            if tree.visits[index] == 1 and tree.in_flight == NULL:
                tree.node[parent].tried += 1
                tree.flags[parent] &= ~NODE_NEXT_READY
            widen_range(&s.rule, tree.value[index], tree.value[index])
    if many:
        value = s.returns[tree.mover[0]]
    if tree.flags[0] & NODE_SOME_PROVEN:
        value = at_least_proven(tree, 0, s.path[1], value)
    tree.visits[0] += 1
    tree.value[0] += (value - tree.value[0]) * reciprocal(tree.visits[0])


cdef inline void take_deviation(Arena *tree, int32_t index, double value) noexcept nogil:
    """One more return into the sum of squared deviations, before the mean moves (Welford 1962)."""
    cdef double deviation = value - tree.value[index]
    cdef double mean = tree.value[index] + deviation * reciprocal(tree.visits[index])
    tree.square[index] += deviation * (value - mean)
