"""Python simulators, sync and async, in the form that the engine searches.

The engine's state is a slot of pointers, completed in place as more becomes known. Usual answers of
sync simulators are read here, without exceptions or temporary objects; all others in
``simulators.answers``, with a box for what is kept. A coroutine that answers without waiting costs
no event loop. One that waits makes the search pause ("pending"); when its answer is there the
simulation under way is repeated and finds it in the box, so nothing awaited is asked twice. (But
where ``step`` is sync and another method, no ``async def`` itself, returns awaitables, the first of
them may be asked for twice.)
"""

cimport cython
from cpython.object cimport PyObject
from libc.stdint cimport int32_t, uint64_t

from inspect import iscoroutinefunction

from mcts_core.errors import NonFiniteError, SimulatorError
from mcts_core.simulator import SimulatedStep
from simulators.awaiting import Resume, short

from mcts_core.native cimport (LIMIT, evaluate_t, key_t, legal_t, outcomes_t, player_t,
                               prior_t, probabilities_t, release_t, step_t)
from simulators.answers cimport Answers, Box, Move, action_at, place
from simulators.calls cimport (Method, StepLayout, call, forget, forget_any, hold, item_of,
                               layout_of, length_of, read_number, read_step, taken_apart)
from simulators.slots cimport (Slot, boxed_step, box_of, fill, other_actions, other_step,
                               other_value, player_at, put)

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
    cdef dict numbers           # state -> its number, for transpositions; of one search

    def __init__(self, simulator):
        self.simulator = simulator
        self.actions_of = required(simulator, "actions")
        self.evaluate_of = required(simulator, "evaluate")
        self.outcomes_of = getattr(simulator, "outcomes", None)
        self.step_of = required(simulator, "step") if self.outcomes_of is None else None
        self.player_of = getattr(simulator, "player", None)
        self.priors_of = getattr(simulator, "priors", None)
        self.awaits = any(map(iscoroutinefunction, (
            self.actions_of, self.evaluate_of, self.outcomes_of, self.step_of, self.priors_of)))
        self.actions = taken_apart(<PyObject *>self.actions_of)
        self.step = taken_apart(<PyObject *>self.step_of)
        self.evaluate = taken_apart(<PyObject *>self.evaluate_of)
        self.table.context = <void *>self
        self.table.state_size = sizeof(Slot)
        self.table.needs_gil = True
        # The engine holds the GIL whenever it calls a table with needs_gil.
        self.table.legal = <legal_t>legal
        self.table.step = <step_t>step
        self.table.evaluate = <evaluate_t>evaluate
        self.table.release = <release_t>release
        if self.outcomes_of is not None:
            self.table.outcomes = <outcomes_t>outcomes
            self.table.probabilities = <probabilities_t>probabilities
        self.table.key = <key_t>key
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
        self.numbers = None
        fill(<Slot *>buffer, <PyObject *>state,
             0 if self.player_of is None else self.mover_of(state))
        return 0

    cdef object state_object(self, const void *state):
        return <object>(<Slot *>state).state

    cdef object action_object(self, const void *state, int32_t action):
        return action_at(box_of(<Slot *>state), action)


# --- the functions of the table ---------------------------------------------------------------


cdef int32_t legal(void *context, const void *state, int32_t *actions, int32_t capacity) noexcept:
    cdef PythonSimulator self = <PythonSimulator>context
    cdef Slot *slot = <Slot *>state
    cdef PyObject *answer
    cdef int32_t count, i
    if slot.box != NULL:
        count = other_actions(self, slot, NULL)
    elif slot.actions != NULL:
        count = length_of(slot.actions)
    else:
        answer = call(&self.actions, slot.state, NULL)
        count = -1 if answer == NULL else length_of(answer)
        if count < 0:
            count = other_actions(self, slot, answer)
        else:
            slot.actions = answer
    for i in range(count if count < capacity else capacity):
        actions[i] = i
    return count


cdef int32_t step(void *context, const void *state, int32_t action, uint64_t *rng,
                  void *next_state, double *reward, int32_t *outcome) noexcept:
    cdef PythonSimulator self = <PythonSimulator>context
    cdef Slot *slot = <Slot *>state
    cdef PyObject *name = NULL
    cdef PyObject *answer
    cdef PyObject *after
    cdef int32_t flags, player = 0
    outcome[0] = 0
    if slot.actions != NULL and slot.box == NULL and self.outcomes_of is None and not self.awaits:
        name = item_of(slot.actions, action)
    if name == NULL:
        return boxed_step(self, slot, action, rng, <Slot *>next_state, reward, outcome)
    hold(name)
    answer = call(&self.step, slot.state, name)
    forget(name)
    if answer == NULL or self.table.players:
        after = NULL
    else:
        after = read_step(&USUAL_STEP, answer, reward, &flags)
    if after == NULL:
        return other_step(self, slot, action, answer, <Slot *>next_state, reward)
    if self.player_of is not None:
        player = player_at(self, slot, action, <object>after, &flags)
    if flags >= 0:
        fill(<Slot *>next_state, after, player)
    forget(answer)
    return flags


cdef int32_t evaluate(void *context, const void *state, double *value) noexcept:
    cdef PythonSimulator self = <PythonSimulator>context
    cdef Slot *slot = <Slot *>state
    cdef PyObject *answer
    if slot.box != NULL:
        return other_value(self, slot, NULL, value)
    answer = call(&self.evaluate, slot.state, NULL)
    if answer == NULL or self.table.players or not read_number(answer, value):
        return other_value(self, slot, answer, value)
    forget(answer)
    return 0


cdef int32_t prior(void *context, const void *state, int32_t count, double *weights) noexcept:
    cdef PythonSimulator self = <PythonSimulator>context
    cdef Box box = box_of(<Slot *>state)
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
    finally:
        if self.awaits:
            put(<Slot *>state, box)
    return 0


cdef int32_t player(void *context, const void *state) noexcept:
    return (<const Slot *>state).player


cdef object players_of(object simulator):
    """How many it says there are; 2 if it does not say."""
    players = getattr(simulator, "players", 2)
    if not isinstance(players, int) or isinstance(players, bool) or not 1 <= players <= 255:
        raise SimulatorError(f"players: got {short(players)}, wanted an integer from 1 to 255")
    return players


cdef int32_t outcomes(void *context, const void *state, int32_t action) noexcept:
    return len((<Box>(<Slot *>state).box).kept.moves[action])   # the step before has put them there


cdef int32_t probabilities(void *context, const void *state, int32_t action,
                           double *chances) noexcept:
    cdef Move move
    cdef int32_t i = 0
    for move in (<Box>(<Slot *>state).box).kept.moves[action]:
        chances[i] = move.probability
        i += 1
    return 0


cdef int32_t key(void *context, const void *state, uint64_t *number) noexcept:
    """States that are equal have the same number."""
    cdef PythonSimulator self = <PythonSimulator>context
    cdef const Slot *slot = <const Slot *>state
    try:
        if self.numbers is None:
            self.numbers = {}
        number[0] = self.numbers.setdefault((<object>slot.state, slot.player), len(self.numbers))
    except BaseException as error:
        return self.failed(error, "hash", box_of(slot), -1)
    return 0


cdef void release(void *context, const void *state) noexcept:
    cdef Slot *slot = <Slot *>state
    forget(slot.state)
    forget_any(slot.actions)
    forget_any(slot.box)


cdef object required(object simulator, str method):
    found = getattr(simulator, method, None)
    if not callable(found):
        raise SimulatorError(
            f"simulator: got {type(simulator).__name__} without {method}(), wanted "
            "actions(state), step(state, action) and evaluate(state)"
            + (", and player(state) for three players or more" if method == "player" else ""))
    return found
