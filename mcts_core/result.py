"""What a search returns: the choice with its evidence, and the tree as arrays."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, fields
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from mcts_core.errors import ConfigError

__all__ = [
    "CHANCE",
    "COLUMNS",
    "DECISION",
    "OUTCOME",
    "SearchResult",
    "SearchTree",
    "StopReason",
    "check_tree",
    "tempered",
]

StopReason = Literal["simulations", "time", "memory", "decided", "no_action", "proven", "exact"]

DECISION: Final = 0
CHANCE: Final = 1
OUTCOME: Final = 2


@dataclass(frozen=True, slots=True, eq=False)
class SearchTree:
    """The tree of a search as arrays over its N nodes; node 0 is the root, parents come first.

    Only nodes that were visited are listed.

    Attributes:
        parent: int32 [N], index of the parent, -1 for the root.
        action: int32 [N], the action that leads here; for an outcome of chance its index; root -1.
        depth: int32 [N], actions from the root.
        visits: int32 [N].
        value: float64 [N], mean return of taking this action at the parent, reward included, for
            the player who moves at the parent; for the root the mean return of a simulation.
        prior: float64 [N], probability of the action before the search, 0 to 1; of an outcome of
            chance its own, where the simulator lists them, else 1.
        reward: float64 [N], reward received on arrival; 0 for chance nodes.
        kind: uint8 [N], DECISION, CHANCE (an action whose outcome is drawn) or OUTCOME.
        ended: bool [N], the world or the horizon ends here.
        proven: bool [N], ``value`` is exact.
        home: int32 [N], the node whose state and children this one shares (transpositions); of all
            others their own index.
    """

    parent: npt.NDArray[np.int32]
    action: npt.NDArray[np.int32]
    depth: npt.NDArray[np.int32]
    visits: npt.NDArray[np.int32]
    value: npt.NDArray[np.float64]
    prior: npt.NDArray[np.float64]
    reward: npt.NDArray[np.float64]
    kind: npt.NDArray[np.uint8]
    ended: npt.NDArray[np.bool_]
    proven: npt.NDArray[np.bool_]
    home: npt.NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.parent)


COLUMNS: Final = tuple(field.name for field in fields(SearchTree))
"""The names of the arrays of a ``SearchTree``."""


def check_tree(tree: SearchTree, **texts: Sequence[object] | None) -> None:
    """Refuse a tree that is none, and texts (such as labels) that are not one for each node.

    Raises:
        ConfigError: the tree has no root, its arrays or ``texts`` differ in length, a parent does
            not come before its child, or a kind or a home is unknown; names which.
    """
    nodes = len(tree)
    if nodes == 0:
        raise ConfigError("tree", nodes, "at least one node, the root")
    lengths = {f"tree.{name}": len(getattr(tree, name)) for name in COLUMNS}
    lengths |= {name: len(text) for name, text in texts.items() if text is not None}
    for field, length in lengths.items():
        if length != nodes:
            raise ConfigError(field, length, f"{nodes} entries, one for each node of the tree")
    above = tree.parent[1:]
    wrong = np.flatnonzero((above < 0) | (above >= np.arange(1, nodes))) + 1
    if tree.parent[0] != -1 or len(wrong):
        node = 0 if tree.parent[0] != -1 else int(wrong[0])
        got, wanted = int(tree.parent[node]), "-1 for node 0, else an earlier node"
        raise ConfigError(f"tree.parent[{node}]", got, wanted)
    if not np.isin(tree.kind, (DECISION, CHANCE, OUTCOME)).all():
        raise ConfigError("tree.kind", int(tree.kind.max()), "0, 1 or 2")
    strays = np.flatnonzero((tree.home < 0) | (tree.home >= nodes))
    if len(strays):
        raise ConfigError(
            f"tree.home[{strays[0]}]", int(tree.home[strays[0]]), "a node of the tree"
        )


@dataclass(frozen=True, slots=True, eq=False)
class SearchResult:
    """The outcome of a search or of exact solving. k is the number of actions at the root.

    Attributes:
        action: what to do: the action with most visits, then highest value, then highest prior,
            then first offered; the best proven action instead if its value is no lower than that
            one's; None if the root has no action.
        actions: [k] the root's actions in the order offered.
        visits: int64 [k], simulations through each action; all 0 if solved exactly.
        values: float64 [k], mean return of each action (reward included), NaN if never tried.
        priors: float64 [k], sums to 1.
        policy: float64 [k], sums to 1 (all 0 before the first simulation): the improved policy of a
            Gumbel root (Danihelka et al. 2022, eq. 11), else visits to the power of 1 /
            temperature; the chosen action alone at temperature 0, or where it is proven.
        value: value of the chosen action, NaN if there is none.
        principal_variation: actions from the root along the choice of each node.
        proven: True if the value of the root is exact for the horizon, not an estimate.
        proven_by: "backward induction", "search", or None.
        proven_actions: bool [k], actions whose value is exact.
        simulations: simulations run, at least 0.
        nodes: nodes in the tree, the root included.
        stop_reason: which budget ended the search.
        time_ms: wall time in milliseconds.
        seed: the seed used.
    """

    action: Hashable | None
    actions: tuple[Hashable, ...]
    visits: npt.NDArray[np.int64]
    values: npt.NDArray[np.float64]
    priors: npt.NDArray[np.float64]
    policy: npt.NDArray[np.float64]
    value: float
    principal_variation: tuple[Hashable, ...]
    proven: bool
    proven_by: str | None
    proven_actions: npt.NDArray[np.bool_]
    simulations: int
    nodes: int
    stop_reason: StopReason
    time_ms: float
    seed: int

    @property
    def visit_shares(self) -> npt.NDArray[np.float64]:
        """[k] visits over all visits; the share of the search's attention, not a probability."""
        total = self.visits.sum()
        return self.visits / total if total else np.zeros(len(self.visits))

    def sample(self, seed: int) -> Hashable | None:
        """An action drawn from ``policy``, the same for the same seed; None if there is none."""
        if not self.policy.any():
            return None
        place = np.random.default_rng(seed).choice(len(self.actions), p=self.policy)
        return self.actions[int(place)]


def tempered(visits: npt.NDArray[np.int64], temperature: float) -> npt.NDArray[np.float64]:
    """[k] n^(1/T) over their sum (Silver et al. 2017, AlphaGo Zero, Methods, "Play"); T > 0."""
    with np.errstate(divide="ignore"):
        logs = np.log(visits) / temperature
    weights = np.exp(logs - logs.max())
    share: npt.NDArray[np.float64] = weights / weights.sum()
    return share
