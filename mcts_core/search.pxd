"""The fields of a search, for the modules that run or change one."""

from libc.stdint cimport int32_t, int64_t

from mcts_core.batch cimport Batch
from mcts_core.context cimport Simulation
from mcts_core.native cimport SimulatorHandle


cdef class Search:
    cdef readonly SimulatorHandle simulator
    cdef readonly object config
    cdef object rule            # the ScoringRule, kept alive
    cdef object prior           # [k] weights of the root, or None
    cdef Batch batch            # None: leaves are evaluated one by one
    cdef Simulation s
    cdef int64_t started_ns
    cdef str stop_reason
    cdef bint busy
    cdef bint opened            # the root is ready

    cdef int check_made(self) except -1
    cdef int check_idle(self) except -1
    cdef int enter(self) except -1
    cdef str run_until(self, int32_t target, double limit_ms)
    cdef str reason_of(self, int status)
    cdef int run_some(self, int32_t target, int64_t slice_end) except? -1
    cdef bint root_proven(self)
    cdef int ready_root(self) except? -2
    cdef int check(self, int status) except -1
    cdef int fail(self, int status) except -1
    cdef str describe_bad(self)
    cdef str describe_mover(self)
