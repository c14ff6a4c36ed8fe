"""The memory of a search: its buffers, made, grown and freed."""

from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memset
from posix.time cimport CLOCK_MONOTONIC, clock_gettime, timespec

from mcts_core.tree cimport arena_free, arena_init, state_at


cdef int simulation_init(Simulation *s, SimulatorTable *table, int columns,
                         size_t limit) noexcept nogil:
    memset(s, 0, sizeof(Simulation))
    s.table = table
    s.stride = 1
    s.scratch_stride = (table.state_size + 7) // 8 * 8
    s.scratch = <char *>calloc(4, s.scratch_stride)
    if table.players > 2:
        s.players = table.players
        s.gained = <double *>calloc(2 * <size_t>s.players, sizeof(double))
        s.returns = s.gained + s.players
        if s.gained == NULL:
            return STATUS_NO_MEMORY
    if s.scratch == NULL or arena_init(&s.arena, table.state_size, columns, limit) < 0:
        return STATUS_NO_MEMORY
    return 0


cdef void simulation_free(Simulation *s) noexcept nogil:
    cdef int32_t slot
    if s.table != NULL:
        for slot in range(s.arena.state_count):
            release(s, state_at(&s.arena, slot))
    arena_free(&s.arena)
    free(s.path)
    free(s.actions)
    free(s.weights)
    free(s.ranked)
    free(s.scratch)
    free(s.gained)
    free(s.halving.scores)
    free(s.known.keys)
    free(s.known.depths)
    free(s.known.nodes)


cdef int lengthen(Simulation *s) noexcept nogil:
    cdef int32_t capacity = 64 if s.path_capacity == 0 else 2 * s.path_capacity
    cdef void *moved = realloc(s.path, <size_t>capacity * sizeof(int32_t))
    if moved == NULL:
        return STATUS_NO_MEMORY
    s.path = <int32_t *>moved
    s.path_capacity = capacity
    return 0


cdef int widen(Simulation *s, int32_t count) noexcept nogil:
    cdef void *actions = realloc(s.actions, <size_t>count * sizeof(int32_t))
    cdef void *weights = realloc(s.weights, <size_t>count * sizeof(double))
    cdef void *ranked = realloc(s.ranked, <size_t>count * sizeof(Ranked))
    if actions != NULL:
        s.actions = <int32_t *>actions
    if weights != NULL:
        s.weights = <double *>weights
    if ranked != NULL:
        s.ranked = <Ranked *>ranked
    if actions == NULL or weights == NULL or ranked == NULL:
        return STATUS_NO_MEMORY
    s.wide = count
    return 0


cdef int64_t monotonic_ns() noexcept nogil:
    cdef timespec now
    clock_gettime(CLOCK_MONOTONIC, &now)
    return <int64_t>now.tv_sec * 1_000_000_000 + now.tv_nsec
