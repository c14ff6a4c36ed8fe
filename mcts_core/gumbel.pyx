"""Planning with Gumbel: the improved policy, and sequential halving at the root (Danihelka, Guez,
Schrittwieser & Silver 2022, "Policy improvement by planning with Gumbel")."""

from libc.math cimport INFINITY, exp, fmax, fmin
from libc.stdint cimport int32_t

from mcts_core.context cimport Halving, Simulation
from mcts_core.tree cimport NODE_PROVEN, Arena


cdef Improved improve(const Simulation *s, int32_t index) noexcept nogil:
    """Completed values and their scale: actions never tried count as the mixed value (appendix D),
    values are scaled by (c_visit + max n) c_scale (eq. 8), after mapping to [0, 1] if wanted."""
    cdef const Arena *tree = &s.arena
    cdef int32_t first = tree.node[index].first_child, tried = tree.node[index].tried, i
    cdef int32_t visits = 0, most = 0
    cdef double prior = 0.0, weighted = 0.0, low = INFINITY, high = -INFINITY
    cdef Improved out
    for i in range(first, first + tried):
        if tree.visits[i] > 0:
            visits += tree.visits[i]
            most = max(most, tree.visits[i])
            prior = prior + tree.prior[i]
            weighted = weighted + tree.prior[i] * tree.value[i]
            low = fmin(low, tree.value[i])
            high = fmax(high, tree.value[i])
    out.mixed = tree.raw[index]
    if prior > 0.0 and s.mixed_value:
        out.mixed = (tree.raw[index] + visits * (weighted / prior)) / (visits + 1)
    if tried < tree.node[index].child_count or visits == 0:
        low = fmin(low, out.mixed)
        high = fmax(high, out.mixed)
    out.low = 0.0
    out.scale = (s.visit_scale + most) * s.value_scale
    if s.rescale:
        out.low = low
        out.scale = out.scale / fmax(high - low, 1e-8)
    return out


cdef inline double completed(const Arena *tree, int32_t child, const Improved *by) noexcept nogil:
    """The transformed value of a tried child."""
    return ((tree.value[child] if tree.visits[child] > 0 else by.mixed) - by.low) * by.scale


cdef inline int32_t counted(const Arena *tree, int32_t child) noexcept nogil:
    """Visits of a tried child, those under way included."""
    return tree.visits[child] + (tree.in_flight[child] if tree.in_flight != NULL else 0)


cdef double highest(const Simulation *s, int32_t index, const Improved *by) noexcept nogil:
    """The largest transformed value at a node: what exponents are taken relative to."""
    cdef int32_t first = s.arena.node[index].first_child, i
    cdef double top = -INFINITY
    if s.arena.node[index].tried < s.arena.node[index].child_count:
        top = (by.mixed - by.low) * by.scale
    for i in range(first, first + s.arena.node[index].tried):
        top = fmax(top, completed(&s.arena, i, by))
    return top


cdef int32_t select_improved(const Simulation *s, int32_t index, int32_t count) noexcept nogil:
    """argmax of pi'(a) - n(a) / (1 + sum n), pi' = softmax(logits + transformed values) (eq. 14).

    Actions never tried share one transformed value, so their part of the sum is their prior's."""
    cdef const Arena *tree = &s.arena
    cdef int32_t first = tree.node[index].first_child, tried = tree.node[index].tried, i, best = 0
    cdef Improved by = improve(s, index)
    cdef double fallback = (by.mixed - by.low) * by.scale
    cdef double top = highest(s, index, &by), total = 0.0, tried_prior = 0.0, score
    cdef double best_score = -INFINITY
    cdef int32_t visits = 1
    for i in range(first, first + tried):
        total = total + tree.prior[i] * exp(completed(tree, i, &by) - top)
        tried_prior = tried_prior + tree.prior[i]
        visits += counted(tree, i)
    if tried < tree.node[index].child_count:
        total = total + fmax(0.0, 1.0 - tried_prior) * exp(fallback - top)
    total = fmax(total, 1e-300)
    for i in range(first, first + tried):
        if tree.flags[i] & NODE_PROVEN == 0:
            score = tree.prior[i] * exp(completed(tree, i, &by) - top) / total \
                - <double>counted(tree, i) / visits
            if score > best_score:
                best_score = score
                best = i - first
    if tried < count and tree.prior[first + tried] * exp(fallback - top) / total > best_score:
        return tried
    return best


cdef double halving_score(const Simulation *s, int32_t offset, const Improved *by) noexcept nogil:
    """g(a) + logit(a) + transformed value (figure 1)."""
    cdef int32_t child = s.arena.node[0].first_child + offset
    cdef double value = (by.mixed - by.low) * by.scale
    if offset < s.arena.node[0].tried:
        value = completed(&s.arena, child, by)
    return fmax(s.halving.scores[offset], -1e9) + value


cdef int32_t select_halving(const Simulation *s) noexcept nogil:
    """Of the actions with as few visits as this round's, the one with the best score. The children
    stand in order of Gumbel noise + logit, so of the untried ones the first is the best."""
    cdef const Arena *tree = &s.arena
    cdef int32_t first = tree.node[0].first_child, tried = tree.node[0].tried, i
    cdef int32_t best = -1, other = 0
    cdef double best_score = -INFINITY, other_score = -INFINITY, score
    cdef Improved by = improve(s, 0)
    for i in range(tried):
        if tree.flags[first + i] & NODE_PROVEN == 0:
            score = halving_score(s, i, &by)
            if counted(tree, first + i) == s.halving.visits and score > best_score:
                best_score = score
                best = i
            if score > other_score:
                other_score = score
                other = i
    if s.halving.visits == 0 and tried < tree.node[0].child_count:
        score = halving_score(s, tried, &by)
        if score > best_score:
            return tried
    if best >= 0:
        return best
    if other_score == -INFINITY and tried < tree.node[0].child_count:
        return tried                        # all that were tried are proven
    return other


cdef void plan_phase(Halving *h, int32_t considered) noexcept nogil:
    """As many rounds as give each of the ceil(log2 m) phases the same share of the planned
    simulations, one at least (algorithm 2)."""
    cdef int32_t phases = 1
    while (1 << phases) < h.most:
        phases += 1
    h.considered = considered
    h.rounds = max(1, h.planned // (phases * considered))


cdef void advance_halving(Simulation *s) noexcept nogil:
    """Rounds of one visit to each considered action; then half as many, down to two."""
    cdef Halving *h = &s.halving
    h.rank += 1
    if h.rank < h.considered:
        return
    h.rank = 0
    h.visits += 1
    h.rounds -= 1
    if h.rounds > 0 or h.considered == 1:
        return
    plan_phase(h, max(2, h.considered // 2))


cdef int32_t gumbel_choice(const Simulation *s) noexcept nogil:
    """Of the actions with most visits the one with the best score."""
    cdef const Arena *tree = &s.arena
    cdef int32_t first = tree.node[0].first_child, i, best = 0, most = 0
    cdef double best_score = -INFINITY, score
    cdef Improved by = improve(s, 0)
    for i in range(tree.node[0].tried):
        most = max(most, tree.visits[first + i])
    for i in range(tree.node[0].tried):
        score = halving_score(s, i, &by)
        if tree.visits[first + i] == most and score > best_score:
            best_score = score
            best = i
    return best


cdef double improved_share(const Simulation *s, int32_t child, const Improved *by) noexcept nogil:
    """P exp(transformed value - the largest possible), proportional to pi' (eq. 11)."""
    cdef int32_t offset = child - s.arena.node[0].first_child
    cdef double value = (by.mixed - by.low) * by.scale
    if offset < s.arena.node[0].tried:
        value = completed(&s.arena, child, by)
    return s.arena.prior[child] * exp(value - highest(s, 0, by))
