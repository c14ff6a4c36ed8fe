"""The simulator as the engine sees it: a table of C functions over opaque, fixed-size states.

Explicit models, Python objects and compiled simulators all fill in this one table. A state is
``state_size`` bytes that the engine copies with memcpy and never looks into. Functions are called
without the GIL unless ``needs_gil`` is set, return a status below 0 on failure, and must not keep
pointers to states. An action is an int32 whose meaning is the simulator's own.
"""

from libc.stddef cimport size_t
from libc.stdint cimport int32_t, uint64_t

cdef extern from *:
    """
    #define MCTS_CORE_LIMIT 1e150
    """
    const double LIMIT "MCTS_CORE_LIMIT"    # largest magnitude of a number: sums stay finite

cdef enum:
    # Flags that step returns, added together.
    STEP_TERMINAL = 1       # nothing follows the next state
    STEP_TURN = 2           # the player to move changes (two-player zero-sum worlds)

cdef enum:
    # Statuses below 0 that any function may return instead of what it says.
    STATUS_ERROR = -1       # an exception waits in SimulatorHandle.take_error
    STATUS_PENDING = -2     # an answer is awaited: undo nothing, ask again later (async worlds)
    STATUS_NO_MEMORY = -3
    STATUS_NOT_FINITE = -4  # set by the engine: a reward, value or prior is not finite
    STATUS_FULL = -5        # set by the engine: the memory limit of the search is reached
    STATUS_TAKEN = -6       # set by the engine: the leaf is under way already (batches)

# Write the legal actions, in a fixed order, up to capacity of them; return how many there are.
ctypedef int32_t (*legal_t)(void *context, const void *state,
                            int32_t *actions, int32_t capacity) noexcept nogil
# How many outcomes the action may have, >= 1, or 0: they are not listed, and are told apart by the
# bytes of the next state, the reward and the end. Asked after the first step of that action.
ctypedef int32_t (*outcomes_t)(void *context, const void *state, int32_t action) noexcept nogil
# Write the probability of each outcome, > 0, in their order; they sum to 1. Return 0.
ctypedef int32_t (*probabilities_t)(void *context, const void *state, int32_t action,
                                    double *probabilities) noexcept nogil
# Write the next state, the mover's reward and the index of the outcome; return flags.
ctypedef int32_t (*step_t)(void *context, const void *state, int32_t action, uint64_t *rng,
                           void *next_state, double *reward, int32_t *outcome) noexcept nogil
# Write the estimated return for the player to move; return 0.
ctypedef int32_t (*evaluate_t)(void *context, const void *state, double *value) noexcept nogil
# Write one weight >= 0 for each legal action, in the order of legal; return 0, or 1 for "uniform".
ctypedef int32_t (*prior_t)(void *context, const void *state, int32_t count,
                            double *weights) noexcept nogil
# Write the same number for states that are the same, another for any other (for transpositions);
# return 0.
ctypedef int32_t (*key_t)(void *context, const void *state, uint64_t *key) noexcept nogil
# Play random legal moves until the world ends, there is none or depth_left are made; write the
# discounted return with the last state's evaluate; return 0. All must be as the engine does it by
# legal, step and evaluate, bit for bit and draw for draw: simulation.pyx, `evaluate`, and where
# ``win``, a reward, is not INFINITY decisive.pyx. Below 0: the engine plays this rollout itself,
# and so meets and names what was wrong; a function without decisive moves returns that for them.
ctypedef int32_t (*rollout_t)(void *context, const void *state, int32_t depth_left,
                              double discount, double win, uint64_t *rng,
                              double *value) noexcept nogil
# Forget a state that step or pack_root wrote.
ctypedef void (*release_t)(void *context, const void *state) noexcept nogil

ctypedef struct SimulatorTable:
    void *context           # passed to every function
    size_t state_size       # bytes of one state, >= 1
    bint needs_gil          # the functions use Python objects
    legal_t legal
    outcomes_t outcomes     # NULL: the world is deterministic
    step_t step
    evaluate_t evaluate     # NULL: always 0.0
    prior_t prior           # NULL: uniform
    probabilities_t probabilities   # NULL: not known
    release_t release       # NULL: states own nothing
    key_t key               # NULL: states cannot be told to be the same
    rollout_t rollout       # NULL: the engine plays rollouts by legal, step and evaluate


cdef class SimulatorHandle:
    """Base of everything that can be searched; keeps alive what ``table.context`` points to."""

    cdef SimulatorTable table
    # Write the bytes of a root state given as a Python object, or raise.
    cdef int pack_root(self, object state, void *buffer) except -1
    # The Python objects behind a state and an action, for results and messages.
    cdef object state_object(self, const void *state)
    # The same for many states (uint8 [count, state_size]): what an evaluator of batches is given.
    cdef object state_batch(self, object states)
    cdef object action_object(self, const void *state, int32_t action)
    # The exception behind STATUS_ERROR, taken out; None if there is none.
    cdef object take_error(self)


cdef class AddressSimulator(SimulatorHandle):
    """A table filled with addresses; what they belong to is kept alive."""

    cdef object pack, unpack, dtype, keep
