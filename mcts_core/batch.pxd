"""Leaves collected, evaluated in one call, and backed up."""

from libc.stdint cimport int32_t

from mcts_core.context cimport Simulation
from mcts_core.native cimport SimulatorHandle

ctypedef struct Pending:    # a leaf that awaits its evaluation
    int32_t node
    int32_t start           # where its path begins in `nodes`
    int32_t length


cdef class Batch:
    cdef object function        # states -> (priors or None, values)
    cdef int32_t size           # leaves a call at most
    cdef int32_t count          # leaves collected
    cdef Pending *leaves        # [size]
    cdef int32_t *nodes         # the paths, one after the other
    cdef int32_t used
    cdef int32_t capacity

    # Collect, evaluate and back up one batch. 0, or a status.
    cdef int run(self, Simulation *s, SimulatorHandle simulator, int32_t target) except? -1
    cdef int evaluate_root(self, Simulation *s, SimulatorHandle simulator,
                           bint take_prior) except -1
    cdef int collect(self, Simulation *s, int32_t target) noexcept nogil
    cdef int settle(self, Simulation *s) noexcept nogil
    cdef int keep(self, Simulation *s) noexcept nogil
    cdef void take(self, Simulation *s, int32_t leaf) noexcept nogil
    cdef void give_up(self, Simulation *s) noexcept nogil
    cdef void back_up_all(self, Simulation *s, const double *values) noexcept nogil
    cdef int weigh(self, Simulation *s, int32_t node, const double *row,
                   Py_ssize_t width) noexcept nogil
    cdef int weigh_all(self, Simulation *s, object priors) except -1
    cdef object states(self, Simulation *s)
    cdef tuple ask(self, Simulation *s, SimulatorHandle simulator)
