"""Growing and freeing the arena, and reading it out as numpy arrays."""

from libc.stdlib cimport free, realloc
from libc.string cimport memset

import numpy as np

from mcts_core.native cimport STATUS_NO_MEMORY
from mcts_core import result

cdef int32_t LARGEST = 2147483647

# Freed arenas kept for the next search: their pages are already there, and touching fresh ones
# costs as much as the search itself. Only used with the GIL held.
cdef enum:
    KEPT = 2
cdef size_t KEPT_BYTES = 256 * 1024 * 1024   # of them together; what is more is given back
cdef Arena[KEPT] kept


cdef size_t bytes_of(const Arena *arena, int32_t nodes, int32_t states) noexcept nogil:
    cdef size_t node = sizeof(Node) + 2 * sizeof(int32_t) + sizeof(double) + sizeof(float) + 1
    return nodes * node + states * arena.state_stride


cdef int arena_init(Arena *arena, size_t state_size) noexcept nogil:
    cdef size_t stride = (state_size + 7) // 8 * 8
    cdef int i
    memset(arena, 0, sizeof(Arena))
    for i in range(KEPT):
        if kept[i].capacity > 0:
            arena[0] = kept[i]
            memset(&kept[i], 0, sizeof(Arena))
            arena.state_slots = <int32_t>(arena.state_slots * arena.state_stride // stride)
            break
    arena.state_stride = stride
    if arena.state_slots > 0 and arena.capacity > 0:
        plant(arena)
        return 0
    if arena_grow(arena, 256) < 0 or arena_grow_states(arena) < 0:
        arena_free(arena)
        return STATUS_NO_MEMORY
    plant(arena)
    return 0


cdef void plant(Arena *arena) noexcept nogil:
    """Begin a tree: a blank root."""
    blank(arena, 0)
    arena.prior[0] = 1.0
    arena.action[0] = NONE
    arena.size = 1
    arena.visited = 1


cdef void arena_free(Arena *arena) noexcept nogil:
    cdef int i
    cdef size_t total = bytes_of(arena, arena.capacity, arena.state_slots)
    arena.size = 0
    arena.state_count = 0
    for i in range(KEPT):
        total += bytes_of(&kept[i], kept[i].capacity, kept[i].state_slots)
    for i in range(KEPT):
        if kept[i].capacity == 0 and arena.state_slots > 0 and total <= KEPT_BYTES:
            kept[i] = arena[0]
            memset(arena, 0, sizeof(Arena))
            return
    free(arena.node)
    free(arena.visits)
    free(arena.value)
    free(arena.prior)
    free(arena.action)
    free(arena.flags)
    free(arena.states)
    memset(arena, 0, sizeof(Arena))


cdef int32_t larger(int32_t have, int32_t want) noexcept nogil:
    """The next capacity: twice what there is, at least what is wanted, at most 2**31 - 1."""
    if have <= LARGEST // 2 and have * 2 >= want:
        return have * 2
    return want if have <= LARGEST // 2 else LARGEST


cdef int arena_grow(Arena *arena, int32_t count) noexcept nogil:
    cdef int32_t capacity
    cdef void *moved
    if count > LARGEST - arena.size:
        return STATUS_NO_MEMORY
    capacity = larger(arena.capacity, arena.size + count)
    moved = realloc(arena.node, <size_t>capacity * sizeof(Node))
    if moved == NULL:
        return STATUS_NO_MEMORY
    arena.node = <Node *>moved
    moved = realloc(arena.visits, <size_t>capacity * sizeof(int32_t))
    if moved == NULL:
        return STATUS_NO_MEMORY
    arena.visits = <int32_t *>moved
    moved = realloc(arena.value, <size_t>capacity * sizeof(double))
    if moved == NULL:
        return STATUS_NO_MEMORY
    arena.value = <double *>moved
    moved = realloc(arena.prior, <size_t>capacity * sizeof(float))
    if moved == NULL:
        return STATUS_NO_MEMORY
    arena.prior = <float *>moved
    moved = realloc(arena.action, <size_t>capacity * sizeof(int32_t))
    if moved == NULL:
        return STATUS_NO_MEMORY
    arena.action = <int32_t *>moved
    moved = realloc(arena.flags, <size_t>capacity)
    if moved == NULL:
        return STATUS_NO_MEMORY
    arena.flags = <uint8_t *>moved
    arena.capacity = capacity
    return 0


cdef int arena_grow_states(Arena *arena) noexcept nogil:
    cdef int32_t slots = larger(arena.state_slots, 64)
    cdef void *moved
    if arena.state_slots == LARGEST:
        return STATUS_NO_MEMORY
    moved = realloc(arena.states, <size_t>slots * arena.state_stride)
    if moved == NULL:
        return STATUS_NO_MEMORY
    arena.states = <char *>moved
    arena.state_slots = slots
    return 0


cdef object arena_arrays(const Arena *arena):
    """The visited part of the tree as a ``SearchTree``, and each node's index in the arena."""
    cdef int32_t[::1] parent_of = np.full(arena.size, -1, dtype=np.int32)
    cdef int32_t[::1] depth_of = np.zeros(arena.size, dtype=np.int32)
    cdef int32_t[::1] export_of = np.full(arena.size, -1, dtype=np.int32)
    cdef int32_t[::1] action_of = np.full(arena.size, -1, dtype=np.int32)
    cdef int32_t i, j, ordinal, kept = 0
    for i in range(arena.size):
        if i > 0 and (parent_of[i] < 0 or arena.visits[i] == 0):
            continue
        export_of[i] = kept
        kept += 1
        j = first_tried(arena, i)
        ordinal = 0
        while j != NONE:
            parent_of[j] = i
            depth_of[j] = depth_of[i] + (0 if arena.flags[i] & NODE_CHANCE else 1)
            action_of[j] = ordinal if arena.flags[i] & NODE_OPEN else arena.action[j]
            ordinal += 1
            j = next_tried(arena, i, j)
    index = np.flatnonzero(np.asarray(export_of) >= 0).astype(np.int32)
    parent = np.asarray(parent_of)[index]
    parent[1:] = np.asarray(export_of)[parent[1:]]
    reward, kind, ended, proven = fields_of(arena, index, parent)
    tree = result.SearchTree(
        parent=parent,
        action=np.asarray(action_of)[index],
        depth=np.asarray(depth_of)[index],
        visits=np.asarray(<int32_t[:arena.size]>arena.visits)[index],
        value=np.asarray(<double[:arena.size]>arena.value)[index],
        prior=np.asarray(<float[:arena.size]>arena.prior)[index].astype(np.float64),
        reward=reward,
        kind=kind,
        ended=ended,
        proven=proven,
    )
    return tree, index


cdef object fields_of(const Arena *arena, const int32_t[::1] index, const int32_t[::1] parent):
    """Reward, kind, ended and proven of the nodes at ``index``; ``parent`` indexes into these."""
    cdef Py_ssize_t count = index.shape[0], i
    cdef double[::1] reward = np.empty(count, dtype=np.float64)
    cdef unsigned char[::1] kind = np.full(count, result.DECISION, dtype=np.uint8)
    cdef unsigned char[::1] ended = np.zeros(count, dtype=np.uint8)
    cdef unsigned char[::1] proven = np.zeros(count, dtype=np.uint8)
    cdef int32_t at
    for i in range(count):
        at = index[i]
        reward[i] = arena.node[at].reward
        ended[i] = (arena.flags[at] & NODE_SETTLED) != 0
        proven[i] = (arena.flags[at] & NODE_PROVEN) != 0
        if arena.flags[at] & NODE_CHANCE:
            kind[i] = result.CHANCE
        elif i > 0 and arena.flags[index[parent[i]]] & NODE_CHANCE:
            kind[i] = result.OUTCOME
    return (np.asarray(reward), np.asarray(kind), np.asarray(ended, dtype=bool),
            np.asarray(proven, dtype=bool))
