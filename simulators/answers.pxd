"""What a Python simulator said, boxed and checked: the ways that every call of it may take."""

cimport cython
from libc.stdint cimport int32_t, uint64_t

from mcts_core.native cimport SimulatorHandle


@cython.final
cdef class Kept:
    """What is kept of a state beyond its actions: what was awaited, or drawn by chance."""

    cdef object value           # None until it was awaited; of many players a tuple
    cdef object priors          # the same
    cdef dict moves             # action index -> Move, or list of Moves; None: not kept
    # (Box, action index, Move) where this box came from, until a call on it waits: then it is kept
    # there instead. Never both, so that boxes form no circle. A tuple: long chains of them are
    # freed without recursion.
    cdef tuple origin


@cython.final
cdef class Box:
    """A state, and what the simulator said about it."""

    cdef object state
    cdef object actions         # tuple or list, None until asked
    cdef Kept kept              # None if there is nothing
    cdef int player


@cython.final
cdef class Move:
    """A step: one of the outcomes of an action."""

    cdef double probability
    cdef double cumulative      # probability of this outcome or one before it
    cdef double reward
    cdef tuple rewards          # of many players; else None
    cdef int32_t flags
    cdef bint shared            # `box` is a pattern: each arrival gets a box of its own, so that
    cdef Box box                # random moves do not chain their boxes to the tree


cdef class Answers(SimulatorHandle):
    """The questions to a Python simulator, with answers of every kind."""

    cdef readonly object simulator
    cdef object actions_of, step_of, outcomes_of, evaluate_of, player_of, priors_of
    cdef bint awaits            # a method is a coroutine, or an answer was awaitable
    cdef object error           # what the simulator raised, until take_error
    cdef object waiting         # (iterator, what it yielded, method, Box, action index)

    # Who moves at a state, checked.
    cdef int mover_of(self, object state) except -1
    # One checked number for each of many players.
    cdef tuple numbers_of(self, object answer, str what, Box box, int32_t action)
    # Given what the method returned: how many actions; the value, or values; the step.
    cdef int32_t accept_actions(self, Box box, object answer) except -1
    cdef double accept_value(self, Box box, object answer) except? -1.0
    cdef tuple accept_values(self, Box box, object answer)
    cdef Move accept_step(self, Box box, int32_t action, object answer)
    # What is kept, or else asked for.
    cdef object priors_for(self, Box box)
    cdef Move next_move(self, Box box, int32_t action, uint64_t *rng)
    # The box of what `move` leads to.
    cdef Box arrive(self, Box box, int32_t action, Move move)
    # Remember what was raised; the status for it. And what is told of it.
    cdef int32_t failed(self, object error, str method, Box box, int32_t action)
    cdef object wrapped(self, object error, str method, Box box, int32_t action)
    cdef object keep(self, str method, Box box, int32_t action, object answer)
    cdef object settle(self, object awaitable, str method, Box box, int32_t action)
    cdef Move move(self, Box box, int32_t action, object answer, double cumulative)
    cdef list spread(self, Box box, int32_t action, object answer)
    cdef list outcome_list(self, Box box, int32_t action)

cdef object action_at(Box box, int32_t action)
cdef str place(Box box, int32_t action)
