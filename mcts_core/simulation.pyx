"""The simulations of a search, without the GIL: select, expand, evaluate, back up.
reference.py says the same in plain Python and is the page to read first."""

from libc.math cimport INFINITY
from libc.stdint cimport uint64_t
from libc.string cimport memcmp, memcpy

from mcts_core.context cimport (EVALUATE_DECISIVE, EVALUATE_FORCED, EVALUATE_ROLLOUT,
                                EVALUATE_SIMULATOR, legal, monotonic_ns, push, release, step,
                                value_of)
from mcts_core.decisive cimport play_decisive
from mcts_core.expansion cimport expand
from mcts_core.native cimport STATUS_NO_MEMORY, STEP_TERMINAL, STEP_TURN
from mcts_core.rng cimport below
from mcts_core.selection cimport fill_tables, reciprocal, select_child
from mcts_core.tree cimport (NODE_CHANCE, NODE_OPEN, NODE_PROVEN, NODE_SETTLED, NODE_SOME_PROVEN,
                             NODE_TERMINAL, NODE_TURN, NODE_NEXT_READY, NONE, Arena, add_outcome,
                             add_outcomes, arena_grow_states, best_proven, state_at, touch_next)

fill_tables()

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
        if tree.flags[arrival] & ENDS == 0 and tree.node[arrival].first_child == NONE:
            status = expand(s, arrival, False)
            if status < 0:
                break
        if tree.flags[arrival] & ENDS:
            back_up(s, tree.value[arrival], True)
            if s.solver:
                prove(s)
            break
        node = arrival
    if status < 0:
        s.rng = rng_before
        return status
    return 0


cdef int descend(Simulation *s, int32_t node, int32_t depth, int32_t *arrival) noexcept nogil:
    """One level down. 0: ``arrival`` was visited before; 1: it was new and is now evaluated and
    backed up; below 0: a status."""
    cdef Arena *tree = &s.arena
    cdef int32_t choice = select_child(&s.rule, tree, node)
    cdef int32_t child = tree.node[node].first_child + choice
    cdef int32_t outcome = 0, flags
    cdef double reward = 0.0
    if choice == tree.node[node].tried:
        touch_next(tree, node)
    arrival[0] = child
    if push(s, child) < 0:
        return STATUS_NO_MEMORY
    if tree.visits[child] > 0 and tree.flags[child] & NODE_CHANCE == 0:
        return 0
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
        return visit(s, arrival[0], depth, reward, flags)
    release(s, s.scratch)
    return 0


cdef int32_t open_chance(Simulation *s, int32_t node, int32_t child, int32_t flags) noexcept nogil:
    """Give an action its outcomes if it has several. Returns ``flags``, or a status below 0."""
    cdef int32_t count
    if s.table.outcomes == NULL:
        return flags
    count = s.table.outcomes(s.table.context, state_at(&s.arena, s.arena.node[node].state),
                             s.arena.action[child])
    if count > 1 and add_outcomes(&s.arena, child, count) < 0:
        count = STATUS_NO_MEMORY
    if count < 0:
        release(s, s.scratch)
        return count
    if count > 1:
        s.arena.flags[child] |= NODE_CHANCE
    elif count == 0:
        s.arena.flags[child] |= NODE_CHANCE | NODE_OPEN
    return flags


cdef int32_t find_outcome(Simulation *s, int32_t chance, double reward,
                          int32_t flags) noexcept nogil:
    """The outcome of an open chance node that equals the step just taken (same bytes of state,
    reward and end), or a new one; or a status below 0."""
    cdef Arena *tree = &s.arena
    cdef int32_t outcome = tree.node[chance].first_child, last = NONE
    cdef bint terminal = (flags & STEP_TERMINAL) != 0
    while outcome != NONE:
        if tree.visits[outcome] == 0:       # left from a simulation that failed
            return outcome
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
    cdef double worth = 0.0
    cdef int status = 0
    if slot == tree.state_slots:
        status = arena_grow_states(tree)
    if status == 0:
        memcpy(state_at(tree, slot), s.scratch, s.table.state_size)
        status = evaluate(s, state_at(tree, slot), depth, settled, &worth)
    if status < 0:
        release(s, s.scratch)
        return status
    tree.state_count += 1
    tree.node[arrival].state = slot
    tree.node[arrival].reward = reward
    if settled:
        tree.flags[arrival] |= NODE_SETTLED
    if flags & STEP_TERMINAL:
        tree.flags[arrival] |= NODE_TERMINAL
    if flags & STEP_TURN:
        tree.flags[arrival] |= NODE_TURN
    back_up(s, worth, False)
    if s.solver and settled:
        prove(s)
    return 1


cdef inline double at_least_proven(const Arena *tree, int32_t node, int32_t tried,
                                   double value) noexcept nogil:
    """The return to back up through ``node``: its best proven action's where the action that was
    tried is worse on average, for that is what its player would take; else what was returned. (The
    larger of the two returns would be biased upwards by every lucky one.)"""
    cdef double known = best_proven(tree, node)
    return known if tree.value[tried] < known else value


cdef void prove(Simulation *s) noexcept nogil:
    """The last node of the path is settled: prove it, and what that proves above it."""
    cdef Arena *tree = &s.arena
    cdef int32_t i = s.path_length - 1, parent, child
    cdef double best
    if tree.flags[s.path[i]] & NODE_PROVEN:
        return                              # known before
    tree.flags[s.path[i]] |= NODE_PROVEN
    while i > 0:
        parent = s.path[i - 1]
        tree.flags[parent] |= NODE_SOME_PROVEN
        if tree.flags[parent] & NODE_CHANCE:
            return
        best = tree.value[s.path[i]]
        if not (s.rule.fixed_range and best >= s.rule.high):
            if tree.node[parent].tried < tree.node[parent].child_count:
                return
            for child in range(tree.node[parent].first_child,
                               tree.node[parent].first_child + tree.node[parent].child_count):
                if tree.flags[child] & NODE_PROVEN == 0:
                    return
                if tree.value[child] > best:
                    best = tree.value[child]
        tree.flags[parent] |= NODE_PROVEN
        i -= 1
        if i > 0:
            best = tree.node[parent].reward + s.discount * (
                -best if tree.flags[parent] & NODE_TURN else best)
            if tree.flags[s.path[i - 1]] & NODE_CHANCE == 0:
                widen_range(s, best)
        tree.value[parent] = best


cdef inline void widen_range(Simulation *s, double value) noexcept nogil:
    """An action value was seen."""
    if not s.rule.fixed_range:
        if value < s.rule.low:
            s.rule.low = value
        if value > s.rule.high:
            s.rule.high = value


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
        tree.value[index] += (value - tree.value[index]) * reciprocal(tree.visits[index])
        if tree.flags[parent] & NODE_CHANCE == 0:
            if tree.visits[index] == 1:
                tree.node[parent].tried += 1
                tree.flags[parent] &= ~NODE_NEXT_READY
            widen_range(s, tree.value[index])
    if tree.flags[0] & NODE_SOME_PROVEN:
        value = at_least_proven(tree, 0, s.path[1], value)
    tree.visits[0] += 1
    tree.value[0] += (value - tree.value[0]) * reciprocal(tree.visits[0])


cdef int run_slice(Simulation *s, int32_t target, int64_t slice_end) noexcept nogil:
    """The clock is read just often enough to see the end within some 0.1 ms."""
    cdef int64_t last = monotonic_ns(), now
    cdef int32_t countdown = s.stride
    cdef int status
    while s.done < target and s.arena.flags[0] & NODE_PROVEN == 0:
        status = simulate(s)
        if status < 0:
            return status
        s.done += 1
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
