"""Reading a search out: the choice with its evidence, and the tree."""

from libc.stdint cimport int32_t

import numpy as np

from mcts_core import result

from mcts_core.context cimport Simulation
from mcts_core.gumbel cimport Improved, gumbel_choice, improve, improved_share
from mcts_core.transpositions cimport refresh
from mcts_core.tree cimport (NODE_CHANCE, NODE_PROVEN, NONE, Arena, arena_arrays, best_child,
                             state_at)


cdef object result_of(Simulation *s, SimulatorHandle simulator, object config, str stop_reason,
                      double time_ms):
    cdef Arena *tree = &s.arena
    cdef int32_t first = tree.node[0].first_child, count = tree.node[0].child_count, i, offered
    cdef int32_t best
    cdef bint proven = (tree.flags[0] & NODE_PROVEN) != 0
    if tree.home != NULL:
        refresh(s, 0)
    best = chosen(s)
    order = offered_order(s)
    visits = np.zeros(count, dtype=np.int64)
    values = np.full(count, np.nan)
    priors = np.zeros(count)
    proofs = np.zeros(count, dtype=bool)
    actions = [None] * count
    for i in range(count):
        offered = order[tree.action[first + i]]
        priors[offered] = tree.prior[first + i]
        actions[offered] = action_of(s, simulator, 0, first + i)
        if i < tree.node[0].tried and tree.visits[first + i] > 0:
            visits[offered] = tree.visits[first + i]
            values[offered] = tree.value[first + i]
            proofs[offered] = (tree.flags[first + i] & NODE_PROVEN) != 0
    variation = principal_variation(s, simulator, best)
    return result.SearchResult(
        action=variation[0] if variation else None,
        actions=tuple(actions),
        visits=visits,
        values=values,
        priors=priors,
        policy=policy_of(s, config, order, visits, best),
        value=tree.value[best] if best != NONE else float("nan"),
        principal_variation=variation,
        proven=proven,
        proven_by="search" if proven else None,
        proven_actions=proofs,
        simulations=s.done,
        nodes=tree.visited,
        stop_reason=stop_reason,
        time_ms=time_ms,
        seed=config.seed,
    )


cdef int32_t chosen(const Simulation *s) noexcept:
    """The root's child to play; NONE if none was visited."""
    cdef int32_t best = best_child(&s.arena, 0)
    if best == NONE or s.arena.visits[best] == 0:
        return NONE
    if s.halving.on and s.arena.flags[best] & NODE_PROVEN == 0:
        return s.arena.node[0].first_child + gumbel_choice(s)
    return best


cdef object policy_of(const Simulation *s, object config, dict order, object visits, int32_t best):
    """[k] the improved policy of a Gumbel root, else visits to the power of 1 / temperature."""
    cdef const Arena *tree = &s.arena
    cdef int32_t first = tree.node[0].first_child, i
    cdef Improved by
    policy = np.zeros(len(visits))
    if best == NONE:
        return policy
    if s.halving.on:
        by = improve(s, 0)
        for i in range(len(visits)):
            policy[<int32_t>order[tree.action[first + i]]] = improved_share(s, first + i, &by)
        return policy / policy.sum()
    if config.temperature == 0.0 or tree.flags[best] & NODE_PROVEN:
        policy[<int32_t>order[tree.action[best]]] = 1.0
        return policy
    return result.tempered(visits, config.temperature)


cdef object action_of(const Simulation *s, SimulatorHandle simulator, int32_t parent,
                      int32_t child):
    """The simulator's name for an action, given its node and its decision node."""
    return simulator.action_object(state_at(&s.arena, s.arena.node[parent].state),
                                   s.arena.action[child])


cdef dict offered_order(Simulation *s):
    """Action -> place in the order in which the root offers it."""
    cdef int32_t i
    if s.arena.node[0].child_count == 0:
        return {}
    s.table.legal(s.table.context, state_at(&s.arena, 0), s.actions, s.wide)
    return {s.actions[i]: i for i in range(s.arena.node[0].child_count)}


cdef tuple principal_variation(const Simulation *s, SimulatorHandle simulator, int32_t child):
    """Actions from the root on, the first of them that of ``child``."""
    cdef const Arena *tree = &s.arena
    cdef int32_t node = 0
    variation = []
    while child != NONE and tree.visits[child] > 0:
        if tree.flags[node] & NODE_CHANCE == 0:
            variation.append(action_of(s, simulator, node, child))
        node = child if tree.home == NULL else tree.home[child]
        child = best_child(tree, node)
    return tuple(variation)


cdef object tree_of(Simulation *s):
    if s.arena.home != NULL:
        for i in arena_arrays(&s.arena)[1].tolist():
            refresh(s, i)
    return arena_arrays(&s.arena)[0]


cdef list actions_of(const Simulation *s, SimulatorHandle simulator):
    cdef int32_t i
    tree, index = arena_arrays(&s.arena)
    parents = tree.parent.tolist()
    return [None] + [tree.action[i].item() if tree.kind[i] == result.OUTCOME
                     else action_of(s, simulator, index[parents[i]], index[i])
                     for i in range(1, len(parents))]


cdef list states_of(const Simulation *s, SimulatorHandle simulator):
    cdef int32_t slot
    states = []
    for i in arena_arrays(&s.arena)[1].tolist():
        slot = s.arena.node[i].state
        states.append(None if slot == NONE else simulator.state_object(state_at(&s.arena, slot)))
    return states
