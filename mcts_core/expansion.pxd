"""Giving a node its children."""

from libc.stdint cimport int32_t

from mcts_core.context cimport Simulation

# Ask for the legal actions (left in s.actions) and, if `ask`, their prior; append the children in
# order of falling prior; settle the node if there are none. 0, or a status.
cdef int expand(Simulation *s, int32_t index, bint ask) noexcept nogil
# Give the children of a node, none of them tried, the weights that stand in s.weights in the same
# order (see `widen`), and put them in order. All zero: uniform. 0, or a status.
cdef int reweigh(Simulation *s, int32_t index) noexcept nogil
