"""What one search holds while it runs, and its calls of the simulator, each answer checked."""

from libc.math cimport fabs
from libc.stdint cimport int32_t, int64_t, uint64_t

from mcts_core.native cimport LIMIT, STATUS_NO_MEMORY, STATUS_NOT_FINITE, SimulatorTable
from mcts_core.selection cimport Rule
from mcts_core.tree cimport Arena

cdef enum:
    EVALUATE_SIMULATOR = 0
    EVALUATE_FORCED = 1
    EVALUATE_ROLLOUT = 2
    EVALUATE_DECISIVE = 3

ctypedef struct Ranked:     # an action on its way into the order of falling prior
    float prior
    int32_t action
    int32_t order

ctypedef struct Known:      # states that have a node: a hash table, empty while mask is 0
    uint64_t *keys
    int32_t *depths
    int32_t *nodes          # NONE: a free slot
    int32_t mask            # slots - 1, a power of two
    int32_t count

ctypedef struct Leaf:       # a new node that awaits its evaluation
    int32_t node
    int32_t depth

ctypedef struct Widening:   # how many children a node visited N times may open: k N^alpha
    double k                # 0: all
    double alpha

ctypedef struct Halving:    # sequential halving at a Gumbel root
    bint on
    int32_t planned         # simulations that the halving is spread over
    int32_t most            # actions of the first round
    int32_t considered      # actions of this round
    int32_t rank            # which of them is next
    int32_t rounds          # rounds left with so many
    int32_t visits          # visits that each of them has
    double *scores          # [children of the root] Gumbel noise + logit, falling

ctypedef struct Simulation:
    SimulatorTable *table
    Arena arena
    Rule rule
    int evaluation          # EVALUATE_...
    int32_t max_depth
    double discount
    double prior_mix
    bint solver
    bint expected           # listed outcomes count by their probabilities
    bint plain              # select_child is the whole rule
    Widening widening
    Widening chance_widening
    int32_t virtual_loss
    double value_scale      # of the improved policy
    double visit_scale
    bint mixed_value
    bint rescale
    Halving halving
    Known known             # where transpositions are looked for
    bint early_stop
    bint decided            # ... and it did: no simulation left could change the choice
    bint collecting         # leaves are kept for a batch instead of being evaluated
    Leaf leaf               # the last one that was collected
    uint64_t rng
    int32_t done            # simulations so far
    int32_t stride          # simulations between two looks at the clock
    int32_t *path           # nodes from the root to the leaf, path_length of path_capacity
    int32_t path_length
    int32_t path_capacity
    int32_t wide            # entries in each of the next three: buffers of one expansion
    int32_t *actions
    double *weights
    Ranked *ranked
    char *scratch           # four states: of the step under way, and three of a rollout
    size_t scratch_stride
    const void *bad_state   # what was not finite, for the message
    int32_t bad_action
    double bad_number

# Allocate the buffers (the settings are the caller's); free them and the states.
cdef int simulation_init(Simulation *s, SimulatorTable *table, int columns,
                         size_t limit) noexcept nogil
cdef void simulation_free(Simulation *s) noexcept nogil
# Make the buffers of an expansion at least `count` entries long. 0, or STATUS_NO_MEMORY.
cdef int widen(Simulation *s, int32_t count) noexcept nogil
# Make the path longer. 0, or STATUS_NO_MEMORY.
cdef int lengthen(Simulation *s) noexcept nogil
cdef int64_t monotonic_ns() noexcept nogil


cdef inline void release(Simulation *s, const void *state) noexcept nogil:
    if s.table.release != NULL:
        s.table.release(s.table.context, state)


cdef inline int refuse(Simulation *s, const void *state, int32_t action,
                       double number) noexcept nogil:
    """Remember what was not finite; the status for it."""
    s.bad_state = state
    s.bad_action = action
    s.bad_number = number
    return STATUS_NOT_FINITE


cdef inline int32_t step(Simulation *s, const void *state, int32_t action, void *next_state,
                         double *reward, int32_t *outcome) noexcept nogil:
    """One step of the simulator, its reward checked."""
    cdef int32_t flags = s.table.step(s.table.context, state, action, &s.rng,
                                      next_state, reward, outcome)
    if flags >= 0 and not fabs(reward[0]) <= LIMIT:
        release(s, next_state)
        return refuse(s, state, action, reward[0])
    return flags


cdef inline int32_t legal(Simulation *s, const void *state) noexcept nogil:
    """The legal actions into s.actions. How many there are, or a status below 0."""
    cdef int32_t count = s.table.legal(s.table.context, state, s.actions, s.wide)
    if count > s.wide:
        if widen(s, count) < 0:
            return STATUS_NO_MEMORY
        count = s.table.legal(s.table.context, state, s.actions, s.wide)
    return count


cdef inline int value_of(Simulation *s, const void *state, double *value) noexcept nogil:
    """The simulator's estimate, checked. 0 or above, or a status."""
    cdef int status = 0
    if s.table.evaluate != NULL:
        status = s.table.evaluate(s.table.context, state, value)
        if status >= 0 and not fabs(value[0]) <= LIMIT:
            status = refuse(s, state, -1, value[0])
    return status


cdef inline int push(Simulation *s, int32_t index) noexcept nogil:
    """Add a node to the path. 0, or STATUS_NO_MEMORY."""
    if s.path_length == s.path_capacity and lengthen(s) < 0:
        return STATUS_NO_MEMORY
    s.path[s.path_length] = index
    s.path_length += 1
    return 0
