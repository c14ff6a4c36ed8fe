"""A simulator in Cython: two players take 1 to ``most`` stones in turn; the last stone wins.

Build it like any extension that cimports an installed package; test_cython_authors.py does.
"""

from libc.stdint cimport int32_t, uint64_t

from mcts_core.native cimport STEP_TERMINAL, STEP_TURN, SimulatorHandle

ctypedef struct Rules:      # what the functions need to know: table.context points to it
    int32_t most

ctypedef struct Heap:       # one state; the engine copies its bytes
    int32_t stones


cdef int32_t legal(void *context, const void *state, int32_t *actions,
                   int32_t capacity) noexcept nogil:
    cdef int32_t count = (<const Rules *>context).most, i
    if count > (<const Heap *>state).stones:
        count = (<const Heap *>state).stones
    for i in range(count if count < capacity else capacity):
        actions[i] = i + 1
    return count            # also where capacity is too small: the engine asks again


cdef int32_t step(void *context, const void *state, int32_t action, uint64_t *rng,
                  void *next_state, double *reward, int32_t *outcome) noexcept nogil:
    cdef int32_t left = (<const Heap *>state).stones - action
    (<Heap *>next_state).stones = left
    reward[0] = 1.0 if left == 0 else 0.0
    outcome[0] = 0
    return STEP_TURN + (STEP_TERMINAL if left == 0 else 0)


cdef int32_t evaluate(void *context, const void *state, double *value) noexcept nogil:
    cdef int32_t stones = (<const Heap *>state).stones
    value[0] = 1.0 / (1 + stones) if stones else 0.0    # a guess; at the end all has been paid
    return 0


cdef class TakeAway(SimulatorHandle):
    """Root states are numbers of stones, at least 0.

    Args:
        most: the most stones that a player may take at once, at least 1.
    """

    cdef Rules rules

    def __cinit__(self, int32_t most):
        if most < 1:
            raise ValueError(f"most: got {most}, wanted at least 1")
        self.rules.most = most
        self.table.context = &self.rules
        self.table.state_size = sizeof(Heap)
        self.table.needs_gil = False
        self.table.legal = legal
        self.table.step = step
        self.table.evaluate = evaluate
        # outcomes, prior and release stay NULL: no chance, uniform, states own nothing

    cdef int pack_root(self, object state, void *buffer) except -1:
        if not isinstance(state, int) or state < 0:
            raise ValueError(f"root_state: got {state!r}, wanted a number of stones")
        (<Heap *>buffer).stones = state
        return 0

    cdef object state_object(self, const void *state):
        return (<const Heap *>state).stones
