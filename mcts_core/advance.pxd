"""Taking a real step: which place the search goes on from."""

from mcts_core.context cimport Simulation
from mcts_core.native cimport SimulatorHandle

# Make the place that `action`, one of the root's, led to the root; `state`: what came about, or
# None. The root is ready. 0, or a status, and then the search is as it was.
cdef int step_to(Simulation *s, SimulatorHandle simulator, object action, object state) except? -1
