"""Tree parallelism: threads that share one tree, apart by virtual loss (Chaslot et al. 2008,
"Parallel Monte-Carlo tree search", section 4.3, with one lock for the tree).

A thread holds the lock while it walks down, expands and backs up, and lets it go while it evaluates
a leaf. So nothing races, and it pays as far as evaluations (rollouts) are what takes the time.
"""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memcpy
from posix.unistd cimport usleep

from mcts_core.errors import ConfigError

from mcts_core.backup cimport finish
from mcts_core.context cimport (Simulation, monotonic_ns, push, simulation_free, simulation_init)
from mcts_core.evaluation cimport evaluate
from mcts_core.gumbel cimport advance_halving
from mcts_core.native cimport STATUS_NO_MEMORY, STATUS_TAKEN
from mcts_core.search cimport Search
from mcts_core.simulation cimport decided, simulate
from mcts_core.tree cimport NODE_PROVEN, NODE_SETTLED, state_at

cdef extern from "<pthread.h>" nogil:
    ctypedef struct pthread_mutex_t:
        pass
    int pthread_mutex_init(pthread_mutex_t *mutex, const void *attributes)
    int pthread_mutex_lock(pthread_mutex_t *mutex)
    int pthread_mutex_unlock(pthread_mutex_t *mutex)
    int pthread_mutex_destroy(pthread_mutex_t *mutex)


@cython.final
cdef class SharedSearch:
    """A search that several threads run at once, each in a call of ``work``, then ``finish``.

    Args:
        search: made with ``share=True``. Its settings' budgets are for all threads together.

    Raises:
        As ``Search.run``.
    """

    cdef Search search
    cdef pthread_mutex_t lock       # guards all of what follows and the search's tree
    cdef int32_t target
    cdef int32_t leaves             # under way
    cdef int32_t ask                # when to look whether the choice is decided
    cdef int64_t deadline           # 0: none
    cdef int status                 # the first that stopped a thread; 0: none did
    cdef bint out_of_time

    def __cinit__(self, Search search not None):
        cdef double limit_ms = search.config.time_limit_ms or 0.0
        if search.s.arena.in_flight == NULL or search.batch is not None:
            raise ConfigError("search", "a tree of its own", "one made with share=True")
        pthread_mutex_init(&self.lock, NULL)
        search.enter()
        self.search = search
        search.ready_root()
        self.target = search.config.simulations if search.s.arena.node[0].child_count else 0
        self.ask = 0 if search.s.early_stop else 2147483647
        if limit_ms > 0.0:
            self.deadline = monotonic_ns() + <int64_t>(min(limit_ms, 1e12) * 1e6)

    def __dealloc__(self):
        if self.search is not None:
            self.search.busy = False
        pthread_mutex_destroy(&self.lock)

    def work(self, uint64_t seed):
        """Simulate until the budget of all ends. ``seed``: of this thread's evaluations."""
        cdef Simulation worker
        cdef Simulation *s = &self.search.s
        if simulation_init(&worker, s.table, 0, 0) < 0:
            raise MemoryError("no memory for a thread")
        worker.evaluation = s.evaluation
        worker.max_depth = s.max_depth
        worker.discount = s.discount
        worker.rule = s.rule
        worker.rng = seed
        with nogil:
            pthread_mutex_lock(&self.lock)
            while self.goes_on():
                self.one(s, &worker)
            pthread_mutex_unlock(&self.lock)
        simulation_free(&worker)

    def finish(self):
        """The search's result; raises what stopped a thread. To be called once all have ended."""
        self.search.stop_reason = self.reason()
        self.search.busy = False
        return self.search.result()

    cdef str reason(self):
        if self.status < 0:
            return self.search.reason_of(self.status)
        if self.search.s.arena.node[0].child_count == 0:
            return "no_action"
        if self.search.root_proven():
            return "proven"
        if self.search.s.decided:
            return "decided"
        return "time" if self.out_of_time else "simulations"

    cdef bint goes_on(self) noexcept nogil:
        """With the lock held: is there another simulation to begin?"""
        cdef Simulation *s = &self.search.s
        if self.status < 0 or s.decided or s.arena.flags[0] & NODE_PROVEN:
            return False
        if s.done >= self.ask and decided(s, self.target, &self.ask):
            s.decided = True
            return False
        if self.deadline and s.done > 0 and monotonic_ns() >= self.deadline:
            self.out_of_time = True
            return False
        return s.done + self.leaves < self.target

    cdef void one(self, Simulation *s, Simulation *worker) noexcept nogil:
        """One simulation of this thread, with the lock held but while it evaluates."""
        cdef int status
        s.collecting = True
        status = simulate(s)
        if status == 1:
            status = self.keep(s, worker)
        if status == STATUS_TAKEN:          # wait for the thread that has the leaf
            pthread_mutex_unlock(&self.lock)
            usleep(1)
            pthread_mutex_lock(&self.lock)
            return
        if status >= 0 and s.halving.on:
            advance_halving(s)
        if status < 0:
            self.status = status
        elif status == 0:
            s.done += 1
        else:
            self.evaluate_leaf(s, worker)

    cdef int keep(self, Simulation *s, Simulation *worker) noexcept nogil:
        """Copy the leaf's path and state to the thread: the tree may move meanwhile. 1, or a
        status."""
        cdef int32_t i
        worker.path_length = 0
        for i in range(s.path_length):
            if push(worker, s.path[i]) < 0:
                return STATUS_NO_MEMORY
        for i in range(s.path_length):
            s.arena.in_flight[s.path[i]] += 1
        worker.leaf = s.leaf
        memcpy(state_at(&worker.arena, 0), state_at(&s.arena, s.arena.node[s.leaf.node].state),
               s.table.state_size)
        self.leaves += 1
        return 1

    cdef void evaluate_leaf(self, Simulation *s, Simulation *worker) noexcept nogil:
        cdef bint settled = (s.arena.flags[worker.leaf.node] & NODE_SETTLED) != 0
        cdef double worth = 0.0
        cdef int32_t i
        cdef int status
        pthread_mutex_unlock(&self.lock)
        status = evaluate(worker, state_at(&worker.arena, 0), worker.leaf.depth, settled, &worth)
        pthread_mutex_lock(&self.lock)
        self.leaves -= 1
        s.path_length = 0
        for i in range(worker.path_length):
            s.arena.in_flight[worker.path[i]] -= 1
            push(s, worker.path[i])         # as long a path was there before
        if status < 0:
            if worker.bad_state != NULL:
                memcpy(s.scratch, worker.bad_state, s.table.state_size)
            s.bad_state = s.scratch
            s.bad_action = worker.bad_action
            s.bad_number = worker.bad_number
            self.status = status
            return
        if s.players:
            memcpy(s.returns, worker.returns, s.players * sizeof(double))
        finish(s, worth, settled)
        s.done += 1
