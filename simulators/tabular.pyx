"""Explicit models: a finite world as arrays (CSR), deterministic or stochastic, searched without
the GIL and solved exactly by ``mcts_core.exact``."""

cimport cython
from libc.stdint cimport int8_t, int32_t, uint8_t, uint64_t

import numpy as np

from mcts_core.errors import ModelError
from simulators import checks

from mcts_core.native cimport STEP_TERMINAL, STEP_TURN, SimulatorHandle
from mcts_core.rng cimport uniform

ctypedef struct Model:          # borrowed from the arrays that TabularModel keeps
    const int32_t *action_offsets
    const int32_t *outcome_offsets
    const int32_t *next_state
    const double *probability
    const double *reward
    const uint8_t *terminal
    const double *value
    const double *prior         # NULL: uniform
    const int8_t *player


cdef int32_t legal(void *context, const void *state, int32_t *actions,
                   int32_t capacity) noexcept nogil:
    cdef const Model *model = <const Model *>context
    cdef int32_t s = (<const int32_t *>state)[0], i
    cdef int32_t count = model.action_offsets[s + 1] - model.action_offsets[s]
    for i in range(count if count < capacity else capacity):
        actions[i] = i
    return count


cdef int32_t outcomes(void *context, const void *state, int32_t action) noexcept nogil:
    cdef const Model *model = <const Model *>context
    cdef int32_t choice = model.action_offsets[(<const int32_t *>state)[0]] + action
    return model.outcome_offsets[choice + 1] - model.outcome_offsets[choice]


cdef int32_t step(void *context, const void *state, int32_t action, uint64_t *rng,
                  void *next_state, double *reward, int32_t *outcome) noexcept nogil:
    cdef const Model *model = <const Model *>context
    cdef int32_t s = (<const int32_t *>state)[0]
    cdef int32_t choice = model.action_offsets[s] + action
    cdef int32_t first = model.outcome_offsets[choice], last = model.outcome_offsets[choice + 1]
    cdef int32_t edge = first, to
    cdef double u, cumulative
    if last - first > 1:        # one number drawn, the first outcome whose cumulative passes it
        u = uniform(rng)
        cumulative = model.probability[first]
        while edge < last - 1 and u >= cumulative:
            edge += 1
            cumulative = cumulative + model.probability[edge]
    to = model.next_state[edge]
    (<int32_t *>next_state)[0] = to
    reward[0] = model.reward[edge]
    outcome[0] = edge - first
    return ((STEP_TERMINAL if model.terminal[edge] else 0) |
            (STEP_TURN if model.player[to] != model.player[s] else 0))


cdef int32_t evaluate(void *context, const void *state, double *value) noexcept nogil:
    value[0] = (<const Model *>context).value[(<const int32_t *>state)[0]]
    return 0


cdef int32_t prior_of(void *context, const void *state, int32_t count,
                      double *weights) noexcept nogil:
    cdef const Model *model = <const Model *>context
    cdef int32_t first = model.action_offsets[(<const int32_t *>state)[0]], i
    for i in range(count):
        weights[i] = model.prior[first + i]
    return 0


cdef int32_t probabilities_of(void *context, const void *state, int32_t action,
                              double *probabilities) noexcept nogil:
    cdef const Model *model = <const Model *>context
    cdef int32_t choice = model.action_offsets[(<const int32_t *>state)[0]] + action
    cdef int32_t first = model.outcome_offsets[choice], i
    for i in range(model.outcome_offsets[choice + 1] - first):
        probabilities[i] = model.probability[first + i]
    return 0


cdef int32_t key_of(void *context, const void *state, uint64_t *key) noexcept nogil:
    key[0] = <uint64_t>(<const int32_t *>state)[0]
    return 0


@cython.final
cdef class TabularModel(SimulatorHandle):
    """A finite world as arrays. S states, C choices (state-action pairs), E outcomes.

    State s owns the choices ``action_offsets[s]`` to ``action_offsets[s + 1]``; its actions are
    0, 1, ... in that order. Choice c owns the outcomes ``outcome_offsets[c]`` to
    ``outcome_offsets[c + 1]``. The arrays are copied and made read-only.

    Args:
        action_offsets: [S + 1] integers from 0 to C, not decreasing.
        outcome_offsets: [C + 1] integers from 0 to E, strictly increasing.
        next_state: [E] integers, 0 to S - 1.
        reward: [E] floats, magnitude at most 1e150; seen by the player who moves.
        probability: [E] floats in (0, 1] that sum to 1 within 1e-9 for each choice (they are then
            divided by their sum); None if each choice has one outcome.
        terminal: [E] truth values: nothing follows; None: never.
        value: [S] floats: the estimate used where a search ends; None: 0.
        prior: [C] weights >= 0 of the actions; None: uniform.
        player: [S] 0 or 1: who moves (two-player zero-sum worlds); None: always 0.
        labels: [C] names of the actions for results and messages; None: 0, 1, ... at each state.

    Raises:
        ModelError: an array is malformed; the message names it, and the index.
    """

    cdef Model model
    cdef readonly object action_offsets, outcome_offsets, next_state, probability
    cdef readonly object reward, terminal, value, prior, player, labels

    def __init__(self, action_offsets, outcome_offsets, next_state, reward, *, probability=None,
                 terminal=None, value=None, prior=None, player=None, labels=None):
        self.action_offsets = checks.offsets("action_offsets", action_offsets)
        states = len(self.action_offsets) - 1
        choices = int(self.action_offsets[states])
        self.outcome_offsets = checks.offsets("outcome_offsets", outcome_offsets, choices,
                                              strict=True)
        edges = int(self.outcome_offsets[choices])
        self.next_state = checks.whole("next_state", next_state, edges, np.int32, states)
        self.reward = checks.real("reward", reward, edges, -checks.LARGEST)
        self.probability = checks.distribution(probability, self.outcome_offsets, edges)
        self.terminal = checks.whole("terminal", np.zeros(edges, bool) if terminal is None
                                     else terminal, edges, np.uint8, 2)
        self.value = checks.real("value", np.zeros(states) if value is None else value,
                                 states, -checks.LARGEST)
        self.prior = None if prior is None else checks.real("prior", prior, choices, 0.0)
        self.player = checks.whole("player", np.zeros(states, bool) if player is None else player,
                                   states, np.int8, 2)
        self.labels = None if labels is None else tuple(labels)
        if labels is not None and len(self.labels) != choices:
            raise ModelError(f"labels: got {len(self.labels)} names, wanted {choices}")
        self.point()

    cdef int point(self) except -1:
        """Fill the C view of the arrays and the engine's table."""
        cdef const int32_t[::1] action_offsets = self.action_offsets
        cdef const int32_t[::1] outcome_offsets = self.outcome_offsets
        cdef const int32_t[::1] next_state = self.next_state
        cdef const double[::1] probability = self.probability
        cdef const double[::1] reward = self.reward
        cdef const uint8_t[::1] terminal = self.terminal
        cdef const double[::1] value = self.value
        cdef const double[::1] prior
        cdef const int8_t[::1] player = self.player
        cdef bint chance = outcome_offsets.shape[0] - 1 < next_state.shape[0]
        self.model.action_offsets = &action_offsets[0]
        self.model.outcome_offsets = &outcome_offsets[0]
        self.model.next_state = &next_state[0] if next_state.shape[0] else NULL
        self.model.probability = &probability[0] if probability.shape[0] else NULL
        self.model.reward = &reward[0] if reward.shape[0] else NULL
        self.model.terminal = &terminal[0] if terminal.shape[0] else NULL
        self.model.value = &value[0]
        self.model.player = &player[0]
        self.model.prior = NULL
        if self.prior is not None:
            prior = self.prior
            self.model.prior = &prior[0] if prior.shape[0] else NULL
        self.table.context = &self.model
        self.table.state_size = sizeof(int32_t)
        self.table.needs_gil = False
        self.table.legal = legal
        self.table.outcomes = NULL
        if chance:
            self.table.outcomes = outcomes
        self.table.step = step
        self.table.evaluate = evaluate
        self.table.prior = NULL
        if self.model.prior != NULL:
            self.table.prior = prior_of
        self.table.probabilities = probabilities_of
        self.table.release = NULL
        self.table.key = key_of
        return 0

    @property
    def states(self):
        """Number of states, S."""
        return len(self.action_offsets) - 1

    @property
    def deterministic(self):
        """True if each choice has one outcome."""
        return self.table.outcomes == NULL

    cdef int pack_root(self, object state, void *buffer) except -1:
        if isinstance(state, bool) or not isinstance(state, (int, np.integer)) \
                or not 0 <= state < self.states:
            raise ModelError(f"root_state: got {state!r}, wanted an integer from 0 to "
                             f"{self.states - 1}")
        (<int32_t *>buffer)[0] = state
        return 0

    cdef object state_object(self, const void *state):
        return (<const int32_t *>state)[0]

    cdef object action_object(self, const void *state, int32_t action):
        return self.action_label((<const int32_t *>state)[0], action)

    def action_label(self, int state, int action):
        """The name of an action of a state, 0 <= action < number of its actions."""
        if self.labels is None:
            return action
        return self.labels[self.action_offsets[state] + action]
