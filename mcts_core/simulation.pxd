"""What one search holds while it runs, as a C struct, and the loop over its simulations."""

from libc.stdint cimport int32_t, int64_t, uint64_t

from mcts_core.native cimport SimulatorTable
from mcts_core.selection cimport Rule
from mcts_core.tree cimport Arena

cdef enum:
    EVALUATE_SIMULATOR = 0
    EVALUATE_FORCED = 1
    EVALUATE_ROLLOUT = 2

ctypedef struct Ranked:     # an action on its way into the order of falling prior
    float prior
    int32_t action
    int32_t order

ctypedef struct Simulation:
    SimulatorTable *table
    Arena arena
    Rule rule
    int evaluation          # EVALUATE_...
    int32_t max_depth
    double discount
    double prior_mix
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
    char *scratch           # three states: of the step under way, and two of a rollout
    size_t scratch_stride
    const void *bad_state   # what was not finite, for the message
    int32_t bad_action
    double bad_number

cdef int64_t monotonic_ns() noexcept nogil
# Allocate the buffers (fields of settings are the caller's); free them and the states.
cdef int simulation_init(Simulation *s, SimulatorTable *table) noexcept nogil
cdef void simulation_free(Simulation *s) noexcept nogil
# Give a node its children; `given`: the weights are in s.weights already. 0, or a status below 0.
cdef int expand(Simulation *s, int32_t index, bint given) noexcept nogil
# Simulate, at least once, until `target` simulations or the time `slice_end`. 0, or a status.
cdef int run_slice(Simulation *s, int32_t target, int64_t slice_end) noexcept nogil
# Make the buffers of an expansion at least `count` entries long. 0, or STATUS_NO_MEMORY.
cdef int widen(Simulation *s, int32_t count) noexcept nogil
