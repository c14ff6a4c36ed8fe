"""Planning with Gumbel: the improved policy, and sequential halving at the root."""

from libc.stdint cimport int32_t

from mcts_core.context cimport Halving, Simulation

ctypedef struct Improved:   # how values of a node become logits
    double mixed            # value that stands for actions not tried
    double low              # (q - low) * scale is the transformed value of an action
    double scale

cdef Improved improve(const Simulation *s, int32_t index) noexcept nogil
# Weight of a child of the root under the improved policy, not normalised.
cdef double improved_share(const Simulation *s, int32_t child, const Improved *by) noexcept nogil
# Offset of the child to descend to, of `count` that may be opened; at the root by halving.
cdef int32_t select_improved(const Simulation *s, int32_t index, int32_t count) noexcept nogil
cdef int32_t select_halving(const Simulation *s) noexcept nogil
# Begin a phase of the halving with so many actions; move the halving on by one simulation.
cdef void plan_phase(Halving *h, int32_t considered) noexcept nogil
cdef void advance_halving(Simulation *s) noexcept nogil
# Offset of the action that a Gumbel root ends with.
cdef int32_t gumbel_choice(const Simulation *s) noexcept nogil
