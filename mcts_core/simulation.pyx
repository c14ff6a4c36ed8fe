"""The simulations of a search, without the GIL: select, expand, evaluate, back up.
reference.py says the same in plain Python and is the page to read first."""

from libc.math cimport INFINITY
from libc.stdint cimport uint64_t
from libc.string cimport memcmp, memcpy

from mcts_core.context cimport (EVALUATE_DECISIVE, EVALUATE_FORCED, EVALUATE_ROLLOUT,
                                EVALUATE_SIMULATOR, legal, monotonic_ns, push, release, step,
                                value_of, widen)
from mcts_core.decisive cimport play_decisive
from mcts_core.expansion cimport expand
from mcts_core.gumbel cimport advance_halving
from mcts_core.native cimport STATUS_NO_MEMORY, STATUS_TAKEN, STEP_TERMINAL, STEP_TURN
from mcts_core.proof cimport prove
from mcts_core.rng cimport below, uniform
from mcts_core.selection cimport fill_tables, reciprocal, select_child, widen_range
from mcts_core.transpositions cimport back_up_shared, find, prove_shared, remember
from mcts_core.variants cimport opened, select_variant
from mcts_core.tree cimport (NODE_CHANCE, NODE_OPEN, NODE_PROVEN, NODE_SETTLED, NODE_SOME_PROVEN,
                             NODE_TERMINAL, NODE_TURN, NODE_NEXT_READY, NONE, Arena, add_outcome,
                             add_outcomes, arena_grow_states, at_least_proven, expected, state_at,
                             touch_next)

fill_tables()

cdef int32_t LARGEST = 2147483647
cdef int32_t ENDS = NODE_SETTLED | NODE_PROVEN  # a descent goes no further


cdef int simulate(Simulation *s) noexcept nogil:
    """One simulation. On a status below 0 nothing was counted and the same can be tried again."""
    cdef Arena *tree = &s.arena
    cdef uint64_t rng_before = s.rng
    cdef int32_t node = 0, arrival, depth = 0
    cdef int status
    s.path_length = 0
    status = push(s, 0)
    while status == 0:
        depth += 1
        status = descend(s, node, depth, &arrival)
        if status != 0:
            break
        node = arrival if tree.home == NULL else tree.home[arrival]
        if tree.flags[node] & ENDS == 0 and tree.node[node].first_child == NONE:
            status = expand(s, node, True)
            if status < 0:
                break
        if tree.flags[node] & ENDS or (tree.home != NULL and tree.solved[node]):
            back_up(s, tree.value[node] if tree.home == NULL else tree.mean[node], True)
            if s.solver:
                prove_path(s)
            break
    if status < 0:
        s.rng = rng_before
        return status
    return status if s.collecting else 0


cdef int descend(Simulation *s, int32_t node, int32_t depth, int32_t *arrival) noexcept nogil:
    """One level down. 0: ``arrival`` was visited before; 1: it was new and is now evaluated and
    backed up; below 0: a status."""
    cdef Arena *tree = &s.arena
    cdef int32_t choice = select_child(&s.rule, tree, node) if s.plain else select_variant(s, node)
    cdef int32_t child = tree.node[node].first_child + choice
    cdef int32_t outcome = 0, flags
    cdef double reward = 0.0
    if choice == tree.node[node].tried:
        touch_next(tree, node)
        if tree.in_flight != NULL:          # tried from now on: others may be under way beside it
            tree.node[node].tried += 1
            tree.flags[node] &= ~NODE_NEXT_READY
    arrival[0] = child
    if push(s, child) < 0:
        return STATUS_NO_MEMORY
    if tree.visits[child] > 0 and tree.flags[child] & NODE_CHANCE == 0:
        return 0
    if s.collecting and under_way(tree, child) and tree.flags[child] & NODE_CHANCE == 0:
        return STATUS_TAKEN
    if tree.flags[child] & NODE_OPEN and tree.visits[child] > 0 and tree.node[child].child_count \
            >= opened(s.chance_widening.k, s.chance_widening.alpha, tree.visits[child], LARGEST):
        arrival[0] = draw_known(s, child)
        return push(s, arrival[0])
    flags = step(s, state_at(tree, tree.node[node].state), tree.action[child],
                 s.scratch, &reward, &outcome)
    if flags >= 0 and tree.visits[child] == 0 and tree.flags[child] & NODE_CHANCE == 0:
        flags = open_chance(s, node, child, flags)
    if flags < 0:
        return flags
    if tree.flags[child] & NODE_CHANCE:
        arrival[0] = tree.node[child].first_child + outcome
        if tree.flags[child] & NODE_OPEN:
            arrival[0] = find_outcome(s, child, reward, flags)
            if arrival[0] < 0:
                release(s, s.scratch)
                return arrival[0]
        if push(s, arrival[0]) < 0:
            release(s, s.scratch)
            return STATUS_NO_MEMORY
    if tree.visits[arrival[0]] == 0:
        if s.collecting and under_way(tree, arrival[0]):
            release(s, s.scratch)
            return STATUS_TAKEN
        return visit(s, arrival[0], depth, reward, flags)
    if tree.flags[child] & NODE_OPEN:
        tree.prior[arrival[0]] += 1.0       # drawn once more
    release(s, s.scratch)
    return 0


cdef inline bint under_way(const Arena *tree, int32_t node) noexcept nogil:
    """Is a simulation of this batch going through the node?"""
    return tree.in_flight != NULL and tree.in_flight[node] > 0


cdef int32_t draw_known(Simulation *s, int32_t chance) noexcept nogil:
    """One of the outcomes seen so far, as often as the simulator drew it (kept as its prior): by
    visits (Couetoux et al. 2011) the first ones seen would draw more and more of the rest."""
    cdef Arena *tree = &s.arena
    cdef int32_t outcome = tree.node[chance].first_child
    cdef double left = 0.0
    while outcome != NONE:
        left = left + tree.prior[outcome]
        outcome = tree.action[outcome]
    left = left * uniform(&s.rng)
    outcome = tree.node[chance].first_child
    while left >= tree.prior[outcome] and tree.action[outcome] != NONE:
        left = left - tree.prior[outcome]
        outcome = tree.action[outcome]
    return outcome


cdef int32_t open_chance(Simulation *s, int32_t node, int32_t child, int32_t flags) noexcept nogil:
    """Give an action its outcomes if it has several. Returns ``flags``, or a status below 0."""
    cdef int32_t count
    cdef int status
    if s.table.outcomes == NULL:
        return flags
    count = s.table.outcomes(s.table.context, state_at(&s.arena, s.arena.node[node].state),
                             s.arena.action[child])
    if count > 1:
        status = add_outcomes(&s.arena, child, count)
        if status >= 0:
            status = weigh_outcomes(s, node, child)
        count = status if status < 0 else count
    if count < 0:
        release(s, s.scratch)
        return count
    if count > 1:
        s.arena.flags[child] |= NODE_CHANCE
    elif count == 0:
        s.arena.flags[child] |= NODE_CHANCE | NODE_OPEN
    return flags


cdef int weigh_outcomes(Simulation *s, int32_t node, int32_t chance) noexcept nogil:
    """Give the outcomes of a chance node their probabilities, if they are known. 0, or a status."""
    cdef Arena *tree = &s.arena
    cdef int32_t first = tree.node[chance].first_child, count = tree.node[chance].child_count, i
    cdef int status = 0
    if s.table.probabilities == NULL:
        return 0
    if count > s.wide and widen(s, count) < 0:
        return STATUS_NO_MEMORY
    status = s.table.probabilities(s.table.context, state_at(tree, tree.node[node].state),
                                   tree.action[chance], s.weights)
    for i in range(count if status == 0 else 0):
        tree.prior[first + i] = <float>s.weights[i]
    return status


cdef int32_t find_outcome(Simulation *s, int32_t chance, double reward,
                          int32_t flags) noexcept nogil:
    """The outcome of an open chance node that equals the step just taken (same bytes of state,
    reward and end), or a new one; or a status below 0."""
    cdef Arena *tree = &s.arena
    cdef int32_t outcome = tree.node[chance].first_child, last = NONE
    cdef bint terminal = (flags & STEP_TERMINAL) != 0
    while outcome != NONE:
        if tree.visits[outcome] == 0 and not under_way(tree, outcome):
            return outcome                  # left from a simulation that failed
        if tree.node[outcome].reward == reward \
                and terminal == ((tree.flags[outcome] & NODE_TERMINAL) != 0) \
                and memcmp(state_at(tree, tree.node[outcome].state), s.scratch,
                           s.table.state_size) == 0:
            return outcome
        last = outcome
        outcome = tree.action[outcome]
    return add_outcome(tree, chance, last)


cdef int visit(Simulation *s, int32_t arrival, int32_t depth, double reward,
               int32_t flags) noexcept nogil:
    """First visit: keep the state that the step left in scratch, evaluate it, back up. 1, or a
    status below 0."""
    cdef Arena *tree = &s.arena
    cdef int32_t slot = tree.state_count
    cdef bint settled = (flags & STEP_TERMINAL) != 0 or depth >= s.max_depth
    cdef uint64_t key = 0
    cdef double worth = 0.0
    cdef int status = 0
    if tree.home != NULL and not settled:
        status = s.table.key(s.table.context, s.scratch, &key)
        if status == 0:
            status = link(s, arrival, key, depth, reward, flags)
        if status != 1:
            release(s, s.scratch)
            return status
        status = 0
    if slot == tree.state_slots:
        status = arena_grow_states(tree)
    if status < 0:
        release(s, s.scratch)
        return status
    memcpy(state_at(tree, slot), s.scratch, s.table.state_size)
    if not s.collecting:
        status = evaluate(s, state_at(tree, slot), depth, settled, &worth)
    if status >= 0 and tree.home != NULL and not settled:
        status = remember(&s.known, key, depth, arrival)
    if status < 0:
        release(s, state_at(tree, slot))    # it may own more by now than its copy in scratch
        return status
    tree.state_count += 1
    tree.node[arrival].state = slot
    note_arrival(tree, arrival, reward, flags, settled)
    if s.collecting:
        s.leaf.node = arrival
        s.leaf.depth = depth
        return 1
    finish(s, worth, settled)
    return 1


cdef inline void note_arrival(Arena *tree, int32_t arrival, double reward, int32_t flags,
                              bint settled) noexcept nogil:
    """What the step that led to a node said."""
    tree.node[arrival].reward = reward
    if settled:
        tree.flags[arrival] |= NODE_SETTLED
    if flags & STEP_TERMINAL:
        tree.flags[arrival] |= NODE_TERMINAL
    if flags & STEP_TURN:
        tree.flags[arrival] |= NODE_TURN


cdef int link(Simulation *s, int32_t arrival, uint64_t key, int32_t depth, double reward,
              int32_t flags) noexcept nogil:
    """Is the state known at this depth? 0: yes, and ``arrival`` is linked to it now; 1: no;
    STATUS_TAKEN: its first evaluation is under way."""
    cdef Arena *tree = &s.arena
    cdef int32_t home = find(&s.known, key, depth)
    if home == NONE:
        return 1
    if tree.node_visits[home] == 0:         # under way, or left by a simulation that failed
        return STATUS_TAKEN if under_way(tree, home) else 1
    tree.home[arrival] = home
    tree.node[arrival].state = tree.node[home].state
    note_arrival(tree, arrival, reward, flags, False)
    return 0


cdef void finish(Simulation *s, double worth, bint settled) noexcept nogil:
    if s.arena.raw != NULL:
        s.arena.raw[s.path[s.path_length - 1]] = worth
    back_up(s, worth, False)
    if s.solver and settled:
        prove_path(s)


cdef inline void prove_path(Simulation *s) noexcept nogil:
    if s.arena.home != NULL:
        prove_shared(s)
    else:
        prove(s)


cdef inline bint roll_out(Simulation *s, const void *state, int32_t depth,
                          double *worth) noexcept nogil:
    """The rollout by the simulator's own function, if it is one and nothing goes wrong."""
    cdef uint64_t rng = s.rng
    cdef double win = s.rule.high if s.evaluation == EVALUATE_DECISIVE else INFINITY
    if s.evaluation < EVALUATE_ROLLOUT \
            or s.table.rollout(s.table.context, state, s.max_depth - depth, s.discount, win, &rng,
                               worth) < 0:
        return False
    s.rng = rng
    return True


cdef int evaluate(Simulation *s, const void *state, int32_t depth, bint settled,
                  double *worth) noexcept nogil:
    """Discounted return from ``state`` for its player: forced or random moves, then value."""
    cdef double total = 0.0, weight = 1.0, reward = 0.0, value = 0.0
    cdef int32_t count, flags = STEP_TERMINAL if settled else 0, outcome = 0, turn = 0
    cdef int status = 0
    cdef const void *here = state
    cdef void *there
    if s.table.rollout != NULL and not settled and roll_out(s, state, depth, worth):
        return 0
    if s.evaluation == EVALUATE_DECISIVE and not settled:
        return play_decisive(s, state, depth, worth)
    while s.evaluation != EVALUATE_SIMULATOR and flags & STEP_TERMINAL == 0 \
            and depth < s.max_depth:
        count = legal(s, here)
        if count <= 0 or (s.evaluation == EVALUATE_FORCED and count > 1):
            status = count if count < 0 else 0
            break
        there = s.scratch + (1 + turn) * s.scratch_stride
        flags = step(s, here, s.actions[below(&s.rng, count) if count > 1 else 0],
                     there, &reward, &outcome)
        if flags < 0:
            status = flags
            break
        if here != state:
            release(s, here)
        total = total + weight * reward
        weight = weight * s.discount
        if flags & STEP_TURN:
            weight = -weight
        here = there
        turn = 1 - turn
        depth += 1
    if status == 0:
        status = value_of(s, here, &value)
    if here != state:
        release(s, here)
    worth[0] = total + weight * value
    return status


cdef void back_up(Simulation *s, double value, bint settled) noexcept nogil:
    """Carry a return up the path. ``settled``: ``value`` is already the last node's mean."""
    if s.table.outcomes == NULL and not s.solver and s.arena.columns == 0:
        back_up_plain(s, value, settled)
    elif s.arena.home != NULL:
        back_up_shared(s, value, settled)
    else:
        back_up_any(s, value, settled)


cdef inline void back_up_plain(Simulation *s, double value, bint settled) noexcept nogil:
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
    for i in range(last, 0, -1):
        index = s.path[i]
        parent = s.path[i - 1]
        flags = tree.flags[index]
        if flags & NODE_CHANCE == 0 and not (settled and i == last):
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
    if tree.flags[0] & NODE_SOME_PROVEN:
        value = at_least_proven(tree, 0, s.path[1], value)
    tree.visits[0] += 1
    tree.value[0] += (value - tree.value[0]) * reciprocal(tree.visits[0])


cdef inline void take_deviation(Arena *tree, int32_t index, double value) noexcept nogil:
    """One more return into the sum of squared deviations, before the mean moves (Welford 1962)."""
    cdef double deviation = value - tree.value[index]
    cdef double mean = tree.value[index] + deviation * reciprocal(tree.visits[index])
    tree.square[index] += deviation * (value - mean)


cdef bint decided(const Simulation *s, int32_t target, int32_t *ask_again) noexcept nogil:
    """Each simulation lowers what is left by one and raises a lead by at most one, so the answer
    cannot change before half of the difference is gone."""
    cdef const Arena *tree = &s.arena
    cdef int32_t first = tree.node[0].first_child, most = -1, second = -1, i
    cdef int32_t left = target - s.done
    if s.done == 0:
        ask_again[0] = 1
        return False
    for i in range(first, first + tree.node[0].tried):
        if tree.visits[i] > most:
            second = most
            most = tree.visits[i]
        elif tree.visits[i] > second:
            second = tree.visits[i]
    if tree.node[0].child_count == 1 or most - max(second, 0) > left:
        return True
    ask_again[0] = s.done + max(1, (left - (most - max(second, 0))) // 2)
    return False


cdef int run_slice(Simulation *s, int32_t target, int64_t slice_end) noexcept nogil:
    """The clock is read just often enough to see the end within some 0.1 ms."""
    cdef int64_t last = monotonic_ns(), now
    cdef int32_t countdown = s.stride, ask = 0 if s.early_stop else LARGEST
    cdef int status
    while s.done < target and s.arena.flags[0] & NODE_PROVEN == 0:
        if s.done >= ask and decided(s, target, &ask):
            s.decided = True
            return 0
        status = simulate(s)
        if status < 0:
            return status
        s.done += 1
        if s.halving.on:
            advance_halving(s)
        countdown -= 1
        if countdown == 0:
            now = monotonic_ns()
            if now >= slice_end:
                return 0
            if now - last < 20_000 and s.stride < 4096:
                s.stride *= 2
            elif now - last > 100_000 and s.stride > 1:
                s.stride //= 2
            last = now
            countdown = s.stride
    return 0
