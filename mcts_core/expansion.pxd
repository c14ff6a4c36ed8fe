"""Giving a node its children."""

from libc.stdint cimport int32_t

from mcts_core.context cimport Simulation

# Ask for the legal actions and their prior, and append the children in order of falling prior;
# settle the node if there are none. `given`: the weights are in s.weights already. 0, or a status.
cdef int expand(Simulation *s, int32_t index, bint given) noexcept nogil
