"""Growing and freeing the arena, and reading it out as numpy arrays."""

from libc.stdlib cimport free, realloc
from libc.string cimport memset

import numpy as np

from mcts_core.native cimport STATUS_FULL, STATUS_NO_MEMORY
from mcts_core import result

cdef int32_t LARGEST = 2147483647

# Freed arenas kept for the next search: their pages are already there, and touching fresh ones
# costs as much as the search itself. Only used with the GIL held.
cdef enum:
    KEPT = 2
cdef size_t KEPT_BYTES = 256 * 1024 * 1024   # of them together; what is more is given back
cdef Arena[KEPT] kept


cdef size_t bytes_of(const Arena *arena, int32_t nodes, int32_t states) noexcept nogil:
    return nodes * node_bytes(arena) + states * arena.state_stride


cdef size_t node_bytes(const Arena *arena) noexcept nogil:
    """Bytes of one node over all columns."""
    cdef size_t size = sizeof(Node) + 2 * sizeof(int32_t) + sizeof(double) + sizeof(float) + 1
    size += sizeof(int32_t) * ((arena.columns & COLUMN_IN_FLIGHT) != 0)
    size += sizeof(double) * ((arena.columns & COLUMN_SQUARE) != 0)
    size += sizeof(double) * ((arena.columns & COLUMN_RAW) != 0)
    if arena.columns & COLUMN_HOME:
        size += 2 * sizeof(int32_t) + sizeof(double) + 1
    return size


cdef int arena_init(Arena *arena, size_t state_size, int columns, size_t limit) noexcept nogil:
    cdef size_t stride = (state_size + 7) // 8 * 8
    cdef int i
    memset(arena, 0, sizeof(Arena))
    for i in range(KEPT):
        if limit == 0 and kept[i].capacity > 0:
            arena[0] = kept[i]
            memset(&kept[i], 0, sizeof(Arena))
            arena.state_slots = <int32_t>(arena.state_slots * arena.state_stride // stride)
            break
    arena.state_stride = stride
    arena.columns = columns
    arena.limit = limit
    if (arena.capacity == 0 and arena_resize(arena, 256) < 0) \
            or (arena.state_slots == 0 and arena_resize_states(arena, 64) < 0) \
            or resize_columns(arena, arena.capacity) < 0:
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
    cdef size_t total
    free_columns(arena)
    total = bytes_of(arena, arena.capacity, arena.state_slots)
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


cdef void free_columns(Arena *arena) noexcept nogil:
    free(arena.in_flight)
    free(arena.square)
    free(arena.raw)
    free(arena.home)
    free(arena.node_visits)
    free(arena.mean)
    free(arena.solved)
    arena.in_flight = NULL
    arena.square = NULL
    arena.raw = NULL
    arena.home = NULL
    arena.node_visits = NULL
    arena.mean = NULL
    arena.solved = NULL
    arena.columns = 0


cdef int32_t larger(int32_t have, int32_t want) noexcept nogil:
    """The next capacity: twice what there is, at least what is wanted, at most 2**31 - 1."""
    if have <= LARGEST // 2 and have * 2 >= want:
        return have * 2
    return want if have <= LARGEST // 2 else LARGEST


cdef int arena_grow(Arena *arena, int32_t count) noexcept nogil:
    cdef int32_t capacity, affordable
    if count > LARGEST - arena.size:
        return STATUS_NO_MEMORY
    capacity = larger(arena.capacity, arena.size + count)
    if arena.limit > 0:
        affordable = within_limit(arena, arena.state_slots * arena.state_stride, node_bytes(arena))
        if affordable < arena.size + count:
            return STATUS_FULL
        capacity = min(capacity, affordable)
    return arena_resize(arena, capacity)


cdef int arena_grow_states(Arena *arena) noexcept nogil:
    cdef int32_t slots = larger(arena.state_slots, 64)
    if arena.state_slots == LARGEST:
        return STATUS_NO_MEMORY
    if arena.limit > 0:
        slots = min(slots, within_limit(arena, arena.capacity * node_bytes(arena),
                                        arena.state_stride))
        if slots <= arena.state_slots:
            return STATUS_FULL
    return arena_resize_states(arena, slots)


cdef int32_t within_limit(const Arena *arena, size_t others, size_t each) noexcept nogil:
    """How many entries of ``each`` bytes the limit allows beside ``others`` bytes."""
    if others >= arena.limit:
        return 0
    return <int32_t>min((arena.limit - others) // each, <size_t>LARGEST)


cdef int resize(void **column, size_t size) noexcept nogil:
    """0, or STATUS_NO_MEMORY, and then the column is as it was."""
    cdef void *moved = realloc(column[0], size)
    if moved == NULL:
        return STATUS_NO_MEMORY
    column[0] = moved
    return 0


cdef int arena_resize(Arena *arena, int32_t capacity) noexcept nogil:
    """Give every column room for ``capacity`` nodes. 0, or STATUS_NO_MEMORY."""
    cdef size_t count = capacity
    if resize(<void **>&arena.node, count * sizeof(Node)) < 0 \
            or resize(<void **>&arena.visits, count * sizeof(int32_t)) < 0 \
            or resize(<void **>&arena.value, count * sizeof(double)) < 0 \
            or resize(<void **>&arena.prior, count * sizeof(float)) < 0 \
            or resize(<void **>&arena.action, count * sizeof(int32_t)) < 0 \
            or resize(<void **>&arena.flags, count) < 0 \
            or resize_columns(arena, capacity) < 0:
        return STATUS_NO_MEMORY
    arena.capacity = capacity
    return 0


cdef int resize_columns(Arena *arena, int32_t capacity) noexcept nogil:
    cdef size_t count = capacity
    if arena.columns & COLUMN_IN_FLIGHT \
            and resize(<void **>&arena.in_flight, count * sizeof(int32_t)) < 0:
        return STATUS_NO_MEMORY
    if arena.columns & COLUMN_SQUARE \
            and resize(<void **>&arena.square, count * sizeof(double)) < 0:
        return STATUS_NO_MEMORY
    if arena.columns & COLUMN_RAW and resize(<void **>&arena.raw, count * sizeof(double)) < 0:
        return STATUS_NO_MEMORY
    if arena.columns & COLUMN_HOME and (
            resize(<void **>&arena.home, count * sizeof(int32_t)) < 0
            or resize(<void **>&arena.node_visits, count * sizeof(int32_t)) < 0
            or resize(<void **>&arena.mean, count * sizeof(double)) < 0
            or resize(<void **>&arena.solved, count) < 0):
        return STATUS_NO_MEMORY
    return 0


cdef int arena_resize_states(Arena *arena, int32_t slots) noexcept nogil:
    if resize(<void **>&arena.states, <size_t>slots * arena.state_stride) < 0:
        return STATUS_NO_MEMORY
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
        prior=np.where((kind == result.OUTCOME) & open_below(arena, index, parent), 1.0,
                       np.asarray(<float[:arena.size]>arena.prior)[index].astype(np.float64)),
        reward=reward,
        kind=kind,
        ended=ended,
        proven=proven,
        home=homes_of(arena, index, np.asarray(export_of)),
    )
    return tree, index


cdef object open_below(const Arena *arena, object index, object parent):
    """For each exported node: does it stand below a chance node whose outcomes are not listed?"""
    flags = np.asarray(<uint8_t[:arena.size]>arena.flags)
    return (flags[index[parent]] & NODE_OPEN) != 0


cdef object homes_of(const Arena *arena, object index, object export_of):
    """For each exported node the exported index of its home."""
    if arena.home == NULL:
        return np.arange(len(index), dtype=np.int32)
    return export_of[np.asarray(<int32_t[:arena.size]>arena.home)[index]]


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
