"""The loop over the simulations of a search."""

from libc.stdint cimport int32_t, int64_t

from mcts_core.context cimport Simulation

# Simulate, at least once, until `target` simulations or the time `slice_end`. 0, or a status.
cdef int run_slice(Simulation *s, int32_t target, int64_t slice_end) noexcept nogil
# One simulation. 0, or a status below 0, and then nothing was counted. Where s.collecting is set: 1
# if it stopped at a new leaf (s.leaf, on s.path), STATUS_TAKEN if that leaf is under way already.
cdef int simulate(Simulation *s) noexcept nogil
# Could the simulations left change which action has most visits? Else when to ask again.
cdef bint decided(const Simulation *s, int32_t target, int32_t *ask_again) noexcept nogil
