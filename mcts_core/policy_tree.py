"""The exact solution of an explicit model as a tree to look at: the optimal policy unfolded, with
the values of the alternatives beside it."""

from collections.abc import Hashable
from dataclasses import dataclass, field

import numpy as np

from mcts_core.exact import backward_induction, unlabelled
from mcts_core.result import CHANCE, DECISION, OUTCOME, SearchTree
from mcts_core.simulator import ExplicitModel

__all__ = ["policy_tree"]


def policy_tree(
    model: ExplicitModel, root_state: int, *, horizon: int, discount: float, limit: int = 200
) -> tuple[SearchTree, list[Hashable | None], list[int | None]]:
    """Unfold the optimal policy breadth first: all actions of a state, all outcomes of the best.

    Args:
        model: as for ``backward_induction``.
        root_state: as there.
        horizon: as there.
        discount: as there.
        limit: states to unfold at most, 1 or more.

    Returns:
        The tree; [N] labels of the actions as ``Search.tree_actions`` gives them; [N] states, None
        for chance. ``visits`` is 1 on the optimal policy and 0 beside it: no simulation was run.
    """
    unfolding = _Unfolding(model, discount, horizon)
    unfolding.add(-1, -1, value=0.0, state=root_state, label=None, on_policy=True)
    unfolding.queue.append(0)
    for node in unfolding.queue:
        if len(unfolding.queue) > limit:
            break
        unfolding.open(node)
    return unfolding.tree(), unfolding.labels, unfolding.states


@dataclass
class _Unfolding:
    model: ExplicitModel
    discount: float
    horizon: int
    parent: list[int] = field(default_factory=list)
    action: list[int] = field(default_factory=list)
    depth: list[int] = field(default_factory=list)
    visits: list[int] = field(default_factory=list)
    value: list[float] = field(default_factory=list)
    prior: list[float] = field(default_factory=list)
    reward: list[float] = field(default_factory=list)
    kind: list[int] = field(default_factory=list)
    ended: list[bool] = field(default_factory=list)
    labels: list[Hashable | None] = field(default_factory=list)
    states: list[int | None] = field(default_factory=list)
    queue: list[int] = field(default_factory=list)

    def add(
        self,
        parent: int,
        action: int,
        *,
        value: float,
        state: int | None,
        label: Hashable | None,
        on_policy: bool,
        prior: float = 1.0,
        reward: float = 0.0,
        kind: int = DECISION,
        terminal: bool = False,
    ) -> int:
        """Append a node; return its index."""
        depth = 0 if parent < 0 else self.depth[parent] + (kind != OUTCOME)
        self.parent.append(parent)
        self.action.append(action)
        self.depth.append(depth)
        self.visits.append(int(on_policy))
        self.value.append(value)
        self.prior.append(prior)
        self.reward.append(reward)
        self.kind.append(kind)
        self.ended.append(terminal or (depth >= self.horizon and kind != CHANCE))
        self.labels.append(label)
        self.states.append(state)
        return len(self.parent) - 1

    def open(self, node: int) -> None:
        """Give a state its actions, and queue what follows the best of them."""
        state = self.states[node]
        left = self.horizon - self.depth[node]
        assert state is not None
        assert left > 0
        solved = backward_induction(self.model, state, horizon=left, discount=self.discount)
        values = solved.values.tolist()
        label = getattr(self.model, "action_label", unlabelled)
        if node == 0:
            self.value[0] = max(values, default=0.0)
        for action, value in enumerate(values):
            on_policy = action == values.index(max(values))
            edges = self.edges(state, action)
            chance = len(edges) > 1
            child = self.add(
                node,
                action,
                value=value,
                state=None if chance else int(self.model.next_state[edges[0]]),
                label=label(state, action),
                on_policy=on_policy,
                prior=1.0 / len(values),
                reward=0.0 if chance else float(self.model.reward[edges[0]]),
                kind=CHANCE if chance else DECISION,
                terminal=not chance and bool(self.model.terminal[edges[0]]),
            )
            if on_policy and chance:
                self.open_outcomes(child, state, edges)
            elif on_policy and not self.ended[child]:
                self.queue.append(child)

    def open_outcomes(self, node: int, state: int, edges: range) -> None:
        """Give the best action of a state its outcomes."""
        for outcome, edge in enumerate(edges):
            child = self.add(
                node,
                outcome,
                value=self.edge_value(state, edge, self.depth[node]),
                state=int(self.model.next_state[edge]),
                label=outcome,
                on_policy=True,
                prior=float(self.model.probability[edge]),
                reward=float(self.model.reward[edge]),
                kind=OUTCOME,
                terminal=bool(self.model.terminal[edge]),
            )
            if not self.ended[child]:
                self.queue.append(child)

    def edges(self, state: int, action: int) -> range:
        """The outcomes of an action, as indices."""
        choice = int(self.model.action_offsets[state]) + action
        first, last = self.model.outcome_offsets[choice : choice + 2].tolist()
        return range(first, last)

    def edge_value(self, state: int, edge: int, depth: int) -> float:
        """reward + discount V after an outcome, for the player who moves at ``state``."""
        model = self.model
        to = int(model.next_state[edge])
        value = float(model.value[to])
        if not model.terminal[edge] and depth < self.horizon:
            solved = backward_induction(
                model, to, horizon=self.horizon - depth, discount=self.discount
            )
            value = solved.value if len(solved.values) else value
        sign = 1.0 if model.player[to] == model.player[state] else -1.0
        return float(model.reward[edge]) + self.discount * sign * value

    def tree(self) -> SearchTree:
        """The nodes so far as arrays."""
        return SearchTree(
            parent=np.array(self.parent, dtype=np.int32),
            action=np.array(self.action, dtype=np.int32),
            depth=np.array(self.depth, dtype=np.int32),
            visits=np.array(self.visits, dtype=np.int32),
            value=np.array(self.value, dtype=np.float64),
            prior=np.array(self.prior, dtype=np.float64),
            reward=np.array(self.reward, dtype=np.float64),
            kind=np.array(self.kind, dtype=np.uint8),
            ended=np.array(self.ended, dtype=np.bool_),
            proven=np.ones(len(self.parent), dtype=np.bool_),
            home=np.arange(len(self.parent), dtype=np.int32),
        )
