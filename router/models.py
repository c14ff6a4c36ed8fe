"""What a decision is made from, and what it is: the public data types."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Literal

__all__ = [
    "ActionSummary",
    "DecisionSource",
    "HarnessState",
    "RiskLevel",
    "RouteDecision",
    "ToolDescriptor",
]

DecisionSource = Literal["mcts", "exact", "none"]


class RiskLevel(str, Enum):
    """How costly a tool's effect may be; said to the host, enforced by the host."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"


@dataclass(frozen=True, slots=True)
class ToolDescriptor:
    """A tool on offer.

    Attributes:
        name: unique among the tools offered together, not blank.
        description: what it does, in words.
        category: kind of action, e.g. "inspect", or None if not known.
        risk: see ``RiskLevel``.
        schema: JSON schema of its arguments; not part of equality.
    """

    name: str
    description: str
    category: str | None = None
    risk: RiskLevel = RiskLevel.MEDIUM
    schema: Mapping[str, Any] = field(default_factory=dict, compare=False)


@dataclass(frozen=True, slots=True)
class ActionSummary:
    """One past action: the tool, how it ended, and a hash of its arguments if known."""

    tool: str
    outcome: str
    arguments_hash: str | None = None


@dataclass(frozen=True, slots=True)
class HarnessState:
    """What a decision may look at. Sequences are kept as tuples, so that states are hashable.

    Attributes:
        goal: what the agent is to achieve.
        observation: the newest thing that it saw, or None.
        last_action: name of the tool that ran last, or None.
        recent_actions: oldest first.
        constraints: rules that the host states, in words.
    """

    goal: str
    observation: str | None = None
    last_action: str | None = None
    recent_actions: Sequence[ActionSummary] = ()
    constraints: Sequence[str] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "recent_actions", tuple(self.recent_actions))
        object.__setattr__(self, "constraints", tuple(self.constraints))

    def compact(self, *, history_limit: int = 6) -> dict[str, Any]:
        """The state as a JSON object with at most ``history_limit`` recent actions."""
        recent = self.recent_actions[-history_limit:] if history_limit else ()
        return {
            "goal": self.goal,
            "observation": self.observation,
            "last_action": self.last_action,
            "recent_actions": [{"tool": a.tool, "outcome": a.outcome} for a in recent],
            "constraints": list(self.constraints),
        }


@dataclass(frozen=True, slots=True)
class RouteDecision:
    """A choice among the tools offered, or an abstention. It authorises nothing.

    Attributes:
        tool: name of the chosen tool; None if it abstains.
        category: category of the tool, if known.
        confidence: 0 to 1. Of a search: the share of visits of the tool, or 1 where its value
            is proven best (see ``MCTSResult.probability_kind``); not a calibrated probability.
        probabilities: tool name -> number of the same kind; sums to 1, or empty.
        fallback: True if it abstains: the host goes on as if the router were not there.
        fallback_reason: why, as a short stable name; None if it does not abstain.
        source: what decided.
    """

    tool: str | None = None
    category: str | None = None
    confidence: float = 0.0
    probabilities: Mapping[str, float] = field(default_factory=dict)
    fallback: bool = False
    fallback_reason: str | None = None
    source: DecisionSource = "none"

    @classmethod
    def fallback_to_planner(
        cls,
        reason: str,
        *,
        confidence: float = 0.0,
        category: str | None = None,
        probabilities: Mapping[str, float] | None = None,
    ) -> "RouteDecision":
        """An abstention with its reason."""
        return cls(
            fallback=True,
            fallback_reason=reason,
            confidence=confidence,
            category=category,
            probabilities=probabilities or {},
        )
