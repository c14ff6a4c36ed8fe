"""A SearchConfig as the numbers that the loop over the simulations reads."""

from libc.stdint cimport int32_t

from mcts_core.context cimport Simulation

# The columns and the byte limit that an arena needs; then the rest. `rule`: a ScoringRule, or None.
cdef int columns_of(object config, object rule, bint shared, int32_t players)
cdef size_t limit_of(object config)
cdef int take_settings(Simulation *s, object config, object rule) except -1
