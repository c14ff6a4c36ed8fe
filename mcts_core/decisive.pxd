"""Rollouts whose players win at once where they can, and where they can do not let the other."""

from libc.stdint cimport int32_t

from mcts_core.context cimport Simulation

# Discounted return from `state`, at `depth` < max_depth, for its player. 0, or a status below 0.
cdef int play_decisive(Simulation *s, const void *state, int32_t depth,
                       double *worth) noexcept nogil
