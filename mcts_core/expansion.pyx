"""Giving a node its children, in order of falling prior."""

from libc.stdlib cimport qsort

from mcts_core.context cimport Ranked, legal, refuse
from mcts_core.native cimport LIMIT
from mcts_core.tree cimport NODE_SETTLED, add_children, state_at


cdef int expand(Simulation *s, int32_t index, bint ask) noexcept nogil:
    cdef const void *state = state_at(&s.arena, s.arena.node[index].state)
    cdef int32_t count = legal(s, state), status = 1
    if count < 0:
        return count
    if count == 0:
        s.arena.flags[index] |= NODE_SETTLED
        return 0
    if ask and s.table.prior != NULL:
        status = s.table.prior(s.table.context, state, count, s.weights)
        if status < 0:
            return status
    if status == 0:
        status = check_weights(s, state, count, s.actions, s.weights)
        if status < 0:
            return status
    return add_ranked(s, index, count, s.weights if status == 0 else NULL)


cdef int check_weights(Simulation *s, const void *state, int32_t count, const int32_t *actions,
                       const double *weights) noexcept nogil:
    cdef int32_t i
    for i in range(count):
        if not 0.0 <= weights[i] <= LIMIT:
            return refuse(s, state, actions[i], weights[i])
    return 0


cdef int reweigh(Simulation *s, int32_t index) noexcept nogil:
    cdef int32_t first = s.arena.node[index].first_child, count = s.arena.node[index].child_count
    cdef int32_t i
    cdef int status = check_weights(s, state_at(&s.arena, s.arena.node[index].state), count,
                                    s.arena.action + first, s.weights)
    if status < 0:
        return status
    for i in range(count):
        s.actions[i] = s.arena.action[first + i]
    set_ranked(s, first, count, s.weights)
    return 0


cdef int add_ranked(Simulation *s, int32_t index, int32_t count,
                    const double *weights) noexcept nogil:
    """Append the children in order of falling prior, equal ones as offered. NULL or all zero:
    uniform."""
    cdef int32_t first = add_children(&s.arena, index, count)
    if first < 0:
        return first
    set_ranked(s, first, count, weights)
    return 0


cdef void set_ranked(Simulation *s, int32_t first, int32_t count,
                     const double *weights) noexcept nogil:
    """Write prior and action of the children at ``first``, the actions from s.actions."""
    cdef double total = 0.0, uniform = 1.0 / count
    cdef int32_t i
    if weights != NULL:
        for i in range(count):
            total = total + weights[i]
    if total > 0.0:
        rank(s, count, weights, total)
        for i in range(count):
            s.arena.prior[first + i] = s.ranked[i].prior
            s.arena.action[first + i] = s.ranked[i].action
    else:
        for i in range(count):
            s.arena.prior[first + i] = <float>uniform
            s.arena.action[first + i] = s.actions[i]


cdef void rank(Simulation *s, int32_t count, const double *weights, double total) noexcept nogil:
    """The legal actions into s.ranked, with their priors, in order."""
    cdef double uniform = 1.0 / count
    cdef bint in_order = True
    cdef int32_t i
    for i in range(count):
        s.ranked[i].prior = <float>((1.0 - s.prior_mix) * (weights[i] / total)
                                    + s.prior_mix * uniform)
        s.ranked[i].action = s.actions[i]
        s.ranked[i].order = i
        in_order = in_order and (i == 0 or s.ranked[i].prior <= s.ranked[i - 1].prior)
    if not in_order:
        qsort(s.ranked, count, sizeof(Ranked), by_falling_prior)


cdef int by_falling_prior(const void *a, const void *b) noexcept nogil:
    cdef const Ranked *left = <const Ranked *>a
    cdef const Ranked *right = <const Ranked *>b
    if left.prior != right.prior:
        return -1 if left.prior > right.prior else 1
    return -1 if left.order < right.order else 1
