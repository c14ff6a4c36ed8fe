"""Taking a real step: which place the search goes on from."""

from libc.stdint cimport int32_t
from libc.stdlib cimport free
from libc.string cimport memcmp

from mcts_core.errors import ConfigError

from mcts_core.context cimport step
from mcts_core.native cimport STEP_TERMINAL
from mcts_core.reuse cimport reroot, restart
from mcts_core.tree cimport (NODE_CHANCE, NONE, Arena, blank, first_tried, next_tried, state_at)


cdef int step_to(Simulation *s, SimulatorHandle simulator, object action, object state) except? -1:
    cdef int32_t child = child_of(s, simulator, action), node
    cdef int status
    if state is None and s.arena.flags[child] & NODE_CHANCE:
        raise ConfigError("state", None, "the state that came about: it is up to chance")
    node = child if state is None else arrival_at(s, simulator, child, state)
    if node != NONE and s.arena.visits[node] > 0 and not s.halving.on:
        status = reroot(s, node)
    else:
        status = restart_at(s, simulator, child, state)
    if status == 0:
        free(s.halving.scores)
        s.halving.scores = NULL
        s.halving.rank = s.halving.visits = 0
    return status


cdef int32_t child_of(Simulation *s, SimulatorHandle simulator, object action) except -1:
    """The root's child for an action, blank if it was not tried."""
    cdef Arena *tree = &s.arena
    cdef int32_t first = tree.node[0].first_child, i
    names = [simulator.action_object(state_at(tree, 0), tree.action[first + i])
             for i in range(tree.node[0].child_count)]
    if action not in names:
        raise ConfigError("action", action, f"one of the root's actions {names[:20]}")
    i = names.index(action)
    if i >= tree.node[0].tried:
        blank(tree, first + i)
    return first + i


cdef int32_t arrival_at(Simulation *s, SimulatorHandle simulator, int32_t child,
                        object state) except? -2:
    """The node below an action whose state this is; NONE: it was not seen."""
    cdef Arena *tree = &s.arena
    cdef int32_t node = child
    if tree.flags[child] & NODE_CHANCE:
        node = first_tried(tree, child)
    while node != NONE:
        if tree.node[node].state != NONE \
                and same_state(s, simulator, tree.node[node].state, state):
            return node
        node = next_tried(tree, child, node) if tree.flags[child] & NODE_CHANCE else NONE
    return NONE


cdef bint same_state(Simulation *s, SimulatorHandle simulator, int32_t slot,
                     object state) except -1:
    """Are they equal in the simulator's own terms, or byte for byte?"""
    cdef void *kept = state_at(&s.arena, slot)
    if simulator.state_object(kept) == state:
        return True
    if simulator.table.needs_gil:
        return False
    simulator.pack_root(state, s.scratch)
    return memcmp(kept, s.scratch, simulator.table.state_size) == 0


cdef int restart_at(Simulation *s, SimulatorHandle simulator, int32_t child,
                    object state) except? -1:
    """A fresh tree at ``state``, else at what the simulator says that the action leads to."""
    cdef double reward = 0.0
    cdef int32_t outcome = 0, flags = 0
    if state is not None:
        simulator.pack_root(state, s.scratch)
    elif s.table.outcomes != NULL:
        raise ConfigError("state", None, "the state that came about: it may be up to chance")
    else:
        flags = step(s, state_at(&s.arena, 0), s.arena.action[child], s.scratch,
                     s.gained if s.players else &reward, &outcome)
    return flags if flags < 0 else restart(s, flags & STEP_TERMINAL)
