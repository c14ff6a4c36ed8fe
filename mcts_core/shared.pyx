"""Tree parallelism: threads that share one tree, apart by virtual loss (Chaslot et al. 2008,
"Parallel Monte-Carlo tree search", section 4.3, with one lock for the tree).

A thread holds the lock while it walks down, expands and backs up, and lets it go while it evaluates
a leaf. So nothing races, and it pays as far as evaluations (rollouts) are what takes the time.
"""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memcpy

import numpy as np

from mcts_core.errors import ConfigError, SearchInUseError, SimulatorError

from mcts_core.backup cimport finish
from mcts_core.context cimport (Simulation, monotonic_ns, push, simulation_free, simulation_init)
from mcts_core.evaluation cimport evaluate
from mcts_core.gumbel cimport advance_halving
from mcts_core.native cimport STATUS_FULL, STATUS_NO_MEMORY, STATUS_TAKEN
from mcts_core.search cimport Search
from mcts_core.simulation cimport decided, simulate
from mcts_core.tree cimport NODE_PROVEN, NODE_SETTLED, Arena, arena_arrays, state_at

cdef extern from "<pthread.h>" nogil:
    ctypedef struct pthread_mutex_t:
        pass
    int pthread_mutex_init(pthread_mutex_t *mutex, const void *attributes)
    int pthread_mutex_lock(pthread_mutex_t *mutex)
    int pthread_mutex_unlock(pthread_mutex_t *mutex)
    int pthread_mutex_destroy(pthread_mutex_t *mutex)
    ctypedef struct pthread_cond_t:
        pass
    int pthread_cond_init(pthread_cond_t *cond, const void *attributes)
    int pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
    int pthread_cond_broadcast(pthread_cond_t *cond)
    int pthread_cond_destroy(pthread_cond_t *cond)

cdef extern from *:
    """
    #define mcts_core_set_flag(flag) __atomic_store_n(flag, 1, __ATOMIC_RELAXED)
    #define mcts_core_flag_is_set(flag) __atomic_load_n(flag, __ATOMIC_RELAXED)
    """
    void set_flag "mcts_core_set_flag" (int *flag) noexcept nogil
    bint flag_is_set "mcts_core_flag_is_set" (int *flag) noexcept nogil


@cython.final
cdef class SharedSearch:
    """A search that several threads run at once, each in a call of ``work``, then ``finish``.
    Until then the search is theirs alone.

    Args:
        search: made with ``share=True``, of a simulator that does not need the GIL. Its settings'
            budgets are for all threads together.

    Raises:
        As ``Search.run``.
    """

    cdef Search search
    cdef int32_t working            # threads in ``work``; read and written with the GIL held
    cdef bint finished              # likewise
    cdef pthread_mutex_t lock       # guards all of what follows and the search's tree
    cdef pthread_cond_t backed_up   # a leaf that was under way is no more
    cdef int32_t target
    cdef int32_t leaves             # under way
    cdef int32_t ask                # when to look whether the choice is decided
    cdef int64_t deadline           # 0: none
    cdef int status                 # the first that stopped a thread; 0: none did
    cdef bint out_of_time
    cdef int stopped                # by ``stop``; atomic, see there

    def __cinit__(self, Search search not None):
        cdef double limit_ms
        pthread_mutex_init(&self.lock, NULL)
        pthread_cond_init(&self.backed_up, NULL)
        search.check_made()
        if search.s.arena.in_flight == NULL or search.batch is not None:
            raise ConfigError("search", "a tree of its own", "one made with share=True")
        if search.simulator.table.needs_gil:
            raise SimulatorError(f"simulator: got a {type(search.simulator).__name__}, which needs "
                                 "the GIL, wanted one that threads can share: explicit or native")
        search.enter()
        self.search = search
        search.ready_root()
        search.s.decided = False
        limit_ms = search.config.time_limit_ms or 0.0
        self.target = search.config.simulations if search.s.arena.node[0].child_count else 0
        self.ask = 0 if search.s.early_stop else 2147483647
        if limit_ms > 0.0:
            self.deadline = monotonic_ns() + <int64_t>(min(limit_ms, 1e12) * 1e6)

    def __dealloc__(self):
        if self.search is not None and not self.finished:
            self.search.busy = False
        pthread_cond_destroy(&self.backed_up)
        pthread_mutex_destroy(&self.lock)

    def work(self, seed=None):
        """Simulate until the budget of all ends, or ``stop``.

        Args:
            seed: of this thread's draws, 0 to 2**64 - 1; None: go on with those of the search, as
                one of the threads should: alone it grows the tree that ``Search.run`` would.

        Raises:
            SearchInUseError: ``finish`` was called.
        """
        cdef Simulation worker
        cdef bint as_search = seed is None
        cdef uint64_t stream = 0 if as_search else seed
        if self.finished:
            raise SearchInUseError("this shared search is finished; make another")
        if simulation_init(&worker, self.search.s.table, 0, 0) < 0:
            simulation_free(&worker)
            raise MemoryError("no memory for a thread")
        self.working += 1
        with nogil:
            self.run(&worker, as_search, stream)
        self.working -= 1
        simulation_free(&worker)

    def stop(self):
        """Let all threads end as soon as they have backed up what they evaluate.

        Without the lock: threads that take it again and again may keep another out for seconds."""
        set_flag(&self.stopped)

    def finish(self):
        """The search's result; raises what stopped a thread.

        Raises:
            SearchInUseError: a thread is still at work, or this is the second call.
            As ``Search.run``.
        """
        if self.working > 0 or self.finished:
            what = "finished already" if self.finished else f"in use by {self.working} threads"
            raise SearchInUseError(f"this shared search is {what}")
        self.finished = True
        self.search.busy = False
        self.search.stop_reason = self.reason()
        return self.search.result()

    def under_way(self):
        """int32 [N] for the nodes of ``Search.tree``: simulations under way, after ``finish`` 0."""
        cdef Arena *tree = &self.search.s.arena
        self.search.check_idle()
        return np.asarray(<int32_t[:tree.size]>tree.in_flight)[arena_arrays(tree)[1]]

    cdef void run(self, Simulation *worker, bint as_search, uint64_t seed) noexcept nogil:
        cdef Simulation *s = &self.search.s
        pthread_mutex_lock(&self.lock)
        worker.evaluation = s.evaluation
        worker.max_depth = s.max_depth
        worker.discount = s.discount
        worker.rule = s.rule
        worker.rng = s.rng if as_search else seed
        while self.goes_on():
            self.one(s, worker)
        if as_search:
            s.rng = worker.rng
        pthread_mutex_unlock(&self.lock)

    cdef str reason(self):
        if self.status < 0:
            return self.search.reason_of(self.status)
        if self.search.s.arena.node[0].child_count == 0:
            return "no_action"
        if self.search.root_proven():
            return "proven"
        if self.search.s.decided:
            return "decided"
        if self.out_of_time and self.search.s.done < self.target:
            return "time"
        return "simulations"

    cdef bint goes_on(self) noexcept nogil:
        """With the lock held: is there another simulation to begin?"""
        cdef Simulation *s = &self.search.s
        if self.status < 0 or flag_is_set(&self.stopped) or s.decided \
                or s.arena.flags[0] & NODE_PROVEN:
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
        s.rng = worker.rng
        status = simulate(s)
        worker.rng = s.rng
        s.collecting = False
        if status == 1:
            status = self.keep(s, worker)
        if status == STATUS_TAKEN:          # by a thread that evaluates the leaf
            pthread_cond_wait(&self.backed_up, &self.lock)
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
        pthread_cond_broadcast(&self.backed_up)     # they go on once the lock is free
        self.leaves -= 1
        s.path_length = 0
        for i in range(worker.path_length):
            s.arena.in_flight[worker.path[i]] -= 1
            push(s, worker.path[i])         # as long a path was there before
        if status < 0:
            self.take_failure(s, worker, status)
            return
        if s.players:
            memcpy(s.returns, worker.returns, s.players * sizeof(double))
        finish(s, worth, settled)
        s.done += 1

    cdef void take_failure(self, Simulation *s, const Simulation *worker,
                           int status) noexcept nogil:
        """What failed in a thread's evaluation, with what it was; the first error stands."""
        if self.status != 0 and self.status != STATUS_FULL:
            return
        self.status = status
        if worker.bad_state != NULL:
            memcpy(s.scratch, worker.bad_state, s.table.state_size)
            s.bad_state = s.scratch
            s.bad_action = worker.bad_action
            s.bad_number = worker.bad_number
