"""What ``MCTSToolRouter`` returns: a decision with its evidence."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from mcts_core import SearchTree
from router.models import RouteDecision
from router.prior import PriorSource

__all__ = ["LookaheadTree", "MCTSResult"]


@dataclass(frozen=True, slots=True, eq=False)
class LookaheadTree:
    """The tree behind a decision, with words. N nodes.

    Attributes:
        arrays: see ``SearchTree``. For a proven decision the optimal policy: visits 1 on it.
        labels: [N] tool names; "outcome 1", ... below chance; the goal for the root.
        states: [N] the states in words, empty for chance.
    """

    arrays: SearchTree
    labels: Sequence[str]
    states: Sequence[str]


@dataclass(frozen=True, slots=True)
class MCTSResult:
    """A decision with its evidence.

    Attributes:
        decision: the first tool, or an abstention.
        principal_variation: tool names from now on, each the choice at its state.
        root_visits: tool name -> simulations through it; all 0 if solved exactly.
        root_values: tool name -> mean discounted return (exact if ``proven``); tools that were
            never tried are missing.
        simulations: simulations run.
        policy_evaluations: how often the policy router was asked.
        proven: True if ``root_values`` are exact for the horizon.
        proven_by: "backward induction", "search", or None.
        proven_tools: tools of the root whose value is exact.
        probability_kind: what ``decision.probabilities`` are: "visit_share", "proven" (1 for the
            best tool), or "none".
        prior: tool name -> prior probability used at the root.
        prior_source: see ``Prior.source``.
        prior_error: what the policy router raised, or None.
        none_fits: the policy's probability that no tool fits, or None: abstaining is an option.
        dead_tools: tools of the root that the graph gives no transition (reward -1, in place).
        nodes: nodes of the search tree.
        stop_reason: which budget ended it: "simulations", "time", "no_action",
            "proven", "exact".
        time_ms: wall time of the search in milliseconds.
        seed: the seed used.
        tree: the tree, if it was asked for.
    """

    decision: RouteDecision
    principal_variation: tuple[str, ...] = ()
    root_visits: Mapping[str, int] = field(default_factory=dict)
    root_values: Mapping[str, float] = field(default_factory=dict)
    simulations: int = 0
    policy_evaluations: int = 0
    proven: bool = False
    proven_by: str | None = None
    proven_tools: tuple[str, ...] = ()
    probability_kind: Literal["visit_share", "proven", "none"] = "none"
    prior: Mapping[str, float] = field(default_factory=dict)
    prior_source: PriorSource = "uniform"
    prior_error: str | None = None
    none_fits: float | None = None
    dead_tools: tuple[str, ...] = ()
    nodes: int = 0
    stop_reason: str = "no_action"
    time_ms: float = 0.0
    seed: int = 0
    tree: LookaheadTree | None = None
