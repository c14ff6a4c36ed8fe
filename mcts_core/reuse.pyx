"""Going on from a node of a finished search: what lies below it becomes the tree.

The subtree is copied, breadth first, into a new arena: it stands together there, and what is not
kept is given back. The horizon moves along, so places where it ended go on from now on.
"""

from libc.stddef cimport size_t
from libc.stdlib cimport calloc, free, malloc
from libc.stdint cimport uint64_t
from libc.string cimport memcpy, memset

from mcts_core.context cimport release
from mcts_core.native cimport STATUS_NO_MEMORY
from mcts_core.transpositions cimport find, forget_all, remember
from mcts_core.tree cimport (NODE_CHANCE, NODE_NEXT_READY, NODE_OPEN, NODE_PROVEN, NODE_SETTLED,
                             NODE_SOME_PROVEN, NODE_TERMINAL, NODE_TURN, NONE, Arena,
                             add_children, add_outcome, arena_free, arena_grow_states, arena_init,
                             blank, first_tried, next_tried, players_of, state_at)

cdef enum:
    # In `source`:
    LINKED = -2             # what lies below the node stands at another, its home
    DEPENDS = -3            # later on: the node's value depends on the old horizon

cdef int32_t OF_STEP = NODE_TERMINAL | NODE_TURN    # what the step said, not the state

ctypedef struct Copying:
    Arena *old
    Arena new
    int32_t *source         # [nodes of new] where in old its children are; NONE: an untried child
    int32_t *copied         # [nodes of old] of a home: its copy
    int32_t *parent         # [nodes of new]
    char *moved             # [states of old] 1: new has it now


cdef int restart(Simulation *s, bint terminal) noexcept nogil:
    cdef Arena fresh
    cdef int32_t slot
    if arena_init(&fresh, s.table.state_size, s.arena.columns, s.arena.limit) < 0:
        return STATUS_NO_MEMORY
    memcpy(state_at(&fresh, 0), s.scratch, s.table.state_size)
    fresh.node[0].state = 0
    fresh.state_count = 1
    if terminal:
        fresh.flags[0] |= NODE_SETTLED | NODE_TERMINAL
    for slot in range(s.arena.state_count):
        release(s, state_at(&s.arena, slot))
    replace(s, &fresh)
    forget_all(&s.known)
    return 0


cdef void replace(Simulation *s, const Arena *fresh) noexcept nogil:
    arena_free(&s.arena)
    s.arena = fresh[0]
    s.done = 0


cdef int reroot(Simulation *s, int32_t node) noexcept nogil:
    cdef Copying c
    cdef int status = STATUS_NO_MEMORY
    c.old = &s.arena
    c.source = <int32_t *>malloc(<size_t>c.old.size * sizeof(int32_t))
    c.parent = <int32_t *>malloc(<size_t>c.old.size * sizeof(int32_t))
    c.copied = <int32_t *>malloc(<size_t>c.old.size * sizeof(int32_t))
    c.moved = <char *>calloc(c.old.state_count, 1)
    if c.source != NULL and c.parent != NULL and c.copied != NULL and c.moved != NULL and \
            arena_init(&c.new, s.table.state_size, c.old.columns, c.old.limit) == 0:
        memset(c.copied, 0xFF, <size_t>c.old.size * sizeof(int32_t))    # NONE
        status = copy_below(&c, node)
        if status < 0:
            arena_free(&c.new)
        else:
            release_others(s, &c)
            let_go_on(&c)
            plant_root(&c.new)
            replace(s, &c.new)
            if s.arena.home != NULL:
                status = remember_all(s, &c)
    free(c.source)
    free(c.parent)
    free(c.copied)
    free(c.moved)
    return status


cdef int copy_below(Copying *c, int32_t node) noexcept nogil:
    """Copy ``node``, what was visited below it, and the offers of actions not tried."""
    cdef int32_t at = 0
    cdef int status = copy_node(c, node, 0, NONE)
    while status == 0 and at < c.new.size:
        node = c.source[at]
        if node >= 0 and c.old.node[node].child_count > 0:
            if c.old.flags[node] & NODE_OPEN:
                status = copy_outcomes(c, node, at)
            else:
                status = copy_children(c, node, at)
        at += 1
    return status


cdef int copy_children(Copying *c, int32_t node, int32_t parent) noexcept nogil:
    cdef int32_t old = c.old.node[node].first_child, count = c.old.node[node].child_count, i
    cdef int32_t first = add_children(&c.new, parent, count)
    cdef int status = min(first, 0)
    for i in range(count if status == 0 else 0):
        c.new.prior[first + i] = c.old.prior[old + i]
        c.new.action[first + i] = c.old.action[old + i]
        c.source[first + i] = NONE
        if i < c.old.node[node].tried and status == 0:
            status = copy_node(c, old + i, first + i, parent)
    c.new.node[parent].tried = c.old.node[node].tried
    return status


cdef int copy_outcomes(Copying *c, int32_t chance, int32_t parent) noexcept nogil:
    """The outcomes of an open chance node, in their order."""
    cdef int32_t outcome = first_tried(c.old, chance), last = NONE
    cdef int status = 0
    while outcome != NONE and status == 0:
        last = add_outcome(&c.new, parent, last)
        status = last if last < 0 else copy_node(c, outcome, last, parent)
        outcome = next_tried(c.old, chance, outcome)
    return status


cdef int copy_node(Copying *c, int32_t old, int32_t new, int32_t parent) noexcept nogil:
    """Everything but prior, action and children."""
    cdef Arena *to = &c.new
    cdef int32_t home = old if c.old.home == NULL else c.old.home[old]
    blank(to, new)
    c.parent[new] = parent
    to.visits[new] = c.old.visits[old]
    to.value[new] = c.old.value[old]
    to.flags[new] = c.old.flags[old] & ~NODE_NEXT_READY
    to.node[new].reward = c.old.node[old].reward
    to.visited += new > 0 and to.visits[new] > 0
    if to.square != NULL:
        to.square[new] = c.old.square[old]
    if c.copied[home] != NONE:
        c.source[new] = LINKED
        to.home[new] = c.copied[home]
        to.node[new].state = to.node[c.copied[home]].state
        return 0
    c.source[new] = home
    c.copied[home] = new
    to.flags[new] = (c.old.flags[home] & ~(OF_STEP | NODE_NEXT_READY)) | (
        c.old.flags[old] & OF_STEP)
    if to.raw != NULL:
        to.raw[new] = c.old.raw[home]
    if to.home != NULL:
        to.node_visits[new] = c.old.node_visits[home]
        to.mean[new] = c.old.mean[home]
        to.solved[new] = c.old.solved[home]
    if to.mover != NULL:
        copy_vectors(c, old, new)
    return copy_state(c, c.old.node[home].state, new)


cdef int copy_state(Copying *c, int32_t slot, int32_t new) noexcept nogil:
    cdef Arena *to = &c.new
    cdef int status
    if slot == NONE:
        return 0
    if to.state_count == to.state_slots:
        status = arena_grow_states(to)
        if status < 0:
            return status
    memcpy(state_at(to, to.state_count), state_at(c.old, slot), to.state_stride)
    c.moved[slot] = 1
    to.node[new].state = to.state_count
    to.state_count += 1
    return 0


cdef void copy_vectors(Copying *c, int32_t old, int32_t new) noexcept nogil:
    """What a node has in a world of three players or more."""
    cdef size_t players = players_of(c.new.columns)
    memcpy(c.new.rewards + new * players, c.old.rewards + old * players, players * sizeof(double))
    memcpy(c.new.worths + new * players, c.old.worths + old * players, players * sizeof(double))
    c.new.mover[new] = c.old.mover[old]


cdef void release_others(Simulation *s, const Copying *c) noexcept nogil:
    cdef int32_t slot
    for slot in range(c.old.state_count):
        if not c.moved[slot]:
            release(s, state_at(c.old, slot))


cdef void let_go_on(Copying *c) noexcept nogil:
    """Places where the horizon ended are settled no longer, and what was proven by them is not
    proven any more. (A place without actions looks the same, and will be found to have none.)
    Children stand after their parents, so one pass backwards carries that up."""
    cdef Arena *tree = &c.new
    cdef int32_t i
    for i in range(tree.size - 1, -1, -1):
        if c.source[i] == NONE:
            continue
        if tree.flags[i] & NODE_SETTLED and not tree.flags[i] & NODE_TERMINAL:
            tree.flags[i] &= ~NODE_SETTLED
            c.source[i] = DEPENDS
        tree.flags[i] &= ~NODE_SOME_PROVEN
        if tree.home != NULL and not tree.flags[i] & NODE_TERMINAL:
            c.source[i] = DEPENDS           # who else rests on it is not looked for
            tree.solved[i] = 0
        if c.source[i] == DEPENDS:
            tree.flags[i] &= ~NODE_PROVEN
            if i > 0:
                c.source[c.parent[i]] = DEPENDS
    for i in range(1, tree.size):
        if c.source[i] != NONE and tree.flags[i] & NODE_PROVEN:
            tree.flags[c.parent[i]] |= NODE_SOME_PROVEN


cdef void plant_root(Arena *tree) noexcept nogil:
    """The root counts what went on below it, not its own first evaluation."""
    cdef int32_t child = first_tried(tree, 0), visits = 0
    cdef double total = 0.0
    while child != NONE:
        visits += tree.visits[child]
        total += tree.visits[child] * tree.value[child]
        child = next_tried(tree, 0, child)
    tree.visits[0] = visits
    if tree.flags[0] & NODE_PROVEN == 0:
        tree.value[0] = total / visits if visits else 0.0
    if tree.home != NULL:
        tree.node_visits[0] = visits
        tree.mean[0] = tree.value[0]
    tree.flags[0] &= ~NODE_TURN
    tree.node[0].reward = 0.0


cdef int remember_all(Simulation *s, Copying *c) noexcept nogil:
    """Fill the table of known states anew; ``c.parent`` becomes the depth. 0, or a status."""
    cdef Arena *tree = &s.arena
    cdef int32_t i, parent
    cdef uint64_t key = 0
    cdef int status = 0
    forget_all(&s.known)
    c.parent[0] = 0
    for i in range(1, tree.size):
        if c.source[i] == NONE:
            continue
        parent = c.parent[i]
        c.parent[i] = c.parent[parent] + (tree.flags[parent] & NODE_CHANCE == 0)
        if tree.home[i] != i or tree.node_visits[i] == 0 or tree.node[i].state == NONE \
                or tree.flags[i] & NODE_TERMINAL:
            continue
        status = s.table.key(s.table.context, state_at(tree, tree.node[i].state), &key)
        if status == 0 and find(&s.known, key, c.parent[i]) == NONE:
            status = remember(&s.known, key, c.parent[i], i)
        if status < 0:
            break
    return status
