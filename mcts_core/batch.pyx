"""Leaves collected, evaluated in one call, and backed up; apart while they wait by virtual loss
(Chaslot et al. 2008, "Parallel Monte-Carlo tree search", section 4.3)."""

cimport cython
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.math cimport fabs
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy

from numpy import ascontiguousarray as contiguous
from numpy import dtype, empty

from mcts_core.errors import NonFiniteError, SimulatorError

from mcts_core.backup cimport finish
from mcts_core.context cimport Simulation, widen
from mcts_core.evaluation cimport evaluate
from mcts_core.expansion cimport expand, reweigh
from mcts_core.gumbel cimport advance_halving
from mcts_core.native cimport LIMIT, STATUS_NO_MEMORY, STATUS_TAKEN
from mcts_core.simulation cimport decided, simulate
from mcts_core.tree cimport NODE_PROVEN, NODE_SETTLED, Arena, state_at

cdef object UINT8 = dtype("uint8")
cdef object FLOAT64 = dtype("float64")


@cython.final
cdef class Batch:
    """The leaves that await one call of ``function``."""

    def __cinit__(self, function, int32_t size):
        self.function = function
        self.size = size
        self.leaves = <Pending *>malloc(<size_t>size * sizeof(Pending))
        if self.leaves == NULL:
            raise MemoryError("no memory for a batch")

    def __dealloc__(self):
        free(self.leaves)
        free(self.nodes)

    cdef int run(self, Simulation *s, SimulatorHandle simulator, int32_t target) except? -1:
        cdef int status
        if s.table.needs_gil:
            status = self.collect(s, target)
        else:
            with nogil:
                status = self.collect(s, target)
        try:
            if self.count > 0:
                given, values = self.ask(s, simulator)
                if given is not None:
                    self.weigh_all(s, given)
                self.back_up_all(s, <const double *>data_of(values))
            return status
        finally:
            self.give_up(s)

    cdef int collect(self, Simulation *s, int32_t target) noexcept nogil:
        """Simulate up to as many new leaves as a batch has. What ends at a place where the world
        ends is backed up at once. 0, or a status below 0 that is not STATUS_TAKEN."""
        cdef int32_t ask = 0
        cdef int status = 0
        if s.early_stop and decided(s, target, &ask):
            s.decided = True
            return 0
        s.collecting = True
        while self.count < self.size and s.done + self.count < target \
                and s.arena.flags[0] & NODE_PROVEN == 0:
            status = simulate(s)
            if status == STATUS_TAKEN and self.count > 0:
                status = 0
                break                       # a smaller batch rather than the same leaf twice
            if status == 1:
                status = self.settle(s)
            if status < 0:
                break
            if status == 0:
                s.done += 1
            if s.halving.on:
                advance_halving(s)
        s.collecting = False
        return status if status < 0 else 0

    cdef int settle(self, Simulation *s) noexcept nogil:
        """The new leaf at s.path: evaluated by the simulator and backed up if the world ends there
        (0), else kept (1); or a status."""
        cdef Arena *tree = &s.arena
        cdef double worth = 0.0
        cdef int status = 0
        if tree.flags[s.leaf.node] & NODE_SETTLED == 0 \
                and tree.node[s.leaf.node].first_child < 0:
            status = expand(s, s.leaf.node, True)
        if status < 0:
            return status
        if tree.flags[s.leaf.node] & NODE_SETTLED == 0:
            return self.keep(s)
        status = evaluate(s, state_at(tree, tree.node[s.leaf.node].state), s.leaf.depth, True,
                          &worth)
        if status >= 0:
            finish(s, worth, True)
        return min(status, 0)

    cdef int keep(self, Simulation *s) noexcept nogil:
        """Remember the path, and that a simulation is under way along it. 1, or a status."""
        cdef int32_t i, capacity
        cdef void *moved
        if self.capacity - self.used < s.path_length:
            capacity = 2 * (self.capacity + s.path_length)
            moved = realloc(self.nodes, <size_t>capacity * sizeof(int32_t))
            if moved == NULL:
                return STATUS_NO_MEMORY
            self.nodes = <int32_t *>moved
            self.capacity = capacity
        memcpy(self.nodes + self.used, s.path, <size_t>s.path_length * sizeof(int32_t))
        self.leaves[self.count].node = s.leaf.node
        self.leaves[self.count].start = self.used
        self.leaves[self.count].length = s.path_length
        self.used += s.path_length
        self.count += 1
        for i in range(s.path_length):
            s.arena.in_flight[s.path[i]] += 1
        return 1

    cdef void take(self, Simulation *s, int32_t leaf) noexcept nogil:
        """Put a leaf's path back into s.path, which was as long when it was kept: its simulation is
        no longer under way."""
        cdef const int32_t *nodes = self.nodes + self.leaves[leaf].start
        cdef int32_t i
        s.path_length = self.leaves[leaf].length
        self.leaves[leaf].length = 0
        for i in range(s.path_length):
            s.arena.in_flight[nodes[i]] -= 1
            s.path[i] = nodes[i]

    cdef void give_up(self, Simulation *s) noexcept nogil:
        """None of the leaves left is under way any more; after an error there are some."""
        cdef int32_t leaf
        for leaf in range(self.count):
            self.take(s, leaf)
        self.count = 0
        self.used = 0

    cdef void back_up_all(self, Simulation *s, const double *values) noexcept nogil:
        """``values``: [count], or [count, players] of many."""
        cdef int32_t leaf, each = max(s.players, 1)
        for leaf in range(self.count):
            self.take(s, leaf)
            if s.players:
                memcpy(s.returns, values + leaf * each, each * sizeof(double))
            finish(s, values[leaf * each], False)
        s.done += self.count
        self.count = 0

    cdef int evaluate_root(self, Simulation *s, SimulatorHandle simulator,
                           bint take_prior) except -1:
        """The root's own evaluation; its priors too unless the caller gave some."""
        self.leaves[0].node = 0
        self.leaves[0].start = self.leaves[0].length = 0
        self.count = 1
        try:
            given, values = self.ask(s, simulator)
            if s.arena.raw != NULL:
                s.arena.raw[0] = values[0, s.arena.mover[0]] if s.players else values[0]
            if given is not None and take_prior:
                self.weigh_all(s, given)
        finally:
            self.count = 0
        return 0

    cdef int weigh(self, Simulation *s, int32_t node, const double *row,
                   Py_ssize_t width) noexcept nogil:
        """Give a leaf's children the evaluator's priors, by the numbers of their actions. 0, a
        status, or 1: ``s.bad_action`` has no column."""
        cdef int32_t first = s.arena.node[node].first_child, i
        cdef int32_t count = s.arena.node[node].child_count
        if count > s.wide and widen(s, count) < 0:
            return STATUS_NO_MEMORY
        for i in range(count):
            s.bad_action = s.arena.action[first + i]
            if not 0 <= s.bad_action < width:
                return 1
            s.weights[i] = row[s.bad_action]
        return reweigh(s, node)

    cdef int weigh_all(self, Simulation *s, object priors) except -1:
        """``priors``: contiguous float64 [count, actions]."""
        cdef const double *rows = <const double *>data_of(priors)
        cdef Py_ssize_t width = priors.shape[1]
        cdef int32_t leaf
        cdef int status
        for leaf in range(self.count):
            status = self.weigh(s, self.leaves[leaf].node, rows + leaf * width, width)
            if status == STATUS_NO_MEMORY:
                raise MemoryError("no memory for a batch")
            if status == 1:
                raise SimulatorError(f"evaluate_batch: got priors of {width} actions, "
                                     f"wanted one for action {s.bad_action}")
            if status < 0:
                raise NonFiniteError(f"evaluate_batch: got a prior of {s.bad_number!r}, wanted "
                                     "finite numbers of at least 0")
        return 0

    cdef object states(self, Simulation *s):
        """uint8 [count, size]: a copy, which the function may keep."""
        cdef size_t size = s.table.state_size
        cdef int32_t leaf
        cdef object rows = empty((self.count, size), UINT8)
        cdef char *row = data_of(rows)
        for leaf in range(self.count):
            memcpy(row + leaf * size,
                   state_at(&s.arena, s.arena.node[self.leaves[leaf].node].state), size)
        return rows

    cdef tuple ask(self, Simulation *s, SimulatorHandle simulator):
        """Call the function: (float64 [count, actions] or None, float64 [count], of many players
        [count, players]), checked and contiguous."""
        cdef const double *numbers
        cdef int32_t count = self.count, i
        cdef object wanted = (count,) + ((s.players,) if s.players else ())
        answer = self.function(simulator.state_batch(self.states(s)))
        try:
            given, estimates = answer
            values = contiguous(estimates, FLOAT64)
            priors = None if given is None else contiguous(given, FLOAT64)
        except (TypeError, ValueError) as error:
            raise SimulatorError("evaluate_batch: got an answer that is not (priors, values) of "
                                 f"numbers ({error})") from None
        if values.shape != wanted:
            raise SimulatorError(f"evaluate_batch: got values of shape {values.shape}, "
                                 f"wanted {wanted}")
        if priors is not None and (priors.ndim != 2 or len(priors) != count or not priors.size):
            raise SimulatorError(f"evaluate_batch: got priors of shape {priors.shape}, wanted "
                                 f"({count}, number of actions)")
        numbers = <const double *>data_of(values)
        for i in range(count * max(s.players, 1)):
            if not fabs(numbers[i]) <= LIMIT:
                raise NonFiniteError(f"evaluate_batch: got a value of {numbers[i]!r}, wanted a "
                                     "number of magnitude at most 1e150")
        return priors, values


cdef char *data_of(object array) except NULL:
    """Where the numbers of a C-contiguous array are, as long as it lives and no Python runs."""
    cdef Py_buffer buffer
    PyObject_GetBuffer(array, &buffer, PyBUF_SIMPLE)
    cdef char *data = <char *>buffer.buf
    PyBuffer_Release(&buffer)
    return data
