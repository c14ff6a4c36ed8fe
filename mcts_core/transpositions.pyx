"""The tree as a graph: places that are the same state at the same depth share what lies below.

Each action keeps its own visits; what is known of a state (visits, mean return, children) stands at
the node that reached it first, its home, to which the others are linked (Childs, Brodeur & Kocsis
2008, "Transpositions and move groups in Monte Carlo tree search", UCT2). States are shared at the
same depth only: so there is no circle, and the horizon is the same for all.
"""

from libc.stdlib cimport free, malloc
from libc.string cimport memset

from mcts_core.native cimport STATUS_NO_MEMORY
from mcts_core.proof cimport decides
from mcts_core.selection cimport fill_tables, reciprocal, widen_range
from mcts_core.tree cimport (NODE_CHANCE, NODE_NEXT_READY, NODE_OPEN, NODE_PROVEN, NODE_SOME_PROVEN,
                             NODE_TURN, NONE, Arena, at_least_proven, expected, first_tried,
                             next_tried)

fill_tables()


# --- which node stands for a state: open addressing, linear probing -------------------------------

cdef inline int32_t slot_of(const Known *known, uint64_t key, int32_t depth) noexcept nogil:
    """Where the entry is, or where it would go."""
    cdef uint64_t mixed = (key ^ <uint64_t>depth * 0x9E3779B97F4A7C15U) * 0xBF58476D1CE4E5B9U
    cdef int32_t slot = <int32_t>(mixed >> 33) & known.mask
    while known.nodes[slot] != NONE and (known.keys[slot] != key or known.depths[slot] != depth):
        slot = (slot + 1) & known.mask
    return slot


cdef int32_t find(const Known *known, uint64_t key, int32_t depth) noexcept nogil:
    return NONE if known.count == 0 else known.nodes[slot_of(known, key, depth)]


cdef int remember(Known *known, uint64_t key, int32_t depth, int32_t node) noexcept nogil:
    cdef int32_t slot
    if 2 * (known.count + 1) > known.mask and grow(known) < 0:
        return STATUS_NO_MEMORY
    slot = slot_of(known, key, depth)
    known.count += known.nodes[slot] == NONE
    known.keys[slot] = key
    known.depths[slot] = depth
    known.nodes[slot] = node
    return 0


cdef int grow(Known *known) noexcept nogil:
    """Twice the room. 0, or STATUS_NO_MEMORY, and then it is as it was."""
    cdef Known larger
    cdef size_t size = 256 if known.mask == 0 else 2 * (<size_t>known.mask + 1)
    cdef int32_t slot
    if size > 1 << 30:
        return STATUS_NO_MEMORY
    larger.mask = <int32_t>(size - 1)
    larger.count = 0
    larger.keys = <uint64_t *>malloc(size * sizeof(uint64_t))
    larger.depths = <int32_t *>malloc(size * sizeof(int32_t))
    larger.nodes = <int32_t *>malloc(size * sizeof(int32_t))
    if larger.keys == NULL or larger.depths == NULL or larger.nodes == NULL:
        forget_all(&larger)
        return STATUS_NO_MEMORY
    memset(larger.nodes, 0xFF, size * sizeof(int32_t))      # NONE
    for slot in range(known.mask + 1 if known.mask else 0):
        if known.nodes[slot] != NONE:
            remember(&larger, known.keys[slot], known.depths[slot], known.nodes[slot])
    forget_all(known)
    known[0] = larger
    return 0


cdef void forget_all(Known *known) noexcept nogil:
    free(known.keys)
    free(known.depths)
    free(known.nodes)
    memset(known, 0, sizeof(Known))


# --- values ---------------------------------------------------------------------------------------

cdef inline double seen_from_above(const Simulation *s, int32_t edge, double value) noexcept nogil:
    """A value of the state that ``edge`` leads to, as the player sees it who takes the step."""
    return s.arena.node[edge].reward + s.discount * (
        -value if s.arena.flags[edge] & NODE_TURN else value)


cdef void refresh(Simulation *s, int32_t node) noexcept nogil:
    cdef Arena *tree = &s.arena
    cdef int32_t child = first_tried(tree, node)
    while child != NONE:
        if tree.visits[child] > 0 and tree.flags[child] & (NODE_CHANCE | NODE_PROVEN) == 0:
            tree.value[child] = seen_from_above(s, child, tree.mean[tree.home[child]])
        child = next_tried(tree, node, child)


cdef void back_up_shared(Simulation *s, double value, bint settled) noexcept nogil:
    cdef Arena *tree = &s.arena
    cdef int32_t last = s.path_length - 1, i, edge, home, parent
    for i in range(last, 0, -1):
        edge = s.path[i]
        home = tree.home[edge]
        parent = tree.home[s.path[i - 1]]
        tree.visits[edge] += 1
        tree.visited += tree.visits[edge] == 1
        if tree.flags[edge] & NODE_CHANCE:
            if s.expected and tree.flags[edge] & NODE_OPEN == 0:
                refresh(s, edge)
                value = expected(tree, edge)
                tree.value[edge] = value
            else:
                tree.value[edge] += (value - tree.value[edge]) * reciprocal(tree.visits[edge])
        else:
            if tree.flags[home] & NODE_SOME_PROVEN and i < last:
                value = at_least_proven(tree, home, s.path[i + 1], value)
            take_return(tree, home, value)
            value = seen_from_above(s, edge, value)
            tree.value[edge] = seen_from_above(s, edge, tree.mean[home])
        if tree.flags[parent] & NODE_CHANCE == 0:
            if tree.visits[edge] == 1 and tree.in_flight == NULL:
                tree.node[parent].tried += 1
                tree.flags[parent] &= ~NODE_NEXT_READY
            widen_range(&s.rule, tree.value[edge], tree.value[edge])
    if tree.flags[0] & NODE_SOME_PROVEN:
        value = at_least_proven(tree, 0, s.path[1], value)
    take_return(tree, 0, value)
    tree.visits[0] = tree.node_visits[0]
    tree.value[0] = tree.mean[0]


cdef inline void take_return(Arena *tree, int32_t home, double value) noexcept nogil:
    """One more return from a state on; what is proven stays."""
    tree.node_visits[home] += 1
    if not tree.solved[home]:
        tree.mean[home] += (value - tree.mean[home]) * reciprocal(tree.node_visits[home])


cdef void prove_shared(Simulation *s) noexcept nogil:
    """The last place of the path is settled or proven: carry that up the path. Other ways to the
    same states take it up when they are gone next."""
    cdef Arena *tree = &s.arena
    cdef int32_t i = s.path_length - 1, home, above
    cdef double best = tree.mean[tree.home[s.path[i]]]
    if tree.flags[s.path[i]] & NODE_PROVEN:
        return                              # known before
    while True:
        home = tree.home[s.path[i]]
        tree.solved[home] = 1
        tree.flags[s.path[i]] |= NODE_PROVEN
        tree.mean[home] = best
        if i == 0:
            tree.value[0] = best
            return
        tree.value[s.path[i]] = best if tree.flags[s.path[i]] & NODE_CHANCE \
            else seen_from_above(s, s.path[i], best)
        home = tree.home[s.path[i - 1]]
        tree.flags[home] |= NODE_SOME_PROVEN
        if tree.flags[home] & NODE_CHANCE == 0:
            widen_range(&s.rule, tree.value[s.path[i]], tree.value[s.path[i]])
        above = NONE if i < 2 else tree.home[s.path[i - 2]]
        if not decides(s, above, home, tree.value[s.path[i]], &best):
            return
        i -= 1
