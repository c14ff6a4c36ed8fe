"""A state of a Python simulator as the engine keeps it, and the answers that are not read there."""

from cpython.object cimport PyObject
from libc.stdint cimport int32_t, uint64_t

from simulators.answers cimport Answers, Box
from simulators.calls cimport hold

ctypedef struct Slot:       # the engine's state; the references are counted
    PyObject *state
    PyObject *actions       # tuple or list; NULL until asked
    PyObject *box           # Box, NULL where nothing else needs to be kept
    int32_t player

# The slot's box; else a new one, for the slot or only for what is done now.
cdef Box box_of(const Slot *slot)
# Let the slot keep its box.
cdef void put(Slot *slot, Box box) noexcept
# What the usual way in ``simulators.python`` cannot read, or what is kept in a box. ``answer`` is
# what the method returned, or NULL: with an exception set, or, where the slot has a box, not asked.
cdef int32_t other_actions(Answers self, Slot *slot, PyObject *answer) noexcept
cdef int32_t other_value(Answers self, Slot *slot, PyObject *answer, double *value) noexcept
cdef int32_t other_step(Answers self, Slot *slot, int32_t action, PyObject *answer,
                        Slot *next_slot, double *reward) noexcept
# With chance, or of a simulator that may wait.
cdef int32_t boxed_step(Answers self, Slot *slot, int32_t action, uint64_t *rng,
                        Slot *next_slot, double *reward, int32_t *outcome) noexcept
# Who moves after a step; ``flags`` gets STEP_TURN, or a status below 0.
cdef int32_t player_at(Answers self, const Slot *slot, int32_t action, object after,
                       int32_t *flags) noexcept


cdef inline void fill(Slot *slot, PyObject *state, int32_t player) noexcept:
    hold(state)
    slot.state = state
    slot.actions = slot.box = NULL
    slot.player = player
