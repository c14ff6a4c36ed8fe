"""What a new leaf is worth: by the simulator, after forced moves, or by a rollout."""

from libc.math cimport INFINITY
from libc.stdint cimport uint64_t

from mcts_core.context cimport (EVALUATE_DECISIVE, EVALUATE_FORCED, EVALUATE_ROLLOUT,
                                EVALUATE_SIMULATOR, legal, release, step, value_of)
from mcts_core.decisive cimport play_decisive
from mcts_core.many_players cimport evaluate_all
from mcts_core.native cimport STEP_TERMINAL, STEP_TURN
from mcts_core.rng cimport below


cdef inline bint roll_out(Simulation *s, const void *state, int32_t depth,
                          double *worth) noexcept nogil:
    """The rollout by the simulator's own function, if it is one and nothing goes wrong."""
    cdef uint64_t rng = s.rng
    cdef double win = s.rule.high if s.evaluation == EVALUATE_DECISIVE else INFINITY
    if s.evaluation < EVALUATE_ROLLOUT \
            or s.table.rollout(s.table.context, state, s.max_depth - depth, s.discount, win, &rng,
                               worth) < 0:
        return False
    s.rng = rng
    return True


cdef int evaluate(Simulation *s, const void *state, int32_t depth, bint settled,
                  double *worth) noexcept nogil:
    """Discounted return from ``state`` for its player: forced or random moves, then value."""
    cdef double total = 0.0, weight = 1.0, reward = 0.0, value = 0.0
    cdef int32_t count, flags = STEP_TERMINAL if settled else 0, outcome = 0, turn = 0
    cdef int status = 0
    cdef const void *here = state
    cdef void *there
    if s.players:
        return evaluate_all(s, state, depth, settled)
    if s.table.rollout != NULL and not settled and roll_out(s, state, depth, worth):
        return 0
    if s.evaluation == EVALUATE_DECISIVE and not settled:
        return play_decisive(s, state, depth, worth)
    while s.evaluation != EVALUATE_SIMULATOR and flags & STEP_TERMINAL == 0 \
            and depth < s.max_depth:
        count = legal(s, here)
        if count <= 0 or (s.evaluation == EVALUATE_FORCED and count > 1):
            status = count if count < 0 else 0
            break
        there = s.scratch + (1 + turn) * s.scratch_stride
        flags = step(s, here, s.actions[below(&s.rng, count) if count > 1 else 0],
                     there, &reward, &outcome)
        if flags < 0:
            status = flags
            break
        if here != state:
            release(s, here)
        total = total + weight * reward
        weight = weight * s.discount
        if flags & STEP_TURN:
            weight = -weight
        here = there
        turn = 1 - turn
        depth += 1
    if status == 0:
        status = value_of(s, here, &value)
    if here != state:
        release(s, here)
    worth[0] = total + weight * value
    return status
