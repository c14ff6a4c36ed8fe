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

from mcts_core.native cimport (LIMIT, STEP_TURN, evaluate_t, key_t, legal_t, outcomes_t, prior_t,
                               probabilities_t, release_t, step_t)
from simulators.answers cimport Answers, Box, Move, action_at, place
from simulators.calls cimport (Method, StepLayout, call, forget, forget_any, hold, item_of,
                               layout_of, length_of, read_number, read_step, take_over, taken_apart)

ctypedef struct Slot:       # the engine's state; the references are counted
    PyObject *state
    PyObject *actions       # tuple or list; NULL until asked
    PyObject *box           # Box, NULL where nothing else needs to be kept
    int32_t player

cdef StepLayout USUAL_STEP = layout_of(SimulatedStep)


@cython.final
cdef class PythonSimulator(Answers):
    """Makes a Python object searchable. One search at a time may use it.

    Args:
        simulator: an object with ``actions(state)``, ``step(state, action)`` (or, for chance,
            ``outcomes(state, action)``) and ``evaluate(state)``; optionally ``player(state)``
            (not async) and ``priors(state, actions)``. See ``mcts_core.simulator``. The others may
            be async.

    Raises:
        SimulatorError: a method is missing.
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
             0 if self.player_of is None else self.player_of(state))
        return 0

    cdef object state_object(self, const void *state):
        return <object>(<Slot *>state).state

    cdef object action_object(self, const void *state, int32_t action):
        return action_at(box_of(<Slot *>state), action)


cdef inline void fill(Slot *slot, PyObject *state, int32_t player) noexcept:
    hold(state)
    slot.state = state
    slot.actions = slot.box = NULL
    slot.player = player


cdef Box box_of(const Slot *slot):
    """The slot's box; else a new one, for the slot or only for what is done now."""
    cdef Box box
    if slot.box != NULL:
        return <Box>slot.box
    box = Box.__new__(Box)
    box.state = <object>slot.state
    box.player = slot.player
    if slot.actions != NULL:
        box.actions = <object>slot.actions
    return box


cdef void put(Slot *slot, Box box) noexcept:
    """Let the slot keep its box."""
    if slot.box == NULL:
        slot.box = <PyObject *>box
        hold(slot.box)


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
    after = NULL if answer == NULL else read_step(&USUAL_STEP, answer, reward, &flags)
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
    if answer == NULL or not read_number(answer, value):
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


cdef int32_t outcomes(void *context, const void *state, int32_t action) noexcept:
    return len((<Box>(<Slot *>state).box).kept.moves[action])   # the step before has put them there


cdef int32_t probabilities(void *context, const void *state, int32_t action,
                           double *chances) noexcept:
    cdef Move move
    cdef double before = 0.0
    cdef int32_t i = 0
    for move in (<Box>(<Slot *>state).box).kept.moves[action]:
        chances[i] = move.cumulative - before
        before = move.cumulative
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


# --- what they cannot read, or what is kept in a box ---------------------------------------------
# ``answer`` is what the method returned, or NULL: with an exception set, or, where the slot has a
# box, not asked yet.


cdef int32_t other_actions(PythonSimulator self, Slot *slot, PyObject *answer) noexcept:
    cdef Box box = box_of(slot)
    try:
        if slot.box == NULL:
            self.accept_actions(box, take_over(answer))
            if not self.awaits:
                slot.actions = <PyObject *>box.actions
                hold(slot.actions)
        elif box.actions is None:
            self.accept_actions(box, self.actions_of(box.state))
        return len(box.actions)
    except BaseException as error:
        return self.failed(error, "actions", box, -1)
    finally:
        if self.awaits:
            put(slot, box)


cdef int32_t other_value(PythonSimulator self, Slot *slot, PyObject *answer,
                         double *value) noexcept:
    cdef Box box = box_of(slot)
    try:
        if slot.box == NULL:
            value[0] = self.accept_value(box, take_over(answer))
        elif box.kept is not None and box.kept.value is not None:
            value[0] = box.kept.value
        else:
            value[0] = self.accept_value(box, self.evaluate_of(box.state))
        return 0
    except BaseException as error:
        return self.failed(error, "evaluate", box, -1)
    finally:
        if self.awaits:
            put(slot, box)


cdef int32_t other_step(PythonSimulator self, Slot *slot, int32_t action, PyObject *answer,
                        Slot *next_slot, double *reward) noexcept:
    cdef Box box = box_of(slot)
    cdef Move move
    try:
        move = self.accept_step(box, action, take_over(answer))
    except BaseException as error:
        return self.failed(error, "step", box, action)
    finally:
        if self.awaits:
            put(slot, box)
    return follow(self, box, action, move, next_slot, reward)


cdef int32_t boxed_step(PythonSimulator self, Slot *slot, int32_t action, uint64_t *rng,
                        Slot *next_slot, double *reward, int32_t *outcome) noexcept:
    """With chance, or of a simulator that may wait."""
    cdef Box box = box_of(slot)
    cdef Move move
    put(slot, box)
    try:
        move = self.next_move(box, action, rng)
        if self.outcomes_of is not None:
            outcome[0] = box.kept.moves[action].index(move)
    except BaseException as error:
        return self.failed(error, "step", box, action)
    return follow(self, box, action, move, next_slot, reward)


cdef int32_t follow(PythonSimulator self, Box box, int32_t action, Move move, Slot *next_slot,
                    double *reward) noexcept:
    """Hand over what a move leads to, with the box that it will need."""
    cdef Box arrival = self.arrive(box, action, move)
    fill(next_slot, <PyObject *>arrival.state, arrival.player)
    if self.awaits or move.shared:
        put(next_slot, arrival)
    reward[0] = move.reward
    return move.flags


cdef int32_t player_at(PythonSimulator self, const Slot *slot, int32_t action, object after,
                       int32_t *flags) noexcept:
    """Who moves after a step; ``flags`` gets STEP_TURN, or a status below 0."""
    cdef int32_t player = 0
    try:
        player = self.player_of(after)
    except BaseException as error:
        flags[0] = self.failed(error, "step", box_of(slot), action)
        return 0
    if player != slot.player:
        flags[0] |= STEP_TURN
    return player


cdef object required(object simulator, str method):
    found = getattr(simulator, method, None)
    if not callable(found):
        raise SimulatorError(
            f"simulator: got {type(simulator).__name__} without {method}(), wanted "
            "actions(state), step(state, action) and evaluate(state)")
    return found
