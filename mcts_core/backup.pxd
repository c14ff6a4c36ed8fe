"""Carrying what a leaf is worth up the path."""

from mcts_core.context cimport Simulation

# Of a leaf's first visit (s.path), what it is worth (of many players: s.returns); and prove it if
# it is settled. Below as an inline function: `finish`.
cdef void finish_any(Simulation *s, double worth, bint settled) noexcept nogil
# Of a visit to a place that is settled or proven already, whose mean ``value`` is.
cdef void finish_again(Simulation *s, double value) noexcept nogil
# In a world without chance, proofs and optional columns. ``settled``: ``value`` is already the last
# node's mean.
cdef void back_up_plain(Simulation *s, double value, bint settled) noexcept nogil


cdef inline bint is_plain(const Simulation *s) noexcept nogil:
    return s.arena.columns == 0 and not s.solver and s.table.outcomes == NULL


cdef inline void finish(Simulation *s, double worth, bint settled) noexcept nogil:
    if is_plain(s):
        back_up_plain(s, worth, False)
    else:
        finish_any(s, worth, settled)
