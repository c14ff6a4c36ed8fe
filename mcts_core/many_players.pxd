"""Worlds of three players or more, each with returns of their own (max^n)."""

from libc.stddef cimport size_t
from libc.stdint cimport int32_t

from mcts_core.context cimport Simulation

# Who moves at the root, into its column. 0, or a status.
cdef int seat_root(Simulation *s) noexcept nogil
# The step by an action of a node into s.scratch and s.gained, its mover's part into `reward`.
# Returns flags.
cdef int32_t step_of(Simulation *s, int32_t node, int32_t action, double *reward,
                     int32_t *outcome) noexcept nogil
# A node's first visit: what was gained on arrival, and who moves at its state. 0, or a status.
cdef int arrive(Simulation *s, int32_t node, const void *state) noexcept nogil
# As simulation.evaluate, for every player into s.returns.
cdef int evaluate_all(Simulation *s, const void *state, int32_t depth, bint settled) noexcept nogil
# Keep s.returns at the path's last node, a new one; the part of who moves there.
cdef double remember_worths(Simulation *s) noexcept nogil
# Put what was kept there into s.returns.
cdef void recall(Simulation *s) noexcept nogil
# s.returns, from what follows the path's node `i` to what follows the action that leads there. The
# part of the player who chose that.
cdef double carry_up(Simulation *s, int32_t i) noexcept nogil


cdef inline double *vector_at(const Simulation *s, double *column, int32_t node) noexcept nogil:
    return column + <size_t>node * s.players


cdef inline bint same_rewards(const Simulation *s, int32_t node) noexcept nogil:
    """Did everyone get on arrival there what the last step gave?"""
    cdef const double *rewards = vector_at(s, s.arena.rewards, node)
    cdef int32_t player
    for player in range(s.players):
        if rewards[player] != s.gained[player]:
            return False
    return True
