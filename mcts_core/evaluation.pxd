"""What a new leaf is worth: by the simulator, after forced moves, or by a rollout."""

from libc.stdint cimport int32_t

from mcts_core.context cimport EVALUATE_SIMULATOR, Simulation, value_of

# The discounted return from a state for its player by the search's evaluation, into `worth`; with
# three players or more for each of them, into s.returns. 0, or a status.
cdef int evaluate(Simulation *s, const void *state, int32_t depth, bint settled,
                  double *worth) noexcept nogil


cdef inline int evaluate_leaf(Simulation *s, const void *state, int32_t depth, bint settled,
                              double *worth) noexcept nogil:
    """As ``evaluate``; the usual question to a simulator without a call on the way."""
    if s.evaluation == EVALUATE_SIMULATOR and s.players == 0:
        worth[0] = 0.0
        return value_of(s, state, worth)
    return evaluate(s, state, depth, settled, worth)
