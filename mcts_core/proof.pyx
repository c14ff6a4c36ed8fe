"""Proven values: MCTS-Solver (Winands, Bjornsson & Saito 2008, "Monte-Carlo tree search solver")
generalised to any return, and to chance whose probabilities are known."""

from mcts_core.context cimport widen
from mcts_core.selection cimport widen_range
from mcts_core.tree cimport (NODE_CHANCE, NODE_OPEN, NODE_PROVEN, NODE_SOME_PROVEN, NODE_TURN, NONE,
                             Arena, state_at)


cdef void prove(Simulation *s) noexcept nogil:
    """The last node of the path is settled: prove it, and what that proves above it."""
    cdef Arena *tree = &s.arena
    cdef int32_t i = s.path_length - 1, parent
    cdef double best = 0.0
    if tree.flags[s.path[i]] & NODE_PROVEN:
        return                              # known before
    tree.flags[s.path[i]] |= NODE_PROVEN
    while i > 0:
        parent = s.path[i - 1]
        tree.flags[parent] |= NODE_SOME_PROVEN
        if not decides(s, s.path[i - 2] if i > 1 else NONE, parent, tree.value[s.path[i]], &best):
            return
        tree.flags[parent] |= NODE_PROVEN
        i -= 1
        if i > 0:
            if tree.flags[parent] & NODE_CHANCE == 0:
                best = tree.node[parent].reward + s.discount * (
                    -best if tree.flags[parent] & NODE_TURN else best)
            if tree.flags[s.path[i - 1]] & NODE_CHANCE == 0:
                widen_range(&s.rule, best, best)
        tree.value[parent] = best


cdef bint decides(Simulation *s, int32_t above, int32_t node, double value,
                  double *best) noexcept nogil:
    """Is ``node`` proven now that a child of it is proven to be worth ``value``? Then ``best`` is
    its own value, its player's; of a chance node, which stands below ``above``, the expectation."""
    cdef Arena *tree = &s.arena
    cdef int32_t first = tree.node[node].first_child, child
    cdef bint chance = tree.flags[node] & NODE_CHANCE != 0
    if chance and (not s.expected or tree.flags[node] & NODE_OPEN):
        return False
    best[0] = value
    if not chance and s.rule.fixed_range and value >= s.rule.high:
        return True
    if tree.node[node].tried < tree.node[node].child_count:
        return False
    for child in range(first, first + tree.node[node].child_count):
        if tree.flags[child] & NODE_PROVEN == 0:
            return False
        if tree.value[child] > best[0]:
            best[0] = tree.value[child]
    return exact_expectation(s, above, node, best) if chance else True


cdef bint exact_expectation(Simulation *s, int32_t above, int32_t chance,
                            double *value) noexcept nogil:
    """The sum of probabilities times values, in double precision. False if it is not known."""
    cdef Arena *tree = &s.arena
    cdef int32_t first = tree.node[chance].first_child, count = tree.node[chance].child_count, i
    if count > s.wide and widen(s, count) < 0:
        return False
    if s.table.probabilities(s.table.context, state_at(tree, tree.node[above].state),
                             tree.action[chance], s.weights) < 0:
        return False
    value[0] = 0.0
    for i in range(count):
        value[0] = value[0] + s.weights[i] * tree.value[first + i]
    return True
