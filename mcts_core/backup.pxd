"""Carrying what a leaf is worth up the path."""

from mcts_core.context cimport Simulation

# Of a leaf's first visit (s.path); and prove it if it is settled.
cdef void finish(Simulation *s, double worth, bint settled) noexcept nogil
# Of a visit to a place that is settled or proven already, whose mean ``value`` is.
cdef void finish_again(Simulation *s, double value) noexcept nogil
