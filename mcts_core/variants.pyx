"""Selection with all that is off by default: UCB1-Tuned, row kernels given by address, progressive
widening, values mapped by node, simulations under way; and the way to ``gumbel``."""

from libc.math cimport INFINITY, fmax, fmin, log, pow, sqrt
from libc.stdint cimport uint8_t

from mcts_core.gumbel cimport select_halving, select_improved
from mcts_core.selection cimport (FPU_FIRST, FPU_PARENT, RULE_GUMBEL, RULE_PUCT, RULE_ROW,
                                  RULE_UCB1, RULE_UCB1_TUNED, Rule, fill_tables, mean_tried,
                                  rescale, score_of, sqrt_log, visits_of)
from mcts_core.transpositions cimport refresh
from mcts_core.tree cimport NODE_PROVEN, NODE_SOME_PROVEN, Arena

fill_tables()

ctypedef struct Row:        # what the scores of a node's children have in common
    int32_t visits          # N of the node, simulations under way included
    double low
    double scale
    double exploration      # c
    double factor           # c sqrt(N) or c sqrt(ln N)


cdef int32_t opened(double k, double alpha, int32_t visits, int32_t count) noexcept nogil:
    """max(1, floor(k N^alpha)), at most ``count`` (Couetoux et al. 2011, section 3)."""
    cdef double wanted
    if k == 0.0:
        return count
    wanted = k * pow(<double>visits, alpha)
    if wanted >= count:
        return count
    return <int32_t>wanted if wanted >= 1.0 else 1


cdef int32_t select_variant(Simulation *s, int32_t index) noexcept nogil:
    """Tried children form a prefix in order of falling prior, so of the untried ones only the first
    can be the best. A child that a failed simulation left without visits comes first."""
    cdef const Arena *tree = &s.arena
    cdef int32_t tried = tree.node[index].tried
    cdef int32_t count = opened(s.widening.k, s.widening.alpha, passes(s, index),
                                tree.node[index].child_count)
    cdef Row row
    if tree.home != NULL:
        refresh(s, index)
    if index == 0 and s.halving.on:
        return select_halving(s)
    if s.rule.kind == RULE_GUMBEL:
        return select_improved(s, index, count)
    if tried < count and s.rule.fpu_kind == FPU_FIRST:
        return tried
    row = row_of(s, index)
    return best_of(s, index, &row, tried < count)


cdef inline int32_t passes(const Simulation *s, int32_t index) noexcept nogil:
    """N of a node, whichever way the simulations came."""
    if s.arena.home != NULL:
        return s.arena.node_visits[index] + (index == 0)
    return visits_of(&s.arena, index)


cdef Row row_of(const Simulation *s, int32_t index) noexcept nogil:
    cdef const Rule *rule = &s.rule
    cdef Row row
    row.visits = passes(s, index)
    if s.arena.in_flight != NULL:
        row.visits += s.arena.in_flight[index] * s.virtual_loss
    row.exploration = rule.exploration
    if rule.base > 0.0:
        row.exploration = rule.exploration + log((row.visits + rule.base + 1.0) / rule.base)
    row.factor = row.exploration * (sqrt(<double>row.visits) if rule.kind == RULE_PUCT
                                    else sqrt_log(row.visits))
    if rule.by_node and not rule.fixed_range:
        normalise_by_node(s, index, &row.low, &row.scale)
    else:
        row.low = rule.offset
        row.scale = rule.scale
    return row


cdef void normalise_by_node(const Simulation *s, int32_t index, double *low,
                            double *scale) noexcept nogil:
    """As ``rescale``, over the value of the node and those of its tried children (mctx,
    ``qtransform_by_parent_and_siblings``)."""
    cdef const Arena *tree = &s.arena
    cdef int32_t first = tree.node[index].first_child, i
    cdef double total = tree.raw[index]
    cdef int32_t visits = 1
    cdef Rule range_of
    range_of.low = INFINITY
    range_of.high = -INFINITY
    for i in range(first, first + tree.node[index].tried):
        if tree.visits[i] > 0:
            total = total + tree.visits[i] * tree.value[i]
            visits += tree.visits[i]
            range_of.low = fmin(range_of.low, tree.value[i])
            range_of.high = fmax(range_of.high, tree.value[i])
    range_of.low = fmin(range_of.low, total / visits)
    range_of.high = fmax(range_of.high, total / visits)
    rescale(&range_of)
    low[0] = range_of.low
    scale[0] = range_of.scale


cdef int32_t best_of(const Simulation *s, int32_t index, const Row *row,
                     bint untried) noexcept nogil:
    """argmax of the scores, the first of equals, proven children left out; then the first untried
    child, if there is one, against it."""
    cdef const Arena *tree = &s.arena
    cdef int32_t first = tree.node[index].first_child, tried = tree.node[index].tried
    cdef int32_t best = 0, i
    cdef double best_score = -INFINITY, score
    if s.rule.kind == RULE_ROW and tried > 0 and s.arena.in_flight == NULL \
            and tree.flags[index] & NODE_SOME_PROVEN == 0:
        best = s.rule.row(tree.visits + first, tree.value + first,
                          tree.square + first if tree.square != NULL else NULL,
                          tree.prior + first, tried, row.visits, row.low, row.scale,
                          row.exploration, &best_score)
    elif tree.in_flight != NULL and s.rule.kind == RULE_PUCT:     # a constant kind each
        best = best_under_way(RULE_PUCT, s, first, tried, row, &best_score)
    elif tree.in_flight != NULL and s.rule.kind == RULE_UCB1:
        best = best_under_way(RULE_UCB1, s, first, tried, row, &best_score)
    else:
        for i in range(tried):
            if tree.flags[first + i] & NODE_PROVEN == 0:
                score = score_under_way(s, first + i, row)
                if score > best_score:
                    best_score = score
                    best = i
    if untried:
        score = s.rule.fpu
        if s.rule.fpu_kind == FPU_PARENT:
            score = mean_tried(tree.visits + first, tree.value + first, tried, row.low, row.scale)
        if score_untried(s, first + tried, row, score) > best_score:
            best = tried
    return best


cdef inline int32_t best_under_way(int kind, const Simulation *s, int32_t first, int32_t count,
                                   const Row *row, double *best_score) noexcept nogil:
    """``score_under_way`` of a row of PUCT or UCB1 in one loop, as batches and threads select."""
    cdef const Arena *tree = &s.arena
    cdef const int32_t *visits = tree.visits + first
    cdef const int32_t *in_flight = tree.in_flight + first
    cdef const uint8_t *flags = tree.flags + first
    cdef const double *value = tree.value + first
    cdef const float *prior = tree.prior + first
    cdef int32_t i, n, lost, best = 0
    cdef double top = -INFINITY, score, mean
    for i in range(count):
        if flags[i] & NODE_PROVEN:
            continue
        lost = in_flight[i] * s.virtual_loss
        n = visits[i] + lost
        mean = value[i] if lost == 0 else with_losses(value[i], visits[i], lost, row)
        score = INFINITY if n == 0 else score_of(kind, n, mean, prior[i], row.low, row.scale,
                                                 row.factor)
        if score > top:
            top = score
            best = i
    best_score[0] = top
    return best


cdef inline double with_losses(double value, int32_t visits, int32_t lost,
                               const Row *row) noexcept nogil:
    """A mean return with ``lost`` visits more that returned the lowest value."""
    if row.scale > 0.0:
        return (visits * value + lost * row.low) / (visits + lost)
    return value


cdef double score_under_way(const Simulation *s, int32_t child, const Row *row) noexcept nogil:
    """The score of a tried child; simulations under way through it count as ``virtual_loss``
    visits that returned the lowest value (Chaslot et al. 2008, section 4.3)."""
    cdef const Arena *tree = &s.arena
    cdef int32_t visits = tree.visits[child], lost = 0
    cdef double value = tree.value[child]
    if tree.in_flight != NULL:
        lost = tree.in_flight[child] * s.virtual_loss
        if visits + lost == 0:
            return INFINITY                 # left by a simulation that failed
        if lost > 0:
            value = with_losses(value, visits, lost, row)
    return score_one(s, visits + lost, value, child, row)


cdef inline double score_one(const Simulation *s, int32_t visits, double value, int32_t child,
                             const Row *row) noexcept nogil:
    cdef const Arena *tree = &s.arena
    cdef double score = 0.0, square
    if s.rule.kind == RULE_ROW:
        s.rule.row(&visits, &value, tree.square + child if tree.square != NULL else NULL,
                   tree.prior + child, 1, row.visits, row.low, row.scale, row.exploration, &score)
        return score
    if s.rule.kind == RULE_UCB1_TUNED:
        square = tree.square[child] * row.scale * row.scale
        return (value - row.low) * row.scale + row.exploration * tuned_bonus(
            row.visits, visits, square / visits)
    return score_of(RULE_PUCT if s.rule.kind == RULE_PUCT else RULE_UCB1, visits, value,
                    tree.prior[child], row.low, row.scale, row.factor)


cdef inline double tuned_bonus(int32_t parent_visits, int32_t visits,
                               double variance) noexcept nogil:
    """sqrt(ln N / n min(1/4, V + sqrt(2 ln N / n))) (Auer et al. 2002, section 4)."""
    cdef double share = log(<double>parent_visits) / visits
    return sqrt(share * fmin(0.25, variance + sqrt(2.0 * share)))


cdef double score_untried(const Simulation *s, int32_t child, const Row *row,
                          double urgency) noexcept nogil:
    """The score of a child never tried: its first-play urgency, and what the rule adds for it."""
    cdef int32_t visits = 0
    cdef double score = urgency
    if s.rule.kind == RULE_PUCT:
        return urgency + row.factor * s.arena.prior[child]
    if s.rule.kind == RULE_ROW:
        s.rule.row(&visits, &urgency, NULL, s.arena.prior + child, 1, row.visits, 0.0, 1.0,
                   row.exploration, &score)
    return score
