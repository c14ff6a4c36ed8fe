"""The root: its actions and their prior, noise, and what a Gumbel root needs."""

from mcts_core.context cimport Simulation

# Expand the root if that is still to be done. `weights`: [k] floats in the order offered, or None.
# 0, or a status.
cdef int open_root(Simulation *s, object weights) except? -2
# The root's children are there: add noise, and begin sequential halving, as `config` says.
cdef int prepare_root(Simulation *s, object config) except -1
# A prior given by a caller as an array of floats, checked; None stays None.
cdef object prior_array(object prior)
