"""Answers of a Python simulator that are not read the usual way, or that are kept in a box."""

from mcts_core.native cimport STEP_TURN
from simulators.answers cimport Move
from simulators.calls cimport take_over


cdef Box box_of(const Slot *slot):
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
    if slot.box == NULL:
        slot.box = <PyObject *>box
        hold(slot.box)


cdef int32_t other_actions(Answers self, Slot *slot, PyObject *answer) noexcept:
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


cdef int32_t other_value(Answers self, Slot *slot, PyObject *answer,
                         double *value) noexcept:
    cdef Box box = box_of(slot)
    try:
        if self.table.players:
            write_out(all_values(self, box, slot, answer), value)
        elif slot.box == NULL:
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


cdef tuple all_values(Answers self, Box box, const Slot *slot, PyObject *answer):
    """The value for each of many players."""
    if slot.box == NULL:
        return self.accept_values(box, take_over(answer))
    if box.kept is not None and box.kept.value is not None:
        return box.kept.value
    return self.accept_values(box, self.evaluate_of(box.state))


cdef int32_t other_step(Answers self, Slot *slot, int32_t action, PyObject *answer,
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


cdef int32_t boxed_step(Answers self, Slot *slot, int32_t action, uint64_t *rng,
                        Slot *next_slot, double *reward, int32_t *outcome) noexcept:
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


cdef int32_t follow(Answers self, Box box, int32_t action, Move move, Slot *next_slot,
                    double *reward) noexcept:
    """Hand over what a move leads to, with the box that it will need."""
    cdef Box arrival = self.arrive(box, action, move)
    fill(next_slot, <PyObject *>arrival.state, arrival.player)
    if self.awaits or move.shared:
        put(next_slot, arrival)
    if move.rewards is None:
        reward[0] = move.reward
    else:
        write_out(move.rewards, reward)
    return move.flags


cdef int32_t player_at(Answers self, const Slot *slot, int32_t action, object after,
                       int32_t *flags) noexcept:
    cdef int32_t player = 0
    try:
        player = self.player_of(after)
    except BaseException as error:
        flags[0] = self.failed(error, "step", box_of(slot), action)
        return 0
    if player != slot.player:
        flags[0] |= STEP_TURN
    return player


cdef inline void write_out(tuple numbers, double *values) noexcept:
    """One number for each player."""
    cdef Py_ssize_t i
    for i in range(len(numbers)):
        values[i] = numbers[i]
