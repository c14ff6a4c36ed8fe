"""Proven values: what is settled for good, and what that says of the places above."""

from libc.stdint cimport int32_t

from mcts_core.context cimport Simulation

# The last node of the path is settled: prove it, and what that proves above it.
cdef void prove(Simulation *s) noexcept nogil
# Is `node`, which stands below `above`, proven now that a child of it is proven to be worth `value`?
# Then `best` is its own value.
cdef bint decides(Simulation *s, int32_t above, int32_t node, double value,
                  double *best) noexcept nogil
