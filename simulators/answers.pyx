"""What a Python simulator said, boxed and checked: the ways that every call of it may take.

The usual answers of sync simulators are read in ``simulators.python``; here are all others: what is
awaited, drawn by chance, of another type, or wrong.

Boxes, moves and what is kept are hidden from the cyclic garbage collector, which else would walk
over all of them again and again: they refer to one another only downwards, and a person's objects
can reach them only through a search (whose tree the collector does not see either) or through the
simulator of a call that waits.
"""

cimport cython
from libc.math cimport fabs

from mcts_core.errors import NonFiniteError, SimulatorCallError, SimulatorError
from mcts_core.simulator import SimulatedStep
from simulators.awaiting import short

from mcts_core.native cimport LIMIT, STATUS_ERROR, STATUS_PENDING, STEP_TERMINAL, STEP_TURN
from mcts_core.rng cimport uniform

cdef tuple USUAL = (SimulatedStep, tuple, list, float, int)     # no awaitables


@cython.final
@cython.no_gc
cdef class Kept:
    pass


@cython.final
@cython.no_gc
@cython.freelist(256)
cdef class Box:
    pass


@cython.final
@cython.no_gc
cdef class Move:
    pass


class _Waiting(Exception):
    """Raised inside when a coroutine waits; never leaves the bridge."""


cdef class Answers(SimulatorHandle):

    # --- awaitables ----------------------------------------------------------------------------

    cdef object settle(self, object awaitable, str method, Box box, int32_t action):
        """The answer of an awaitable, kept in the box; raises _Waiting if it has to wait."""
        self.awaits = True
        iterator = awaitable.__await__()
        try:
            yielded = next(iterator)
        except StopIteration as stop:
            return self.keep(method, box, action, stop.value)
        self.waiting = (iterator, yielded, method, box, action)
        hold(box)
        raise _Waiting

    cdef object keep(self, str method, Box box, int32_t action, object answer):
        """Check an awaited answer and put it into the box, where a repeat finds it."""
        if method == "actions":
            box.actions = as_sequence(answer)
        elif method == "evaluate":
            kept_of(box).value = (self.numbers_of(answer, "value", box, -1) if self.table.players
                                  else checked_number(answer, "value", box, -1))
        elif method == "priors":
            kept_of(box).priors = answer
        elif method == "step":
            moves_of(box)[action] = self.move(box, action, answer, 1.0)
        else:
            moves_of(box)[action] = self.spread(box, action, answer)
        return answer

    # --- answers -------------------------------------------------------------------------------

    cdef int mover_of(self, object state) except -1:
        player = self.player_of(state)
        if self.table.players and (not hasattr(player, "__index__")
                                   or not 0 <= player < self.table.players):
            raise SimulatorError(f"player of state {short(state)}: got {short(player)}, wanted an "
                                 f"integer from 0 to {self.table.players - 1}")
        return player

    cdef tuple numbers_of(self, object answer, str what, Box box, int32_t action):
        cdef int32_t players = self.table.players
        try:
            given = tuple(answer)
        except TypeError:
            given = None
        if given is None or len(given) != players:
            raise SimulatorError(f"{what} of {place(box, action)}: got {short(answer)}, wanted "
                                 f"{players} numbers, one for each player")
        return tuple([checked_number(number, what, box, action) for number in given])

    cdef int32_t accept_actions(self, Box box, object answer) except -1:
        """Puts them into the box. How many there are."""
        if is_awaitable(answer):
            self.settle(answer, "actions", box, -1)
        else:
            box.actions = as_sequence(answer)
        return len(box.actions)

    cdef double accept_value(self, Box box, object answer) except? -1.0:
        if is_awaitable(answer):
            self.settle(answer, "evaluate", box, -1)
            return box.kept.value
        return checked_number(answer, "value", box, -1)

    cdef tuple accept_values(self, Box box, object answer):
        if is_awaitable(answer):
            self.settle(answer, "evaluate", box, -1)
            return box.kept.value
        return self.numbers_of(answer, "value", box, -1)

    cdef object priors_for(self, Box box):
        if box.kept is not None and box.kept.priors is not None:
            return box.kept.priors
        answer = self.priors_of(box.state, box.actions)
        if is_awaitable(answer):
            self.settle(answer, "priors", box, -1)
            return box.kept.priors
        return answer

    cdef Move move(self, Box box, int32_t action, object answer, double cumulative):
        """A SimulatedStep with its reward checked and its state boxed."""
        cdef Move move = Move.__new__(Move)
        try:
            reward, terminal, state = answer.reward, answer.terminal, answer.state
        except AttributeError:
            raise SimulatorError(
                f"step of {place(box, action)}: got {short(answer)}, wanted a SimulatedStep"
            ) from None
        if self.table.players:
            move.rewards = self.numbers_of(reward, "reward", box, action)
        else:
            move.reward = checked_number(reward, "reward", box, action)
        move.flags = STEP_TERMINAL if terminal else 0
        move.cumulative = cumulative
        move.box = Box.__new__(Box)
        move.box.state = state
        if self.player_of is not None:
            move.box.player = self.mover_of(state)
            if move.box.player != box.player:
                move.flags |= STEP_TURN
        return move

    cdef list spread(self, Box box, int32_t action, object answer):
        """The outcomes of an action as moves with cumulative probabilities."""
        cdef double cumulative = 0.0, p
        cdef Move move
        moves = []
        for outcome in answer:
            p = checked_number(outcome.probability, "probability", box, action)
            if not p > 0.0:
                raise SimulatorError(
                    f"probability of {place(box, action)}: got {p!r}, wanted above 0")
            cumulative += p
            move = self.move(box, action, outcome.step, cumulative)
            move.probability = p
            moves.append(move)
        if not fabs(cumulative - 1.0) <= 1e-9:
            raise SimulatorError(f"outcomes of {place(box, action)}: got probabilities that sum to "
                                 f"{cumulative!r}, wanted 1")
        return moves

    cdef list outcome_list(self, Box box, int32_t action):
        cdef Move move
        if action not in moves_of(box):
            answer = self.outcomes_of(box.state, action_at(box, action))
            if is_awaitable(answer):
                self.settle(answer, "outcomes", box, action)
            else:
                moves = self.spread(box, action, answer)
                for move in moves:
                    move.shared = True
                box.kept.moves[action] = moves
        return box.kept.moves[action]

    cdef Move accept_step(self, Box box, int32_t action, object answer):
        if is_awaitable(answer):
            self.settle(answer, "step", box, action)
            return box.kept.moves[action]
        return self.move(box, action, answer, 1.0)

    cdef Move next_move(self, Box box, int32_t action, uint64_t *rng):
        """What ``action`` leads to: the simulator's step, or one of its outcomes, drawn."""
        cdef Move move
        cdef double u
        if self.outcomes_of is not None:
            moves = self.outcome_list(box, action)
            u = uniform(rng) if len(moves) > 1 else 0.0
            for move in moves:
                if u < move.cumulative:
                    break
            return move
        if is_kept(box, action):
            return box.kept.moves[action]
        return self.accept_step(box, action, self.step_of(box.state, action_at(box, action)))

    cdef Box arrive(self, Box box, int32_t action, Move move):
        """If it may have to wait it knows where it came from, unless it is kept there already."""
        cdef Box arrival = move.box
        if move.shared:
            arrival = Box.__new__(Box)
            arrival.state = move.box.state
            arrival.player = move.box.player
        if self.awaits and (move.shared or not is_kept(box, action)):
            kept_of(arrival).origin = (box, action, move)
            if not move.shared:
                move.box = None             # no circle; hold puts it back
        return arrival

    # --- what went wrong -------------------------------------------------------------------------

    cdef int32_t failed(self, object error, str method, Box box, int32_t action):
        """Remember what was raised; the status for it."""
        if isinstance(error, _Waiting):
            return STATUS_PENDING
        if isinstance(error, Exception) and not isinstance(error, SimulatorError):
            self.error = self.wrapped(error, method, box, action)
            self.error.__cause__ = error
        else:
            self.error = error          # ours already, or KeyboardInterrupt and the like
        return STATUS_ERROR

    cdef object wrapped(self, object error, str method, Box box, int32_t action):
        if isinstance(error, SimulatorError):
            return error
        return SimulatorCallError(f"{method} of {place(box, action)} raised "
                                  f"{type(error).__name__}: {short(str(error))}")

    cdef object take_error(self):
        error = self.error
        self.error = None
        return error


cdef Kept kept_of(Box box):
    if box.kept is None:
        box.kept = Kept.__new__(Kept)
    return box.kept


cdef dict moves_of(Box box):
    if kept_of(box).moves is None:
        box.kept.moves = {}
    return box.kept.moves


cdef bint is_kept(Box box, int32_t action):
    return box.kept is not None and box.kept.moves is not None and action in box.kept.moves


cdef object hold(Box box):
    """A call on this box waits: keep the moves that led to it, so that the repeat finds it."""
    cdef Box origin
    cdef Move move
    while box.kept is not None and box.kept.origin is not None:
        origin, action, move = box.kept.origin
        box.kept.origin = None
        move.box = box
        move.shared = False
        if not is_kept(origin, action):     # outcomes are
            moves_of(origin)[action] = move
        box = origin


cdef bint is_awaitable(object answer):
    return not isinstance(answer, USUAL) and hasattr(answer, "__await__")


cdef object as_sequence(object actions):
    """Of a type that is indexed fast, and for sure."""
    return actions if type(actions) is tuple or type(actions) is list else tuple(actions)


cdef object action_at(Box box, int32_t action):
    """The simulator's own action."""
    if action >= len(box.actions):
        raise SimulatorError(f"actions of {place(box, -1)}: got a list that was shortened to "
                             f"{len(box.actions)} later on, wanted one that stays as it is")
    return box.actions[action]


cdef double checked_number(object answer, str what, Box box, int32_t action) except? -1.0:
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


cdef str place(Box box, int32_t action):
    """The state, and the action if it is not -1, in words."""
    state = f"state {short(box.state)}"
    return state if action < 0 else f"action {short(action_at(box, action))} in {state}"
