"""Selection with all that is off by default; ``selection`` has the two rules that are not."""

from libc.stdint cimport int32_t

from mcts_core.context cimport Simulation

# Offset of the child to descend to.
cdef int32_t select_variant(Simulation *s, int32_t index) noexcept nogil
# How many children a node visited so often may open, of `count`.
cdef int32_t opened(double k, double alpha, int32_t visits, int32_t count) noexcept nogil
