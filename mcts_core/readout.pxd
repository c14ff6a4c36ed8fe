"""Reading a search out: the choice with its evidence, and the tree."""

from mcts_core.context cimport Simulation
from mcts_core.native cimport SimulatorHandle

cdef object result_of(Simulation *s, SimulatorHandle simulator, object config, str stop_reason,
                      double time_ms)
# The tree as arrays, what is shared seen from each place alike.
cdef object tree_of(Simulation *s)
# For each node of the exported tree: its action, or its state, in the simulator's own terms.
cdef list actions_of(const Simulation *s, SimulatorHandle simulator)
cdef list states_of(const Simulation *s, SimulatorHandle simulator)
