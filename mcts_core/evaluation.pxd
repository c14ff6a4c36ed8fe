"""What a new leaf is worth: by the simulator, after forced moves, or by a rollout."""

from libc.stdint cimport int32_t

from mcts_core.context cimport Simulation

# The discounted return from a state for its player by the search's evaluation, into `worth`; with
# three players or more for each of them, into s.returns. 0, or a status.
cdef int evaluate(Simulation *s, const void *state, int32_t depth, bint settled,
                  double *worth) noexcept nogil
