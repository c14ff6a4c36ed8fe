"""Exact values of explicit models over a finite horizon, by backward induction."""

from libc.math cimport INFINITY
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memset

import time

import numpy as np

from mcts_core import config
from mcts_core.errors import ModelError, ModelTooLargeError
from mcts_core.result import SearchResult

DEFAULT_WORK_LIMIT = 50_000_000

ctypedef struct View:           # the model, borrowed
    const int32_t *action_offsets
    const int32_t *outcome_offsets
    const int32_t *next_state
    const double *probability
    const double *reward
    const uint8_t *terminal
    const double *value
    const int8_t *player

ctypedef struct Layers:         # the states that can be reached after 0, 1, ... steps
    int32_t *state              # [count of capacity], layer after layer
    int32_t *choice             # [count], the best action of each, filled backwards
    int64_t *start              # [depth + 2], where each layer begins
    int64_t count
    int64_t capacity
    int32_t depth               # the last layer
    int64_t work                # edges looked at


def backward_induction(model, root_state, *, horizon, discount=1.0, prior=None,
                       work_limit=DEFAULT_WORK_LIMIT):
    """Solve ``model`` from ``root_state`` for ``horizon`` steps: V_0 = value and
    V_h(s) = max_a sum_o p (r + discount V_{h-1}(s')), with -V where the player to move changes
    (Puterman 1994, section 4.5, finite-horizon dynamic programming). Only the states that can be
    reached are looked at. A step that is terminal is worth r + discount value(s'); a state without
    actions is worth its value.

    Args:
        model: a ``TabularModel``, or any ``ExplicitModel`` whose arrays were checked like its.
        root_state: 0 to S - 1.
        horizon: steps, 1 to 2**31 - 2.
        discount: 0 to 1.
        prior: [k] weights of the root's actions, which break ties, or None.
        work_limit: the most (state, depth, outcome) triples to look at; some 10 to 30 ns each.

    Returns:
        A ``SearchResult`` with ``proven`` True: ``values`` are exact up to rounding; ``visits``
        are 0; ``priors`` as given, normalised, or uniform.

    Raises:
        ModelTooLargeError: the limit would be passed.
        ModelError, ConfigError: an argument is out of its range.
    """
    cdef View view
    cdef Layers layers
    cdef const int32_t[::1] action_offsets = model.action_offsets
    cdef const int32_t[::1] outcome_offsets = model.outcome_offsets
    cdef const int32_t[::1] next_state = model.next_state
    cdef const double[::1] probability = model.probability
    cdef const double[::1] reward = model.reward
    cdef const uint8_t[::1] terminal = model.terminal
    cdef const double[::1] value = model.value
    cdef const int8_t[::1] player = model.player
    cdef int32_t states = value.shape[0], root, steps, count, i
    cdef int64_t limit = work_limit
    cdef double gamma = discount
    cdef double *values
    cdef int status
    started = time.perf_counter()
    config.check_int("horizon", horizon, 1, config.MAX_COUNT)
    config.check_real("discount", discount, 0.0, 1.0)
    if not isinstance(root_state, (int, np.integer)) or not 0 <= root_state < states:
        raise ModelError(
            f"root_state: got {root_state!r}, wanted an integer from 0 to {states - 1}")
    root, steps = root_state, horizon
    count = action_offsets[root + 1] - action_offsets[root]
    priors = normalised(prior, count)
    if count == 0:
        return made((), (), np.zeros(0), priors, float("nan"), started)
    view.action_offsets = &action_offsets[0]
    view.outcome_offsets = &outcome_offsets[0]
    view.next_state = &next_state[0]
    view.probability = &probability[0]
    view.reward = &reward[0]
    view.terminal = &terminal[0]
    view.value = &value[0]
    view.player = &player[0]
    values = <double *>malloc(<size_t>(2 * states + count) * sizeof(double))
    memset(&layers, 0, sizeof(layers))
    try:
        if values == NULL:
            raise MemoryError("no memory for exact values")
        with nogil:
            status = reach(&view, &layers, root, steps, limit, states)
            if status == 0:
                solve(&view, &layers, gamma, values, states)
                for i in range(count):
                    values[2 * states + i] = action_value(
                        &view, root, action_offsets[root] + i, gamma, values + states)
        if status == -1:
            raise MemoryError("no memory for the layers of exact solving")
        if status == -2:
            raise ModelTooLargeError(
                f"horizon {horizon} from state {root_state} needs more than {work_limit} updates")
        q = np.array(<double[:count]>(values + 2 * states))
        best = max(range(count), key=lambda a: (q[a], priors[a], -a))
        layers.choice[0] = best
        label = getattr(model, "action_label", unlabelled)
        actions = tuple([label(root, i) for i in range(count)])
        return made(actions, path(&view, &layers, root, label), q, priors, float(q[best]), started)
    finally:
        free(values)
        free(layers.state)
        free(layers.choice)
        free(layers.start)


cdef int reach(const View *m, Layers *layers, int32_t root, int32_t steps, int64_t limit,
               int32_t states) noexcept nogil:
    """Fill the layers forwards. 0; -1 without memory; -2 past the limit of work."""
    cdef int32_t *stamp = <int32_t *>malloc(<size_t>states * sizeof(int32_t))
    cdef int64_t i
    cdef int32_t s, c, e, depth = 0, status = 0, to
    if stamp == NULL:
        return -1
    for s in range(states):
        stamp[s] = -1
    status = open_layer(layers, 0)
    if status == 0:
        status = append(layers, root)
    while status == 0 and depth < steps:
        status = open_layer(layers, depth + 1)
        i = layers.start[depth]
        while status == 0 and i < layers.start[depth + 1]:
            s = layers.state[i]
            c, e = m.action_offsets[s], m.action_offsets[s + 1]
            layers.work += m.outcome_offsets[e] - m.outcome_offsets[c] + 1
            for e in range(m.outcome_offsets[c], m.outcome_offsets[e]):
                to = m.next_state[e]
                if not m.terminal[e] and stamp[to] != depth + 1:
                    stamp[to] = depth + 1
                    status = append(layers, to)
                    if status < 0:
                        break
            if layers.work > limit:
                status = -2
            i += 1
        depth += 1
        if layers.count == layers.start[depth]:
            break               # nothing goes on: the layer is empty
    layers.depth = depth
    if status == 0:
        status = open_layer(layers, depth + 1)
    free(stamp)
    return status


cdef int open_layer(Layers *layers, int32_t depth) noexcept nogil:
    """The layer at ``depth`` begins here."""
    cdef void *moved
    if depth & (depth + 1) == 0:    # room doubles at 0, 1, 3, 7, ...
        moved = realloc(layers.start, 2 * (<size_t>depth + 1) * sizeof(int64_t))
        if moved == NULL:
            return -1
        layers.start = <int64_t *>moved
    layers.start[depth] = layers.count
    return 0


cdef int append(Layers *layers, int32_t state) noexcept nogil:
    cdef int64_t capacity
    cdef void *moved
    if layers.count == layers.capacity:
        capacity = 2 * layers.capacity if layers.capacity else 64
        moved = realloc(layers.state, <size_t>capacity * sizeof(int32_t))
        if moved == NULL:
            return -1
        layers.state = <int32_t *>moved
        moved = realloc(layers.choice, <size_t>capacity * sizeof(int32_t))
        if moved == NULL:
            return -1
        layers.choice = <int32_t *>moved
        layers.capacity = capacity
    layers.state[layers.count] = state
    layers.count += 1
    return 0


cdef void solve(const View *m, Layers *layers, double gamma, double *values,
                int32_t states) noexcept nogil:
    """Fill the choices backwards, down to layer 1. Layer d has its values in the first half of
    ``values`` if d is even, else in the second half."""
    cdef double *now = values + (layers.depth & 1) * states
    cdef double *after
    cdef int32_t depth
    cdef int64_t i
    for i in range(layers.start[layers.depth], layers.start[layers.depth + 1]):
        now[layers.state[i]] = m.value[layers.state[i]]     # at the horizon
    for depth in range(layers.depth - 1, 0, -1):
        now = values + (depth & 1) * states
        after = values + ((depth + 1) & 1) * states
        for i in range(layers.start[depth], layers.start[depth + 1]):
            now[layers.state[i]] = best_value(m, layers.state[i], gamma, after,
                                              &layers.choice[i])


cdef inline double best_value(const View *m, int32_t s, double gamma, const double *after,
                              int32_t *choice) noexcept nogil:
    """max over the actions of ``s``, the first of equals; the value of ``s`` if it has none."""
    cdef double best = -INFINITY, q
    cdef int32_t c
    choice[0] = -1
    for c in range(m.action_offsets[s], m.action_offsets[s + 1]):
        q = action_value(m, s, c, gamma, after)
        if q > best:
            best = q
            choice[0] = c - m.action_offsets[s]
    return best if choice[0] >= 0 else m.value[s]


cdef inline double action_value(const View *m, int32_t s, int32_t c, double gamma,
                                const double *after) noexcept nogil:
    """sum over the outcomes of p (r + discount V), for the player who moves at ``s``."""
    cdef double total = 0.0, value
    cdef int32_t e, to
    for e in range(m.outcome_offsets[c], m.outcome_offsets[c + 1]):
        to = m.next_state[e]
        value = m.value[to] if m.terminal[e] else after[to]
        if m.player[to] != m.player[s]:
            value = -value
        total = total + m.probability[e] * (m.reward[e] + gamma * value)
    return total


cdef tuple path(const View *m, const Layers *layers, int32_t root, object label):
    """The best actions from the root; chance takes its most probable outcome."""
    cdef int32_t depth, s = root, c, e, likely, action
    cdef int64_t i
    actions = []
    for depth in range(layers.depth):
        i = layers.start[depth]
        while layers.state[i] != s:
            i += 1
        action = layers.choice[i]
        if action < 0:
            break
        actions.append(label(s, action))
        c = m.action_offsets[s] + action
        likely = m.outcome_offsets[c]
        for e in range(m.outcome_offsets[c], m.outcome_offsets[c + 1]):
            if m.probability[e] > m.probability[likely]:
                likely = e
        if m.terminal[likely]:
            break
        s = m.next_state[likely]
    return tuple(actions)


cdef object normalised(object prior, int32_t count):
    if prior is None:
        return np.full(count, 1.0 / count if count else 0.0)
    weights = np.asarray(prior, dtype=np.float64)
    if weights.shape != (count,) or not np.all((weights >= 0) & (weights <= 1e150)):
        raise ModelError(f"prior: got {prior!r}, wanted {count} finite weights of at least 0")
    total = weights.sum()
    return weights / total if total > 0 else np.full(count, 1.0 / count if count else 0.0)


def unlabelled(state, action):
    return action


cdef object made(tuple actions, tuple variation, object values, object priors, double value,
                 double started):
    return SearchResult(
        action=variation[0] if variation else None, actions=actions,
        visits=np.zeros(len(values), dtype=np.int64), values=values, priors=priors,
        policy=np.array([float(a == variation[0]) for a in actions] if variation else
                        [0.0] * len(actions)), value=value,
        principal_variation=variation, proven=True, proven_by="backward induction",
        proven_actions=np.ones(len(values), dtype=bool),
        simulations=0, nodes=0, stop_reason="exact",
        time_ms=(time.perf_counter() - started) * 1e3, seed=0)
