"""A search for Python: made from a simulator, a root and settings; run, run further, read out."""

cimport cython
from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t

import numpy as np

from mcts_core.errors import ConfigError, NonFiniteError, SearchInUseError, SimulatorError
from mcts_core import config as settings, result

from cpython.exc cimport PyErr_CheckSignals

from mcts_core.context cimport (EVALUATE_DECISIVE, EVALUATE_FORCED, EVALUATE_ROLLOUT,
                                EVALUATE_SIMULATOR, Simulation, monotonic_ns, simulation_free,
                                simulation_init, widen)
from mcts_core.expansion cimport expand
from mcts_core.native cimport (STATUS_ERROR, STATUS_NO_MEMORY, STATUS_NOT_FINITE, STATUS_PENDING,
                               SimulatorHandle)
from mcts_core.selection cimport FPU_FIRST, FPU_NUMBER, FPU_PARENT, RULE_PUCT, RULE_UCB1
from mcts_core.simulation cimport run_slice
from mcts_core.tree cimport (NODE_CHANCE, NODE_PROVEN, NODE_SETTLED, Arena, Node, arena_arrays,
                             best_child, bytes_of, state_at)

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

    Raises:
        ConfigError: ``prior`` has the wrong length or an entry that is negative or not finite
            (found at the first ``run``).
    """

    cdef readonly SimulatorHandle simulator
    cdef readonly object config
    cdef object prior
    cdef Simulation s
    cdef int64_t started_ns
    cdef str stop_reason
    cdef bint busy

    def __init__(self, SimulatorHandle simulator not None, object root_state, object config,
                 object prior=None):
        if self.simulator is not None:
            raise RuntimeError("a search is made once")
        if simulator.table.legal == NULL or simulator.table.step == NULL:
            raise SimulatorError(f"simulator: got a {type(simulator).__name__} that was not made")
        self.simulator = simulator
        if simulation_init(&self.s, &simulator.table) < 0:
            raise MemoryError("no memory for a search tree")
        self.config = config
        self.prior = prior
        self.stop_reason = "simulations"
        self.started_ns = monotonic_ns()
        self.take_settings(config)
        simulator.pack_root(root_state, state_at(&self.s.arena, 0))
        self.s.arena.node[0].state = 0
        self.s.arena.state_count = 1

    def __dealloc__(self):
        simulation_free(&self.s)

    cdef int check_made(self) except -1:
        if self.simulator is None:
            raise RuntimeError("this search was not made: call Search(...)")
        return 0

    cdef int take_settings(self, object config) except -1:
        cdef Simulation *s = &self.s
        s.rule.kind = RULE_PUCT if config.selection == "puct" else RULE_UCB1
        s.rule.fpu_kind = {"first": FPU_FIRST, "parent": FPU_PARENT}.get(config.fpu, FPU_NUMBER)
        s.rule.fpu = config.fpu if s.rule.fpu_kind == FPU_NUMBER else 0.0
        s.rule.exploration = config.exploration
        s.rule.fixed_range = config.value_range is not None
        s.rule.low = INFINITY
        s.rule.high = -INFINITY
        if s.rule.fixed_range:
            s.rule.low, s.rule.high = config.value_range
        s.evaluation = {"simulator": EVALUATE_SIMULATOR, "forced": EVALUATE_FORCED,
                        "rollout": EVALUATE_ROLLOUT,
                        "decisive": EVALUATE_DECISIVE}[config.evaluation]
        if s.evaluation == EVALUATE_DECISIVE and s.table.outcomes != NULL:
            raise ConfigError("evaluation", config.evaluation, "another one: this simulator has "
                              "chance (or lists outcomes), and no move is sure to end the world")
        s.max_depth = config.max_depth
        s.discount = config.discount
        s.prior_mix = config.prior_mix
        s.solver = config.solver
        s.rng = config.seed
        return 0

    def run(self, simulations=None, time_limit_ms=None):
        """Simulate until a budget ends; once at least.

        Args:
            simulations: how many more, >= 1; None: up to the total of ``config.simulations``.
            time_limit_ms: for this call, > 0; None: that of ``config``.

        Returns:
            "simulations", "time", "proven" or "no_action" (the root has none); or "pending": it
            awaits an answer (``simulators.python.PythonSimulator.resolve``), then call again.

        Raises:
            ConfigError: an argument is out of its range.
            NonFiniteError: a reward, value or prior is not finite or larger than 1e150.
            SearchInUseError: another call on this search is still running.
            MemoryError: the tree does not fit.
            Whatever the simulator raises. After any of these the search is as it was before the
            simulation that failed, and can be run or read out.
        """
        self.check_made()
        if simulations is not None:
            settings.check_int("simulations", simulations, 1, settings.MAX_COUNT - self.s.done)
        if time_limit_ms is not None:
            settings.check_real("time_limit_ms", time_limit_ms, 0.0, INFINITY, open_low=True)
        if self.busy:
            raise SearchInUseError("this search is running already; make one search a thread")
        self.busy = True
        try:
            self.stop_reason = self.run_until(
                self.config.simulations if simulations is None else self.s.done + simulations,
                time_limit_ms or self.config.time_limit_ms or 0.0)
            return self.stop_reason
        finally:
            self.busy = False

    cdef str run_until(self, int32_t target, double limit_ms):
        cdef int64_t now = monotonic_ns(), deadline = 0, slice_end
        cdef int status = self.open_root()
        if limit_ms > 0.0:
            deadline = now + <int64_t>(min(limit_ms, 1e12) * 1e6)
        if status == STATUS_PENDING:
            return "pending"
        if self.s.arena.node[0].child_count == 0:
            return "no_action"
        while self.s.done < target and not self.root_proven():
            slice_end = now + SLICE_NS
            if deadline and slice_end > deadline:
                slice_end = deadline
            if self.simulator.table.needs_gil:
                status = run_slice(&self.s, target, slice_end)
            else:
                with nogil:
                    status = run_slice(&self.s, target, slice_end)
            if status == STATUS_PENDING:
                return "pending"
            if status < 0:
                self.fail(status)
            PyErr_CheckSignals()
            now = monotonic_ns()
            if deadline and now >= deadline and self.s.done < target:
                return "time"
        return "proven" if self.root_proven() else "simulations"

    cdef bint root_proven(self):
        return (self.s.arena.flags[0] & NODE_PROVEN) != 0

    cdef int open_root(self) except? -2:
        """Expand the root if that is still to be done. 0 or STATUS_PENDING."""
        cdef Node *root = &self.s.arena.node[0]
        cdef int status, i, count
        if root.child_count > 0 or self.s.arena.flags[0] & NODE_SETTLED:
            return 0
        if self.prior is None:
            status = expand(&self.s, 0, False)
        else:
            weights = self.prior_weights()
            count = self.count_legal()
            if count < 0:
                status = count
            else:
                self.check_prior(weights, count)
                for i in range(count):
                    self.s.weights[i] = weights[i]
                status = expand(&self.s, 0, True)
        if status < 0 and status != STATUS_PENDING:
            self.fail(status)
        return status

    cdef int count_legal(self) except? -1:
        """How many actions the root has, with room for them in the buffers; or a status."""
        cdef const void *state = state_at(&self.s.arena, 0)
        cdef int32_t count = self.simulator.table.legal(self.simulator.table.context, state,
                                                        self.s.actions, self.s.wide)
        if count > self.s.wide and widen(&self.s, count) < 0:
            return STATUS_NO_MEMORY
        return count

    cdef object prior_weights(self):
        try:
            weights = np.asarray(self.prior, dtype=np.float64)
        except (TypeError, ValueError):
            raise ConfigError("prior", self.prior, "a sequence of numbers") from None
        if weights.ndim != 1:
            raise ConfigError("prior", f"shape {weights.shape}", "one dimension")
        return weights

    cdef object check_prior(self, object weights, int count):
        if len(weights) != count:
            raise ConfigError("prior", f"{len(weights)} weights",
                              f"one for each of the root's {count} actions")
        for i, weight in enumerate(weights.tolist()):
            if not 0.0 <= weight <= 1e150:
                raise ConfigError(f"prior[{i}]", weight, "a weight from 0 to 1e150")

    cdef int fail(self, int status) except -1:
        """Raise the exception that a status stands for."""
        if status == STATUS_NO_MEMORY:
            raise MemoryError(f"no memory for more than {self.s.arena.size} nodes")
        if status == STATUS_NOT_FINITE:
            raise NonFiniteError(self.describe_bad())
        error = self.simulator.take_error() if status == STATUS_ERROR else None
        raise error or SimulatorError(f"the simulator returned status {status} without an error")

    cdef str describe_bad(self):
        state = self.simulator.state_object(self.s.bad_state)
        what = f"value of state {state!r}"
        if self.s.bad_action >= 0:
            action = self.simulator.action_object(self.s.bad_state, self.s.bad_action)
            what = f"reward or prior of action {action!r} in state {state!r}"
        return f"{what}: got {self.s.bad_number!r}, wanted a number of magnitude at most 1e150"

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
        self.check_made()
        cdef Arena *tree = &self.s.arena
        cdef int32_t first = tree.node[0].first_child, count = tree.node[0].child_count
        cdef int32_t best = best_child(tree, 0), i, offered
        order = self.offered_order()
        visits = np.zeros(count, dtype=np.int64)
        values = np.full(count, np.nan)
        priors = np.zeros(count)
        proven = np.zeros(count, dtype=bool)
        actions = [None] * count
        for i in range(count):
            offered = order[tree.action[first + i]]
            priors[offered] = tree.prior[first + i]
            actions[offered] = self.action_of(0, first + i)
            if i < tree.node[0].tried:
                visits[offered] = tree.visits[first + i]
                values[offered] = tree.value[first + i]
                proven[offered] = (tree.flags[first + i] & NODE_PROVEN) != 0
        variation = self.principal_variation()
        return result.SearchResult(
            action=variation[0] if variation else None,
            actions=tuple(actions),
            visits=visits,
            values=values,
            priors=priors,
            value=tree.value[best] if best >= 0 else float("nan"),
            principal_variation=variation,
            proven=self.root_proven(),
            proven_by="search" if self.root_proven() else None,
            proven_actions=proven,
            simulations=self.s.done,
            nodes=self.nodes,
            stop_reason=self.stop_reason,
            time_ms=(monotonic_ns() - self.started_ns) / 1e6,
            seed=self.config.seed,
        )

    def tree(self):
        """The visited tree as a ``SearchTree`` of arrays (copies)."""
        self.check_made()
        return arena_arrays(&self.s.arena)[0]

    def tree_actions(self):
        """For each node of ``tree()`` the action that leads to it in the simulator's own terms,
        None for the root; for an outcome of chance its index."""
        cdef Arena *arena = &self.s.arena
        cdef int32_t i
        self.check_made()
        tree, index = arena_arrays(arena)
        parents = tree.parent.tolist()
        return [None] + [tree.action[i].item() if tree.kind[i] == result.OUTCOME
                         else self.action_of(index[parents[i]], index[i])
                         for i in range(1, len(parents))]

    def tree_states(self):
        """For each node of ``tree()`` its state in the simulator's own terms, None for chance."""
        cdef int32_t slot
        self.check_made()
        states = []
        for i in arena_arrays(&self.s.arena)[1].tolist():
            slot = self.s.arena.node[i].state
            states.append(None if slot < 0 else
                          self.simulator.state_object(state_at(&self.s.arena, slot)))
        return states

    cdef object action_of(self, int32_t parent, int32_t child):
        """The simulator's name for an action, given its node and its decision node."""
        cdef Arena *tree = &self.s.arena
        return self.simulator.action_object(state_at(tree, tree.node[parent].state),
                                            tree.action[child])

    cdef dict offered_order(self):
        """Action -> place in the order in which the root offers it."""
        cdef int32_t i
        if self.s.arena.node[0].child_count == 0:
            return {}
        self.simulator.table.legal(self.simulator.table.context, state_at(&self.s.arena, 0),
                                   self.s.actions, self.s.wide)
        return {self.s.actions[i]: i for i in range(self.s.arena.node[0].child_count)}

    cdef tuple principal_variation(self):
        cdef Arena *tree = &self.s.arena
        cdef int32_t node = 0, child
        variation = []
        while True:
            child = best_child(tree, node)
            if child < 0 or tree.visits[child] == 0:
                return tuple(variation)
            if tree.flags[node] & NODE_CHANCE == 0:
                variation.append(self.action_of(node, child))
            node = child


def search(simulator, root_state, config, *, prior=None):
    """Search from ``root_state`` and return the ``SearchResult``: ``Search`` made, run, read out.

    Raises as ``Search`` and ``Search.run`` do; SimulatorError if an async simulator really waits
    (search it with ``simulators.search_async``).
    """
    run = Search(simulator, root_state, config, prior)
    if run.run() == "pending":
        raise SimulatorError("the simulator awaits an answer: use simulators.search_async")
    return run.result()
