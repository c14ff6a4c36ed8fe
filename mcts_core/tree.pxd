"""The tree: one arena of nodes, children side by side, 45 bytes a node without its state and
without the columns that only some settings ask for.

Children that were not tried hold nothing but their prior and action: expanding a node of a thousand
actions touches eight bytes for each."""

from libc.math cimport INFINITY
from libc.stddef cimport size_t
from libc.stdint cimport int32_t, uint8_t

cdef enum:
    # Flags of a node, added together.
    NODE_CHANCE = 1         # an action whose outcome is drawn; children are the outcomes
    NODE_SETTLED = 2        # terminal, no action, or the horizon: its value never changes
    NODE_TURN = 4           # the player to move here is not the parent's
    NODE_OPEN = 8           # with NODE_CHANCE: outcomes are added as they occur, see next_tried
    NODE_TERMINAL = 16      # with NODE_SETTLED: the step that led here ended the world
    NODE_PROVEN = 32        # value is exact (solver)
    NODE_SOME_PROVEN = 64   # a child is proven
    NODE_NEXT_READY = 128   # the first child not yet tried is blank

ctypedef struct Node:       # 24 bytes: what a descent reads once per level
    double reward           # reward on arrival, as the parent's player sees it
    int32_t first_child     # index of the first child; NONE until expanded
    int32_t child_count
    int32_t tried           # children that were visited: always the first so many
    int32_t state           # slot in states; NONE until visited, and for chance nodes

ctypedef struct Arena:      # arrays of capacity entries, parallel; node 0 is the root
    Node *node
    int32_t *visits
    double *value           # mean return through the node, reward included, parent's player
    float *prior
    int32_t *action         # action at the parent; below chance: index, if open: next outcome
    uint8_t *flags
    int32_t visited         # nodes that were visited, the root included
    int32_t size
    int32_t capacity
    int columns             # COLUMN_...: which of the next ones there are, else NULL
    int32_t *in_flight      # simulations under way through the node
    double *square          # sum of squared deviations of the returns from their mean
    double *raw             # what the node's state was estimated at on its first visit
    int32_t *home           # the node where what is known of this node's state stands
    int32_t *node_visits    # of a home: simulations through its state, whichever way they came
    double *mean            # of a home: mean return from its state on, its player's
    uint8_t *solved         # of a home: that mean is exact. NODE_PROVEN says so of one way to it
    size_t limit            # bytes that nodes and states may take; 0: no limit
    char *states            # state_slots entries of state_stride bytes
    size_t state_stride
    int32_t state_count
    int32_t state_slots

cdef enum:
    NONE = -1

cdef enum:
    # Columns that are made when asked for, added together.
    COLUMN_IN_FLIGHT = 1
    COLUMN_SQUARE = 2
    COLUMN_RAW = 4
    COLUMN_HOME = 8         # home, node_visits, mean and solved

# Make an arena that holds a blank root; free what one holds. 0, or STATUS_NO_MEMORY.
cdef int arena_init(Arena *arena, size_t state_size, int columns, size_t limit) noexcept nogil
cdef void arena_free(Arena *arena) noexcept nogil
# Bytes that so many nodes and states take.
cdef size_t bytes_of(const Arena *arena, int32_t nodes, int32_t states) noexcept nogil
# Make room for `count` more nodes or one more state. 0, STATUS_NO_MEMORY or STATUS_FULL.
cdef int arena_grow(Arena *arena, int32_t count) noexcept nogil
cdef int arena_grow_states(Arena *arena) noexcept nogil
# The visited part as a SearchTree, and each of its nodes' index in the arena (int32 [N]).
cdef object arena_arrays(const Arena *arena)


cdef inline void *state_at(const Arena *arena, int32_t slot) noexcept nogil:
    """The bytes of a state; valid until the next arena_grow_states."""
    return arena.states + <size_t>slot * arena.state_stride


cdef inline void blank(Arena *arena, int32_t index) noexcept nogil:
    """Make a node new: never visited, not expanded, without a state. Prior and action stay."""
    arena.visits[index] = 0
    arena.value[index] = 0.0
    arena.flags[index] = 0
    arena.node[index].reward = 0.0
    arena.node[index].first_child = NONE
    arena.node[index].child_count = 0
    arena.node[index].tried = 0
    arena.node[index].state = NONE
    if arena.columns:
        blank_columns(arena, index)


cdef inline void blank_columns(Arena *arena, int32_t index) noexcept nogil:
    if arena.in_flight != NULL:
        arena.in_flight[index] = 0
    if arena.square != NULL:
        arena.square[index] = 0.0
    if arena.raw != NULL:
        arena.raw[index] = 0.0
    if arena.home != NULL:
        arena.home[index] = index
        arena.node_visits[index] = 0
        arena.mean[index] = 0.0
        arena.solved[index] = 0


cdef inline int32_t add_children(Arena *arena, int32_t parent, int32_t count) noexcept nogil:
    """Append `count` children, to be given prior and action; return the index of the first, or
    a status. They are not blank: see touch_next and add_outcomes."""
    cdef int32_t first = arena.size
    cdef int status = 0
    if count > arena.capacity - arena.size:
        status = arena_grow(arena, count)
        if status < 0:
            return status
    arena.size += count
    arena.node[parent].first_child = first
    arena.node[parent].child_count = count
    return first


cdef inline void touch_next(Arena *arena, int32_t parent) noexcept nogil:
    """Blank the first child that was not tried, unless a simulation that failed has done so."""
    if arena.flags[parent] & NODE_NEXT_READY == 0:
        arena.flags[parent] |= NODE_NEXT_READY
        blank(arena, arena.node[parent].first_child + arena.node[parent].tried)


cdef inline int32_t add_outcomes(Arena *arena, int32_t chance, int32_t count) noexcept nogil:
    """Append the `count` blank outcomes of a chance node; return the first, or a status."""
    cdef int32_t first = add_children(arena, chance, count), i
    if first < 0:
        return first
    for i in range(count):
        blank(arena, first + i)
        arena.prior[first + i] = 1.0
        arena.action[first + i] = i
    arena.node[chance].tried = count
    return first


cdef inline int32_t add_outcome(Arena *arena, int32_t chance, int32_t last) noexcept nogil:
    """Append a blank outcome to an open chance node after its outcome ``last`` (NONE: it is the
    first); return its index, or a status."""
    cdef int32_t index = arena.size
    cdef int status = 0
    if arena.size == arena.capacity:
        status = arena_grow(arena, 1)
        if status < 0:
            return status
    blank(arena, index)
    arena.prior[index] = 1.0
    arena.action[index] = NONE
    arena.size += 1
    arena.node[chance].child_count += 1
    if last == NONE:
        arena.node[chance].first_child = index
    else:
        arena.action[last] = index
    return index


cdef inline int32_t first_tried(const Arena *arena, int32_t parent) noexcept nogil:
    """The first child that may have been visited (of chance: the first outcome); NONE if none."""
    if arena.node[parent].tried == 0 and arena.flags[parent] & NODE_OPEN == 0:
        return NONE
    return arena.node[parent].first_child


cdef inline int32_t next_tried(const Arena *arena, int32_t parent, int32_t child) noexcept nogil:
    """The one after ``child``, in order; NONE after the last."""
    cdef const Node *node = &arena.node[parent]
    if arena.flags[parent] & NODE_OPEN:
        return arena.action[child]
    return child + 1 if child + 1 < node.first_child + node.tried else NONE


cdef inline double expected(const Arena *arena, int32_t chance) noexcept nogil:
    """Probabilities times values of the outcomes seen, over the sum of their probabilities (the
    partial Bellman backup of Keller & Helmert 2013, "Trial-based heuristic tree search")."""
    cdef int32_t first = arena.node[chance].first_child, i
    cdef double total = 0.0, weight = 0.0
    for i in range(first, first + arena.node[chance].child_count):
        if arena.visits[i] > 0:
            total = total + arena.prior[i] * arena.value[i]
            weight = weight + arena.prior[i]
    return total / weight


cdef inline double best_proven(const Arena *arena, int32_t node) noexcept nogil:
    """The value of the best proven action, which its player can always have; else -infinity."""
    cdef int32_t first = arena.node[node].first_child, i
    cdef double best = -INFINITY
    for i in range(first, first + arena.node[node].tried):
        if arena.flags[i] & NODE_PROVEN and arena.value[i] > best:
            best = arena.value[i]
    return best


cdef inline double at_least_proven(const Arena *arena, int32_t node, int32_t tried,
                                   double value) noexcept nogil:
    """The return to back up through ``node``: its best proven action's where the action that was
    tried is worse on average, for that is what its player would take; else what was returned. (The
    larger of the two returns would be biased upwards by every lucky one.)"""
    cdef double known = best_proven(arena, node)
    return known if arena.value[tried] < known else value


cdef inline int32_t best_child(const Arena *arena, int32_t node) noexcept nogil:
    """The child to play: of those not proven the one with most visits, then value, then prior, then
    the first; the best proven one instead if its value is no lower. Of chance the most visited
    outcome. NONE if there is no child."""
    cdef int32_t i = first_tried(arena, node), best = NONE, proven = NONE
    cdef bint choice = arena.flags[node] & NODE_CHANCE == 0
    while i != NONE:
        if choice and arena.flags[i] & NODE_PROVEN:
            if proven == NONE or arena.value[i] > arena.value[proven]:
                proven = i
        elif best == NONE or arena.visits[i] > arena.visits[best]:
            best = i
        elif arena.visits[i] == arena.visits[best]:
            if arena.value[i] > arena.value[best]:
                best = i
            elif arena.value[i] == arena.value[best] and arena.prior[i] > arena.prior[best]:
                best = i
        i = next_tried(arena, node, i)
    if proven != NONE and (best == NONE or arena.visits[best] == 0
                           or arena.value[proven] >= arena.value[best]):
        return proven
    return best
