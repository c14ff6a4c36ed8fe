"""The tree as a graph: places that are the same state at the same depth share what lies below."""

from libc.stdint cimport int32_t, uint64_t

from mcts_core.context cimport Known, Simulation

# The node that stands for a state at a depth; NONE if there is none yet.
cdef int32_t find(const Known *known, uint64_t key, int32_t depth) noexcept nogil
# From now on it is `node`. 0, or STATUS_NO_MEMORY.
cdef int remember(Known *known, uint64_t key, int32_t depth, int32_t node) noexcept nogil
# Forget all; give the memory back.
cdef void forget_all(Known *known) noexcept nogil
# Let the values of a node's children say what is known of the states that they lead to.
cdef void refresh(Simulation *s, int32_t node) noexcept nogil
# As back_up and prove of `simulation`.
cdef void back_up_shared(Simulation *s, double value, bint settled) noexcept nogil
cdef void prove_shared(Simulation *s) noexcept nogil
