"""Selection rules as row kernels over a node's children. The formulas of the scores stand in rows.h
and only there (and, for the oracle, in reference.py, and as numba rules in scoring.py)."""

from libc.math cimport INFINITY, fabs, fmax, sqrt
from libc.stdint cimport int32_t, int64_t

from mcts_core.tree cimport NODE_PROVEN, NODE_SOME_PROVEN, Arena, Node

cdef extern from "mcts_core/rows.h":
    void fill_tables "mcts_core_fill_tables" () noexcept nogil
    double reciprocal "mcts_core_reciprocal" (int32_t n) noexcept nogil
    double sqrt_log "mcts_core_sqrt_log" (int32_t n) noexcept nogil
    double score_of "mcts_core_score" (int kind, int32_t visits, double value, float prior,
                                       double low, double scale, double factor) noexcept nogil
    int32_t best_of_row "mcts_core_best_of_row" (
        int kind, const int32_t *visits, const double *value, const float *prior, int32_t count,
        int32_t most, double low, double scale, double factor, double *best_score) noexcept nogil

cdef enum:
    RULE_PUCT = 0
    RULE_UCB1 = 1
    RULE_UCB1_TUNED = 2
    RULE_GUMBEL = 3
    RULE_ROW = 4            # a row kernel given by address
    FPU_FIRST = 0           # untried actions first
    FPU_PARENT = 1          # the visit-weighted mean of the tried ones
    FPU_NUMBER = 2          # a given normalised value

# A rule given by its address (scoring.py, or any C code): the index of the child with the best
# score over `count` children, the first of equals, and that score. `visits`, `value` and `prior`
# are rows of the tree; `square` holds the sums of squared deviations of returns (Welford's M2), or
# is NULL. q = (value - low) * scale; variance = square / visits * scale * scale, 0 where `square`
# is NULL or visits 0. An untried child is scored alone: visits 0, value the first-play urgency, low
# 0 and scale 1. A nan is never the best; where all are, the answer is 0 and its score -infinity.
ctypedef int32_t (*row_t)(const int32_t *visits, const double *value, const double *square,
                          const float *prior, int32_t count, int32_t parent_visits, double low,
                          double scale, double exploration, double *best_score) noexcept nogil

ctypedef struct Rule:
    int kind
    int fpu_kind
    double fpu
    double exploration
    double base             # the exploration grows with visits over it; 0: it does not
    bint by_node            # Q is mapped to [0, 1] by the values of the node, not of the tree
    row_t row               # of RULE_ROW
    bint fixed_range        # low and high were given, not seen
    double low              # lowest and highest action value so far
    double high
    double offset           # what rescale makes of them
    double scale


cdef inline void rescale(Rule *rule) noexcept nogil:
    """To be called when the range has changed. (Q - offset) * scale is in [0, 1] (MuZero, eq. 5);
    scale is 0 while all Q are alike."""
    cdef double width = rule.high - rule.low
    cdef double magnitude = fmax(fabs(rule.low), fabs(rule.high))
    rule.offset = 0.0
    rule.scale = 0.0
    if width > 1e-300 and width > 1e-12 * magnitude and width < INFINITY:
        rule.offset = rule.low
        rule.scale = 1.0 / width


cdef inline void widen_range(Rule *rule, double low, double high) noexcept nogil:
    """Action values from ``low`` to ``high`` were seen."""
    if not rule.fixed_range and (low < rule.low or high > rule.high):
        if low < rule.low:
            rule.low = low
        if high > rule.high:
            rule.high = high
        rescale(rule)


cdef inline int32_t best_unproven(const Rule *rule, const Arena *arena, int32_t first,
                                  int32_t count, double low, double scale, double factor,
                                  double *best_score) noexcept nogil:
    """As ``best_of_row``, among the children that are not proven."""
    cdef int32_t i, best = 0
    cdef double score
    best_score[0] = -INFINITY
    for i in range(first, first + count):
        if arena.flags[i] & NODE_PROVEN == 0:
            score = score_of(rule.kind, arena.visits[i], arena.value[i], arena.prior[i],
                             low, scale, factor)
            if score > best_score[0]:
                best_score[0] = score
                best = i - first
    return best


cdef inline double mean_tried(const int32_t *visits, const double *value,
                              int32_t count, double low, double scale) noexcept nogil:
    """Visit-weighted mean of the tried actions, normalised; 0 where none was tried."""
    cdef double total = 0.0
    cdef int64_t visited = 0
    cdef int32_t i
    for i in range(count):
        total = total + visits[i] * value[i]
        visited += visits[i]
    return (total / visited - low) * scale if visited else 0.0


cdef inline int32_t visits_of(const Arena *arena, int32_t index) noexcept nogil:
    """N of a node: its first evaluation and what went through it. The root counts its own too."""
    return arena.visits[index] + (index == 0)


cdef inline int32_t select_child(const Rule *rule, const Arena *arena,
                                 int32_t index) noexcept nogil:
    """Offset of the child to descend to. Tried children form a prefix in order of falling prior,
    so of the untried ones only the first can be the best."""
    cdef const Node *node = &arena.node[index]
    cdef int32_t tried = node.tried, first = node.first_child, best
    cdef int32_t n = visits_of(arena, index)
    cdef double low = rule.offset, scale = rule.scale, factor, best_score, score
    if tried < node.child_count and rule.fpu_kind == FPU_FIRST:
        return tried
    if rule.kind == RULE_PUCT:
        factor = rule.exploration * sqrt(<double>n)
    else:
        factor = rule.exploration * sqrt_log(n)
    if arena.flags[index] & NODE_SOME_PROVEN:
        best = best_unproven(rule, arena, first, tried, low, scale, factor, &best_score)
    elif rule.kind == RULE_PUCT:    # a constant kind each, so that the row is compiled for it
        best = best_of_row(RULE_PUCT, arena.visits + first, arena.value + first,
                           arena.prior + first, tried, n, low, scale, factor, &best_score)
    else:
        best = best_of_row(RULE_UCB1, arena.visits + first, arena.value + first,
                           arena.prior + first, tried, n, low, scale, factor, &best_score)
    if tried < node.child_count:
        score = rule.fpu
        if rule.fpu_kind == FPU_PARENT:
            score = mean_tried(arena.visits + first, arena.value + first, tried, low, scale)
        if rule.kind == RULE_PUCT:
            score = score + factor * arena.prior[first + tried]
        if score > best_score:
            return tried
    return best
