"""Going on from a node of a finished search: what lies below it becomes the tree."""

from libc.stdint cimport int32_t

from mcts_core.context cimport Simulation

# Make `node`, a decision node that was visited, the root; forget the rest. 0, or a status, and then
# the tree is as it was.
cdef int reroot(Simulation *s, int32_t node) noexcept nogil
# Begin again from the state that lies in s.scratch, with nothing kept. The same.
cdef int restart(Simulation *s, bint terminal) noexcept nogil
