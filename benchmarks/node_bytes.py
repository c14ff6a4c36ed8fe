"""How many bytes a node takes, from ``Search.nbytes``: counted, not timed."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from mcts_core import Search, SearchConfig
from mcts_core.native import AddressSimulator
from simulators.native_games import connect_four, constant_tree

__all__ = ["WORLDS", "NodeBytes", "node_bytes"]

Make = Callable[[], AddressSimulator]

TREE: Final = SearchConfig(max_depth=6, evaluation="simulator")
WORLDS: Final[dict[str, tuple[Make, SearchConfig, int]]] = {
    "tree 8 x 6": (partial(constant_tree, 8), TREE, 8),
    "connect four": (
        connect_four,
        SearchConfig(evaluation="rollout", value_range=(-1.0, 1.0)),
        16,
    ),
}
"""title -> (simulator, settings, bytes of a state in the tree: those of its dtype, in eights)."""


@dataclass(frozen=True, slots=True)
class NodeBytes:
    """What a tree holds.

    Attributes:
        slots: nodes that have a place, all children of each node that was expanded among them.
        visited: those of them that a simulation reached; only these have a state.
        a_slot: bytes of a slot, without states.
        a_visited: bytes of all slots by visited nodes, without states.
        with_state: the same with states.
    """

    slots: int
    visited: int
    a_slot: float
    a_visited: float
    with_state: float


def slot_bytes() -> int:
    """Sixteen children take this much more than none: a root of 24 and one of 8, one visit each."""
    few, many = (Search(constant_tree(n), None, TREE.replace(simulations=1)) for n in (8, 24))
    few.run()
    many.run()
    return (many.nbytes - few.nbytes) // 16


def node_bytes(make: Make, config: SearchConfig, state: int, simulations: int) -> NodeBytes:
    """Run a search of a world without chance, and divide.

    Args:
        make: the simulator.
        config: its settings.
        state: bytes of one state in the tree.
        simulations: how many.
    """
    search = Search(make(), None, config.replace(simulations=simulations))
    search.run()
    bare = search.nbytes - state * search.nodes
    slots, rest = divmod(bare, slot_bytes())
    if rest:
        raise RuntimeError(f"{search.nbytes} bytes are not whole nodes and states of {state}")
    return NodeBytes(
        slots=slots,
        visited=search.nodes,
        a_slot=bare / slots,
        a_visited=bare / search.nodes,
        with_state=search.nbytes / search.nodes,
    )
