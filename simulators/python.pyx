"""Python simulators, sync and async, in the form that the engine searches.

The engine's state is a counted reference to a small box. A coroutine that answers without waiting
costs no event loop. One that waits makes the search pause ("pending"); when its answer is there the
simulation under way is repeated and finds it in the box, so nothing awaited is ever asked twice.
"""

cimport cython
from cpython.ref cimport Py_DECREF, Py_INCREF, PyObject
from libc.math cimport fabs
from libc.stdint cimport int32_t, uint64_t

from mcts_core.errors import NonFiniteError, SimulatorCallError, SimulatorError
from mcts_core.simulator import SimulatedStep
from simulators.awaiting import Resume, short

from mcts_core.native cimport (LIMIT, STATUS_ERROR, STATUS_PENDING, STEP_TERMINAL, STEP_TURN,
                               SimulatorHandle, evaluate_t, legal_t, outcomes_t, prior_t,
                               release_t, step_t)
from mcts_core.rng cimport uniform


@cython.final
@cython.freelist(256)
cdef class _Box:
    """A state and what is kept of what the simulator said about it."""

    cdef object state
    cdef object actions         # sequence, None until asked
    cdef object value           # float, only kept if it was awaited
    cdef object priors          # the same
    cdef dict moves             # action index -> _Move, or list of Moves: awaited, or by chance
    cdef int player


@cython.final
cdef class _Move:
    """A step that was kept: one of the outcomes of an action."""

    cdef double cumulative      # probability of this outcome or one before it
    cdef double reward
    cdef int32_t flags
    cdef bint shared            # `box` is a pattern: each arrival gets a box of its own, so that
    cdef _Box box               # random moves do not chain their boxes to the tree


class _Waiting(Exception):
    """Raised inside when a coroutine waits; never leaves this module."""


@cython.final
cdef class PythonSimulator(SimulatorHandle):
    """Makes a Python object searchable. One search at a time may use it.

    Args:
        simulator: an object with ``actions(state)``, ``step(state, action)`` (or, for chance,
            ``outcomes(state, action)``) and ``evaluate(state)``; optionally ``player(state)``
            (not async) and ``priors(state, actions)``. See ``mcts_core.simulator``. The others may
            be async.

    Raises:
        SimulatorError: a method is missing.
    """

    cdef readonly object simulator
    cdef object actions_of, step_of, outcomes_of, evaluate_of, player_of, priors_of
    cdef object error           # what the simulator raised, until take_error
    cdef object waiting         # (iterator, what it yielded, method, _Box, action index)

    def __init__(self, simulator):
        self.simulator = simulator
        self.actions_of = required(simulator, "actions")
        self.evaluate_of = required(simulator, "evaluate")
        self.outcomes_of = getattr(simulator, "outcomes", None)
        self.step_of = required(simulator, "step") if self.outcomes_of is None else None
        self.player_of = getattr(simulator, "player", None)
        self.priors_of = getattr(simulator, "priors", None)
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
        except Exception as error:
            raise self.wrapped(error, method, box, action) from error
        self.keep(method, box, action, answer)

    # --- asking the simulator ------------------------------------------------------------------

    cdef object settle(self, object awaitable, str method, _Box box, int32_t action):
        """The answer of an awaitable, kept in the box; raises _Waiting if it has to wait."""
        iterator = awaitable.__await__()
        try:
            yielded = next(iterator)
        except StopIteration as stop:
            return self.keep(method, box, action, stop.value)
        self.waiting = (iterator, yielded, method, box, action)
        raise _Waiting

    cdef object keep(self, str method, _Box box, int32_t action, object answer):
        """Check an awaited answer and put it into the box, where a repeat finds it."""
        if method == "actions":
            box.actions = answer
        elif method == "evaluate":
            box.value = checked_number(answer, "value", box, -1)
        elif method == "priors":
            box.priors = answer
        elif method == "step":
            self.moves_of(box)[action] = self.move(box, action, answer, 1.0)
        else:
            self.moves_of(box)[action] = self.spread(box, action, answer)
        return answer

    cdef dict moves_of(self, _Box box):
        if box.moves is None:
            box.moves = {}
        return box.moves

    cdef object action_list(self, _Box box):
        if box.actions is None:
            answer = self.actions_of(box.state)
            if not isinstance(answer, (tuple, list)) and hasattr(answer, "__await__"):
                self.settle(answer, "actions", box, -1)
            else:
                box.actions = answer
        if not isinstance(box.actions, (tuple, list)):
            box.actions = tuple(box.actions)
        return box.actions

    cdef _Move move(self, _Box box, int32_t action, object answer, double cumulative):
        """A SimulatedStep with its reward checked and its state boxed."""
        cdef _Move move = _Move.__new__(_Move)
        try:
            reward, terminal, state = answer.reward, answer.terminal, answer.state
        except AttributeError:
            raise SimulatorError(
                f"step of {place(box, action)}: got {short(answer)}, wanted a SimulatedStep"
            ) from None
        move.reward = checked_number(reward, "reward", box, action)
        move.flags = STEP_TERMINAL if terminal else 0
        move.cumulative = cumulative
        move.box = _Box.__new__(_Box)
        move.box.state = state
        if self.player_of is not None:
            move.box.player = self.player_of(state)
            if move.box.player != box.player:
                move.flags |= STEP_TURN
        return move

    cdef list spread(self, _Box box, int32_t action, object answer):
        """The outcomes of an action as moves with cumulative probabilities."""
        cdef double cumulative = 0.0, p
        moves = []
        for outcome in answer:
            p = checked_number(outcome.probability, "probability", box, action)
            if not p > 0.0:
                raise SimulatorError(
                    f"probability of {place(box, action)}: got {p!r}, wanted above 0")
            cumulative += p
            moves.append(self.move(box, action, outcome.step, cumulative))
        if not fabs(cumulative - 1.0) <= 1e-9:
            raise SimulatorError(f"outcomes of {place(box, action)}: got probabilities that sum to "
                                 f"{cumulative!r}, wanted 1")
        return moves

    cdef list outcome_list(self, _Box box, int32_t action):
        cdef _Move move
        if action not in self.moves_of(box):
            answer = self.outcomes_of(box.state, box.actions[action])
            if not isinstance(answer, (tuple, list)) and hasattr(answer, "__await__"):
                self.settle(answer, "outcomes", box, action)
            else:
                moves = self.spread(box, action, answer)
                for move in moves:
                    move.shared = True
                box.moves[action] = moves
        return box.moves[action]

    cdef _Move next_move(self, _Box box, int32_t action, uint64_t *rng):
        """What ``action`` leads to: the simulator's step, or one of its outcomes, drawn."""
        cdef _Move move
        cdef double u
        if self.outcomes_of is not None:
            moves = self.outcome_list(box, action)
            u = uniform(rng) if len(moves) > 1 else 0.0
            for move in moves:
                if u < move.cumulative:
                    break
            return move
        if box.moves is not None and action in box.moves:
            return box.moves[action]
        answer = self.step_of(box.state, box.actions[action])
        if type(answer) is not SimulatedStep and hasattr(answer, "__await__"):
            self.settle(answer, "step", box, action)
            return box.moves[action]
        return self.move(box, action, answer, 1.0)

    cdef double value_of(self, _Box box) except? -1.0:
        if box.value is not None:
            return box.value
        answer = self.evaluate_of(box.state)
        if type(answer) is not float and hasattr(answer, "__await__"):
            self.settle(answer, "evaluate", box, -1)
            return box.value
        return checked_number(answer, "value", box, -1)

    cdef object priors_for(self, _Box box):
        if box.priors is not None:
            return box.priors
        answer = self.priors_of(box.state, box.actions)
        if not isinstance(answer, (tuple, list)) and hasattr(answer, "__await__"):
            self.settle(answer, "priors", box, -1)
            return box.priors
        return answer

    # --- what went wrong -------------------------------------------------------------------------

    cdef int32_t failed(self, object error, str method, _Box box, int32_t action):
        """Remember what was raised; the status for it."""
        if isinstance(error, _Waiting):
            return STATUS_PENDING
        if isinstance(error, Exception) and not isinstance(error, SimulatorError):
            self.error = self.wrapped(error, method, box, action)
            self.error.__cause__ = error
        else:
            self.error = error          # ours already, or KeyboardInterrupt and the like
        return STATUS_ERROR

    cdef object wrapped(self, object error, str method, _Box box, int32_t action):
        if isinstance(error, SimulatorError):
            return error
        return SimulatorCallError(f"{method} of {place(box, action)} raised "
                                  f"{type(error).__name__}: {short(str(error))}")

    cdef object take_error(self):
        error = self.error
        self.error = None
        return error

    # --- the engine's other questions ----------------------------------------------------------

    cdef int pack_root(self, object state, void *buffer) except -1:
        cdef _Box box = _Box.__new__(_Box)
        box.state = state
        if self.player_of is not None:
            box.player = self.player_of(state)
        Py_INCREF(box)
        (<PyObject **>buffer)[0] = <PyObject *>box
        return 0

    cdef object state_object(self, const void *state):
        return unbox(state).state

    cdef object action_object(self, const void *state, int32_t action):
        return unbox(state).actions[action]


cdef inline _Box unbox(const void *state):
    return <_Box>(<PyObject **>state)[0]


cdef int32_t legal(void *context, const void *state, int32_t *actions, int32_t capacity) noexcept:
    cdef PythonSimulator self = <PythonSimulator>context
    cdef int32_t count, i
    cdef _Box box = unbox(state)
    try:
        count = len(self.action_list(box))
    except BaseException as error:
        return self.failed(error, "actions", box, -1)
    for i in range(count if count < capacity else capacity):
        actions[i] = i
    return count


cdef int32_t outcomes(void *context, const void *state, int32_t action) noexcept:
    return len(unbox(state).moves[action])      # the step before has put them there


cdef int32_t step(void *context, const void *state, int32_t action, uint64_t *rng,
                  void *next_state, double *reward, int32_t *outcome) noexcept:
    cdef PythonSimulator self = <PythonSimulator>context
    cdef _Move move
    cdef _Box box = unbox(state), arrival
    try:
        move = self.next_move(box, action, rng)
        outcome[0] = 0 if self.outcomes_of is None else box.moves[action].index(move)
    except BaseException as error:
        return self.failed(error, "step", box, action)
    arrival = move.box
    if move.shared:
        arrival = _Box.__new__(_Box)
        arrival.state = move.box.state
        arrival.player = move.box.player
    Py_INCREF(arrival)
    (<PyObject **>next_state)[0] = <PyObject *>arrival
    reward[0] = move.reward
    return move.flags


cdef int32_t evaluate(void *context, const void *state, double *value) noexcept:
    cdef PythonSimulator self = <PythonSimulator>context
    cdef _Box box = unbox(state)
    try:
        value[0] = self.value_of(box)
    except BaseException as error:
        return self.failed(error, "evaluate", box, -1)
    return 0


cdef int32_t prior(void *context, const void *state, int32_t count, double *weights) noexcept:
    cdef PythonSimulator self = <PythonSimulator>context
    cdef _Box box = unbox(state)
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


cdef void release(void *context, const void *state) noexcept:
    Py_DECREF(unbox(state))


cdef double checked_number(object answer, str what, _Box box, int32_t action) except? -1.0:
    """A float of finite magnitude, or an error that names the state and the action."""
    cdef double number
    try:
        number = answer
    except TypeError:
        raise SimulatorError(f"{what} of {place(box, action)}: got {short(answer)}, wanted a "
                             "number") from None
    if not fabs(number) <= LIMIT:
        raise NonFiniteError(f"{what} of {place(box, action)}: got {number!r}, wanted a finite "
                             "number of magnitude at most 1e150")
    return number


cdef str place(_Box box, int32_t action):
    """The state, and the action if it is not -1, in words."""
    state = f"state {short(box.state)}"
    return state if action < 0 else f"action {short(box.actions[action])} in {state}"


cdef object required(object simulator, str method):
    found = getattr(simulator, method, None)
    if not callable(found):
        raise SimulatorError(
            f"simulator: got {type(simulator).__name__} without {method}(), wanted "
            "actions(state), step(state, action) and evaluate(state)")
    return found
