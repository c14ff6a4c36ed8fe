"""Python simulators, sync and async, in the form that the engine searches.

The engine's state is a counted reference to a box. The usual answers of sync simulators are read
here, without exceptions or temporary objects; all others in ``simulators.answers``. A coroutine
that answers without waiting costs no event loop. One that waits makes the search pause ("pending");
when its answer is there the simulation under way is repeated and finds it in the box, so nothing
awaited is ever asked twice.
"""

cimport cython
from cpython.ref cimport Py_DECREF, Py_INCREF, PyObject
from libc.math cimport fabs
from libc.stdint cimport int32_t, uint64_t

from mcts_core.errors import NonFiniteError, SimulatorError
from mcts_core.simulator import SimulatedStep
from simulators.awaiting import Resume, short

from mcts_core.native cimport (LIMIT, STEP_TURN, SimulatorHandle, evaluate_t, legal_t, outcomes_t,
                               player_t, prior_t, release_t, step_t)
from simulators.answers cimport Answers, Box, Move, action_at, place
from simulators.calls cimport (Method, StepLayout, as_double, call, forget, is_float, item_of,
                               layout_of, length_of, read_step, take_over, taken_apart)

cdef StepLayout USUAL_STEP = layout_of(SimulatedStep)


@cython.final
cdef class PythonSimulator(Answers):
    """Makes a Python object searchable. One search at a time may use it.

    Args:
        simulator: an object with ``actions(state)``, ``step(state, action)`` (or, for chance,
            ``outcomes(state, action)``) and ``evaluate(state)``; optionally ``player(state)``
            (not async), ``players`` and ``priors(state, actions)``. See ``mcts_core.simulator``.
            The other methods may be async.

    Raises:
        SimulatorError: a method is missing, or ``players`` is no integer from 1 to 255.
    """

    cdef Method actions, step, evaluate

    def __init__(self, simulator):
        self.simulator = simulator
        self.actions_of = required(simulator, "actions")
        self.evaluate_of = required(simulator, "evaluate")
        self.outcomes_of = getattr(simulator, "outcomes", None)
        self.step_of = required(simulator, "step") if self.outcomes_of is None else None
        self.player_of = getattr(simulator, "player", None)
        self.priors_of = getattr(simulator, "priors", None)
        self.watchful = True
        self.actions = taken_apart(<PyObject *>self.actions_of)
        self.step = taken_apart(<PyObject *>self.step_of)
        self.evaluate = taken_apart(<PyObject *>self.evaluate_of)
        self.table.context = <void *>self
        self.table.state_size = sizeof(PyObject *)
        self.table.needs_gil = True
        # The engine holds the GIL whenever it calls a table with needs_gil.
        self.table.legal = <legal_t>legal
        self.table.step = <step_t>step
        self.table.evaluate = <evaluate_t>evaluate
        self.table.release = <release_t>release
        if self.outcomes_of is not None:
            self.table.outcomes = <outcomes_t>outcomes
        if self.priors_of is not None:
            self.table.prior = <prior_t>prior
        if players_of(simulator) > 2:
            self.player_of = required(simulator, "player")
            self.table.players = simulator.players
            self.table.player = <player_t>player

    async def resolve(self):
        """Await the answer for which a search paused ("pending"), in the caller's task.

        Raises:
            SimulatorCallError: the awaited method raised; ``__cause__`` says what.
        """
        if self.waiting is None:
            return
        iterator, yielded, method, box, action = self.waiting
        self.waiting = None
        try:
            answer = await Resume(iterator, yielded)
            self.keep(method, box, action, answer)
        except SimulatorError:
            raise
        except Exception as error:
            raise self.wrapped(error, method, box, action) from error

    cdef int pack_root(self, object state, void *buffer) except -1:
        hand_over(self.boxed(state), buffer)
        return 0

    cdef object state_object(self, const void *state):
        return unbox(state).state

    cdef object action_object(self, const void *state, int32_t action):
        return action_at(unbox(state), action)


cdef inline Box unbox(const void *state):
    return <Box>(<PyObject **>state)[0]


cdef inline void hand_over(Box box, void *state) noexcept:
    """Give the engine a counted reference."""
    Py_INCREF(box)
    (<PyObject **>state)[0] = <PyObject *>box


# --- the functions of the table; what they cannot read goes to one that can raise ---------------


cdef int32_t legal(void *context, const void *state, int32_t *actions, int32_t capacity) noexcept:
    cdef PythonSimulator self = <PythonSimulator>context
    cdef Box box = unbox(state)
    cdef int32_t count, i
    cdef PyObject *answer
    if box.actions is not None:
        count = length_of(<PyObject *>box.actions)
    else:
        answer = call(&self.actions, <PyObject *>box.state, NULL)
        count = -1 if answer == NULL else length_of(answer)
        if count < 0:
            count = other_actions(self, box, answer)
            if count < 0:
                return count
        else:
            box.actions = <object>answer
            forget(answer)
    for i in range(count if count < capacity else capacity):
        actions[i] = i
    return count


cdef int32_t step(void *context, const void *state, int32_t action, uint64_t *rng,
                  void *next_state, double *reward, int32_t *outcome) noexcept:
    cdef PythonSimulator self = <PythonSimulator>context
    cdef Box box = unbox(state), arrival
    cdef PyObject *name = item_of(<PyObject *>box.actions, action)
    cdef PyObject *answer
    cdef PyObject *after
    cdef int32_t flags
    outcome[0] = 0
    if self.watchful or self.outcomes_of is not None or box.kept is not None or name == NULL:
        return kept_step(self, box, action, rng, next_state, reward, outcome)
    Py_INCREF(<object>name)
    answer = call(&self.step, <PyObject *>box.state, name)
    forget(name)
    if answer == NULL or self.table.players:
        after = NULL
    else:
        after = read_step(&USUAL_STEP, answer, reward, &flags)
    if after == NULL:
        return other_step(self, box, action, answer, next_state, reward)
    arrival = Box.__new__(Box)
    arrival.state = <object>after
    forget(answer)
    if self.player_of is not None:
        flags = turn(self, box, action, arrival, flags)
        if flags < 0:
            return flags
    hand_over(arrival, next_state)
    return flags


cdef int32_t evaluate(void *context, const void *state, double *value) noexcept:
    cdef PythonSimulator self = <PythonSimulator>context
    cdef Box box = unbox(state)
    cdef PyObject *answer
    if box.kept is not None and box.kept.value is not None:
        if self.table.players:
            write_out(box.kept.value, value)
        else:
            value[0] = box.kept.value
        return 0
    answer = call(&self.evaluate, <PyObject *>box.state, NULL)
    if answer == NULL or not is_float(answer) or not fabs(as_double(answer)) <= LIMIT \
            or self.table.players:
        return other_value(self, box, answer, value)
    value[0] = as_double(answer)
    forget(answer)
    self.watchful = self.awaits
    return 0


cdef void release(void *context, const void *state) noexcept:
    Py_DECREF(unbox(state))


cdef int32_t other_actions(PythonSimulator self, Box box, PyObject *answer) noexcept:
    try:
        return self.accept_actions(box, take_over(answer))
    except BaseException as error:
        return self.failed(error, "actions", box, -1)


cdef int32_t other_step(PythonSimulator self, Box box, int32_t action, PyObject *answer,
                        void *next_state, double *reward) noexcept:
    cdef Move move
    try:
        move = self.accept_step(box, action, take_over(answer))
    except BaseException as error:
        return self.failed(error, "step", box, action)
    hand_over(self.arrive(box, action, move), next_state)
    pay(move, reward)
    return move.flags


cdef int32_t kept_step(PythonSimulator self, Box box, int32_t action, uint64_t *rng,
                       void *next_state, double *reward, int32_t *outcome) noexcept:
    """With chance, or of a simulator that may wait."""
    cdef Move move
    try:
        move = self.next_move(box, action, rng)
        if self.outcomes_of is not None:
            outcome[0] = box.kept.moves[action].index(move)
    except BaseException as error:
        return self.failed(error, "step", box, action)
    hand_over(self.arrive(box, action, move), next_state)
    pay(move, reward)
    return move.flags


cdef inline void pay(Move move, double *reward) noexcept:
    if move.rewards is None:
        reward[0] = move.reward
    else:
        write_out(move.rewards, reward)


cdef int32_t turn(PythonSimulator self, Box box, int32_t action, Box arrival,
                  int32_t flags) noexcept:
    """Ask who moves at ``arrival``; ``flags`` with STEP_TURN if it is another than at ``box``."""
    try:
        arrival.player = self.player_of(arrival.state)
    except BaseException as error:
        return self.failed(error, "step", box, action)
    return flags if arrival.player == box.player else flags | STEP_TURN


cdef int32_t other_value(PythonSimulator self, Box box, PyObject *answer, double *value) noexcept:
    try:
        if self.table.players:
            write_out(self.accept_values(box, take_over(answer)), value)
        else:
            value[0] = self.accept_value(box, take_over(answer))
    except BaseException as error:
        return self.failed(error, "evaluate", box, -1)
    self.watchful = self.awaits
    return 0


cdef int32_t outcomes(void *context, const void *state, int32_t action) noexcept:
    return len(unbox(state).kept.moves[action])     # the step before has put them there


cdef int32_t prior(void *context, const void *state, int32_t count, double *weights) noexcept:
    cdef PythonSimulator self = <PythonSimulator>context
    cdef Box box = unbox(state)
    cdef int32_t i
    try:
        given = self.priors_for(box)
        if given is None:
            return 1
        if len(given) != count:
            raise SimulatorError(f"priors of state {short(box.state)}: got {len(given)} weights, "
                                 f"wanted {count}")
        for i in range(count):
            weights[i] = given[i]
            if not 0.0 <= weights[i] <= LIMIT:
                raise NonFiniteError(f"prior of {place(box, i)}: got {weights[i]!r}, wanted a "
                                     "finite number of at least 0")
    except BaseException as error:
        return self.failed(error, "priors", box, -1)
    return 0


cdef int32_t player(void *context, const void *state) noexcept:
    return unbox(state).player


cdef inline void write_out(tuple numbers, double *values) noexcept:
    """One number for each player."""
    cdef Py_ssize_t i
    for i in range(len(numbers)):
        values[i] = numbers[i]


cdef object players_of(object simulator):
    """How many it says there are; 2 if it does not say."""
    players = getattr(simulator, "players", 2)
    if not isinstance(players, int) or isinstance(players, bool) or not 1 <= players <= 255:
        raise SimulatorError(f"players: got {short(players)}, wanted an integer from 1 to 255")
    return players


cdef object required(object simulator, str method):
    found = getattr(simulator, method, None)
    if not callable(found):
        raise SimulatorError(
            f"simulator: got {type(simulator).__name__} without {method}(), wanted "
            "actions(state), step(state, action) and evaluate(state)"
            + (", and player(state) for three players or more" if method == "player" else ""))
    return found
