"""The loop over the simulations of a search."""

from libc.stdint cimport int32_t, int64_t

from mcts_core.context cimport Simulation

# Simulate, at least once, until `target` simulations or the time `slice_end`. 0, or a status.
cdef int run_slice(Simulation *s, int32_t target, int64_t slice_end) noexcept nogil
