"""A search for Python: made from a simulator, a root and settings; run, run further, read out."""

cimport cython
from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t

from mcts_core.errors import ConfigError, NonFiniteError, SearchInUseError, SimulatorError
from mcts_core import config as bounds

from cpython.exc cimport PyErr_CheckSignals

from mcts_core.advance cimport step_to
from mcts_core.batch cimport Batch
from mcts_core.context cimport monotonic_ns, simulation_free, simulation_init
from mcts_core.evaluation cimport evaluate
from mcts_core.many_players cimport seat_root
from mcts_core.native cimport (STATUS_ERROR, STATUS_FULL, STATUS_NO_MEMORY, STATUS_NOT_FINITE,
                               STATUS_NO_PLAYER, STATUS_PENDING, SimulatorHandle, SimulatorTable)
from mcts_core.readout cimport actions_of, result_of, states_of, tree_of
from mcts_core.root cimport open_root, prepare_root, prior_array
from mcts_core.settings cimport columns_of, limit_of, take_settings
from mcts_core.simulation cimport run_slice
from mcts_core.tree cimport NODE_PROVEN, bytes_of, state_at

cdef int64_t SLICE_NS = 20_000_000  # signals (Ctrl-C) are looked at between slices of this length


@cython.final
cdef class Search:
    """One search from one root, used by one thread at a time.

    Args:
        simulator: what to search, made by ``simulators``.
        root_state: a state in the simulator's own terms.
        config: see ``SearchConfig``.
        prior: [k] weights >= 0 for the root's k actions in the order offered, or None for the
            simulator's own prior, else uniform.
        share: make the tree one that threads can share, see ``search_parallel``.
        evaluate_batch: None, or a function that estimates many leaves at once instead of
            ``config.evaluation``, see ``mcts_core.simulator.EvaluateBatch``. Up to
            ``config.batch_size`` leaves are collected for a call, kept apart by virtual loss.

    Raises:
        ConfigError: ``prior`` has an entry that is negative or not finite, or (at the first
            ``run``) the wrong length; ``config`` names a rule or asks for what is not there, or
            for ``solver`` in a world of three players or more.
        SimulatorError: the simulator was not made.
    """

    def __cinit__(self):
        self.stop_reason = "simulations"

    def __init__(self, SimulatorHandle simulator not None, object root_state, object config,
                 object prior=None, object evaluate_batch=None, *, bint share=False):
        if self.simulator is not None:
            raise RuntimeError("a search is made once")
        if simulator.table.legal == NULL or simulator.table.step == NULL:
            raise SimulatorError(f"simulator: got a {type(simulator).__name__} that was not made")
        if evaluate_batch is not None and not callable(evaluate_batch):
            raise ConfigError("evaluate_batch", evaluate_batch, "None or a function")
        if config.transpositions and simulator.table.key == NULL:
            raise ConfigError("transpositions", True, "False: the simulator gives no state keys")
        self.simulator = simulator
        self.rule = rule_of(config.selection)
        self.prior = prior_array(prior)
        check_players(&simulator.table)
        columns = columns_of(config, self.rule, share or evaluate_batch is not None,
                             simulator.table.players)
        if simulation_init(&self.s, &simulator.table, columns, limit_of(config)) < 0:
            raise MemoryError("no memory for a search tree")
        self.config = config
        take_settings(&self.s, config, self.rule)
        if evaluate_batch is not None:
            self.batch = Batch(evaluate_batch, config.batch_size)
        self.started_ns = monotonic_ns()
        simulator.pack_root(root_state, state_at(&self.s.arena, 0))
        self.s.arena.node[0].state = 0
        self.s.arena.state_count = 1

    def __dealloc__(self):
        simulation_free(&self.s)

    cdef int check_made(self) except -1:
        if self.config is None:
            raise RuntimeError("this search was not made: call Search(...)")
        return 0

    def run(self, simulations=None, time_limit_ms=None):
        """Simulate until a budget ends; once at least.

        Args:
            simulations: how many more, >= 1; None: up to the total of ``config.simulations``.
            time_limit_ms: for this call, > 0; None: that of ``config``.

        Returns:
            "simulations", "time", "memory", "decided" (see ``config.early_stop``), "proven" or
            "no_action" (the root has none); or "pending": it awaits an answer
            (``simulators.python.PythonSimulator.resolve``), then call again.

        Raises:
            ConfigError: an argument is out of its range.
            NonFiniteError: a reward, value or prior is not finite or larger than 1e150.
            SearchInUseError: another call on this search is still running.
            MemoryError: the tree does not fit.
            Whatever the simulator or ``evaluate_batch`` raises. After any of these the search is as
            it was before the simulations that failed, and can be run or read out.
        """
        self.check_made()
        if simulations is not None:
            bounds.check_int("simulations", simulations, 1, bounds.MAX_COUNT - self.s.done)
        if time_limit_ms is not None:
            bounds.check_real("time_limit_ms", time_limit_ms, 0.0, INFINITY, open_low=True)
        self.enter()
        try:
            self.stop_reason = self.run_until(
                self.config.simulations if simulations is None else self.s.done + simulations,
                time_limit_ms or self.config.time_limit_ms or 0.0)
            return self.stop_reason
        finally:
            self.busy = False

    cdef int check_idle(self) except -1:
        """The tree stands still, so that it can be read out, or raise."""
        self.check_made()
        if self.busy:
            raise SearchInUseError("this search is running; read it out when that call has ended")
        return 0

    cdef int enter(self) except -1:
        """This call has the search to itself, or raises."""
        if self.busy:
            raise SearchInUseError("this search is running already; make one search a thread")
        self.busy = True
        return 0

    cdef str run_until(self, int32_t target, double limit_ms):
        cdef int64_t now = monotonic_ns(), deadline = 0, slice_end
        cdef int status = self.ready_root()
        if limit_ms > 0.0:
            deadline = now + <int64_t>(min(limit_ms, 1e12) * 1e6)
        if status == STATUS_PENDING:
            return "pending"
        if self.s.arena.node[0].child_count == 0:
            return "no_action"
        self.s.decided = False
        while self.s.done < target and not self.root_proven():
            slice_end = now + SLICE_NS
            if deadline and slice_end > deadline:
                slice_end = deadline
            status = self.run_some(target, slice_end)
            if status == STATUS_PENDING:
                return "pending"
            if status < 0:
                return self.reason_of(status)
            if self.s.decided:
                return "decided"
            PyErr_CheckSignals()
            now = monotonic_ns()
            if deadline and now >= deadline and self.s.done < target:
                return "time"
        return "proven" if self.root_proven() else "simulations"

    cdef str reason_of(self, int status):
        """Why a search ended that a status below 0 ended; raises if it is an error."""
        if status != STATUS_FULL:
            self.fail(status)
        return "memory"

    cdef int run_some(self, int32_t target, int64_t slice_end) except? -1:
        """Simulate until ``target`` or a moment; of batches one. 0, or a status."""
        cdef int status
        if self.batch is not None:
            return self.batch.run(&self.s, self.simulator, target)
        if self.simulator.table.needs_gil:
            return run_slice(&self.s, target, slice_end)
        with nogil:
            status = run_slice(&self.s, target, slice_end)
        return status

    cdef bint root_proven(self):
        return (self.s.arena.flags[0] & NODE_PROVEN) != 0

    cdef int ready_root(self) except? -2:
        """Expand and evaluate the root if that is still to be done. 0 or STATUS_PENDING."""
        cdef int status
        if self.opened:
            return 0
        status = open_root(&self.s, self.prior)
        if status == 0 and self.s.players:
            status = seat_root(&self.s)
        if status == 0 and self.s.arena.node[0].child_count > 0:
            if self.batch is not None:
                self.batch.evaluate_root(&self.s, self.simulator, self.prior is None)
            elif self.s.arena.raw != NULL:
                status = evaluate(&self.s, state_at(&self.s.arena, 0), 0, False,
                                  self.s.arena.raw)
                if self.s.players:
                    self.s.arena.raw[0] = self.s.returns[self.s.arena.mover[0]]
        if status == STATUS_PENDING:
            return status
        if status < 0:
            self.fail(status)
        prepare_root(&self.s, self.config)
        self.opened = True
        return 0

    cdef int fail(self, int status) except -1:
        """Raise the exception that a status stands for."""
        if status == STATUS_NO_MEMORY:
            raise MemoryError(f"no memory for more than {self.s.arena.size} nodes")
        if status == STATUS_FULL:
            raise MemoryError(f"memory_limit_mb: got {self.config.memory_limit_mb}, too little for "
                              "the root's actions")
        if status == STATUS_NOT_FINITE:
            raise NonFiniteError(self.describe_bad())
        if status == STATUS_NO_PLAYER:
            raise SimulatorError(self.describe_mover())
        error = self.simulator.take_error() if status == STATUS_ERROR else None
        raise error or SimulatorError(f"the simulator returned status {status} without an error")

    cdef str describe_bad(self):
        state = self.simulator.state_object(self.s.bad_state)
        what = f"value of state {state!r}"
        if self.s.bad_action >= 0:
            action = self.simulator.action_object(self.s.bad_state, self.s.bad_action)
            what = f"reward or prior of action {action!r} in state {state!r}"
        return f"{what}: got {self.s.bad_number!r}, wanted a number of magnitude at most 1e150"

    cdef str describe_mover(self):
        state = self.simulator.state_object(self.s.bad_state)
        return (f"player of state {state!r}: got {self.s.bad_number:g}, wanted 0 to "
                f"{self.s.players - 1}")

    def advance(self, action, state=None):
        """Take a real step: the place that it led to becomes the root, with what was found below.

        Budgets count anew; what was kept counts as visits. The horizon moves along. A Gumbel root
        plans its visits anew, so nothing but the state is kept there.

        Args:
            action: one of the root's, in the simulator's own terms.
            state: the state that came about; must be given where that is up to chance. Where it is
                not among the outcomes seen so far, nothing is kept.

        Raises:
            ConfigError: ``action`` is not one of the root's; ``state`` is missing.
            SearchInUseError: another call on this search is still running.
            Whatever the simulator raises; the search is then as it was.
        """
        self.check_made()
        self.enter()
        try:
            self.ready_root()
            self.check(step_to(&self.s, self.simulator, action, state))
            self.opened = False
            self.prior = None
            self.stop_reason = "simulations"
        finally:
            self.busy = False

    cdef int check(self, int status) except -1:
        return self.fail(status) if status < 0 else 0

    # --- reading out -----------------------------------------------------------------------------

    @property
    def simulations(self):
        """Simulations run so far."""
        return self.s.done

    @property
    def nodes(self):
        """Visited nodes of the tree, the root included."""
        self.check_made()
        return self.s.arena.visited

    @property
    def nbytes(self):
        """Bytes of the tree: nodes (tried or not) and states."""
        return bytes_of(&self.s.arena, self.s.arena.size, self.s.arena.state_count)

    def result(self):
        """The choice and its evidence so far, as a ``SearchResult``."""
        self.check_idle()
        return result_of(&self.s, self.simulator, self.config, self.stop_reason,
                         (monotonic_ns() - self.started_ns) / 1e6)

    def tree(self):
        """The visited tree as a ``SearchTree`` of arrays (copies)."""
        self.check_idle()
        return tree_of(&self.s)

    def tree_actions(self):
        """For each node of ``tree()`` the action that leads to it in the simulator's own terms,
        None for the root; for an outcome of chance its index."""
        self.check_idle()
        return actions_of(&self.s, self.simulator)

    def tree_states(self):
        """For each node of ``tree()`` its state in the simulator's own terms, None for chance."""
        self.check_idle()
        return states_of(&self.s, self.simulator)


cdef int check_players(const SimulatorTable *table) except -1:
    if not 0 <= table.players <= 255:
        raise SimulatorError(f"players: got {table.players}, wanted 0 to 255")
    if table.players > 2 and table.player == NULL:
        raise SimulatorError(f"player: got no function, wanted one for {table.players} players")
    return 0


cdef object rule_of(str selection):
    """The compiled rule behind a name that is not one of the engine's own; None for those."""
    if selection in ("puct", "ucb1", "ucb1_tuned", "gumbel"):
        return None
    from mcts_core import scoring   # imports numba

    return scoring.load(selection)


def search(simulator, root_state, config, *, prior=None, evaluate_batch=None):
    """Search from ``root_state`` and return the ``SearchResult``: ``Search`` made, run, read out.

    Raises as ``Search`` and ``Search.run`` do; SimulatorError if an async simulator really waits
    (search it with ``simulators.search_async``).
    """
    run = Search(simulator, root_state, config, prior, evaluate_batch)
    if run.run() == "pending":
        raise SimulatorError("the simulator awaits an answer: use simulators.search_async")
    return run.result()
