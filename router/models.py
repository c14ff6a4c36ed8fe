"""What a decision is made from, and what it is: the public data types."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Literal

__all__ = [
    "ActionSummary",
    "ChoiceDecision",
    "DecisionSource",
    "HarnessState",
    "RiskLevel",
    "RouteDecision",
    "RoutingMode",
    "Selection",
    "ToolDescriptor",
    "Usage",
]

DecisionSource = Literal["jev", "local", "cache", "obvious", "mcts", "exact", "none"]


class RiskLevel(str, Enum):
    """How costly a tool's effect may be; said to the host, enforced by the host."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"


class RoutingMode(str, Enum):
    """Who decides in ``JevToolRouter``.

    HYBRID: the provider where there is one, the local selector where there is none or it fails;
    below the thresholds the planner decides. JEV_ONLY: the provider alone; its errors are raised.
    PLANNER_ONLY: nobody here: every decision abstains, no provider is needed.
    """

    PLANNER_ONLY = "planner_only"
    JEV_ONLY = "jev_only"
    HYBRID = "hybrid"


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
class Usage:
    """What a provider's answer took; None where it did not say.

    Attributes:
        input_tokens, output_tokens: counts.
        cost: in US dollars.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class ChoiceDecision:
    """A provider's checked answer to one choice among named options.

    Attributes:
        choice: one of the options asked about.
        probabilities: option -> 0 to 1, all options, as the provider rounded them; empty if it
            gave none (unknown, not uniform).
        confidence: the provider's own number, (k p_max - 1) / (k - 1) of k options for Jev; None
            if it gave none (unknown, not 0). Not a probability: see ``RouteDecision.confidence``.
        model: the exact build that answered, or None.
        request_id: the provider's id of the answer, or None.
        usage: tokens and cost.
        latency_ms: from the call to the checked answer.
    """

    choice: str
    probabilities: Mapping[str, float] = field(default_factory=dict)
    confidence: float | None = None
    model: str | None = None
    request_id: str | None = None
    usage: Usage = Usage()
    latency_ms: float | None = None


@dataclass(frozen=True, slots=True)
class Selection:
    """What a selector thinks of the tools on offer: calibrated, before any gate.

    Attributes:
        tool: the most probable tool on offer; None where none fits is more probable, or where
            no tool was on offer.
        probabilities: tool name -> 0 to 1 for every tool on offer, in their order. With
            ``none_fits`` they sum to 1. Empty if the selector could not say.
        none_fits: probability that no tool on offer fits, 0 to 1; None if the selector could not
            say.
        source: "jev" or "local".
        version: name and version of the selector, with the model's build where one answered.
        answer: the provider's raw answer, or None for local selectors.
        why: reasons for a person to read, the strongest first; may be empty.
    """

    tool: str | None
    probabilities: Mapping[str, float]
    none_fits: float | None
    source: Literal["jev", "local"]
    version: str
    answer: ChoiceDecision | None = None
    why: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class RouteDecision:
    """A choice among the tools offered, or an abstention. It authorises nothing.

    Attributes:
        tool: name of the chosen tool; None if it abstains.
        category: category of the tool, if known.
        confidence: 0 to 1: of ``JevToolRouter`` the calibrated probability that its best tool is
            right, which is what the thresholds are compared with. Of a search: the share of
            visits of the tool, or 1 where its value is proven best (see
            ``MCTSResult.probability_kind``); not a calibrated probability.
        probabilities: tool name -> number of the same kind; with ``none_fits`` they sum to 1, or
            empty if unknown.
        fallback: True if it abstains: the host goes on as if the router were not there.
        fallback_reason: why, as a short stable name; None if it does not abstain.
        source: what decided, or was about to where it abstains.
        none_fits: probability that no tool on offer fits; None if unknown.
        provider_error: why the provider did not decide though there is one: a
            ``ProviderErrorKind``; None if it decided or was not needed.
        version: name and version of the selector that decided; None if none did.
        answer: the provider's raw answer with usage, model and request id, or None.
        latency_ms: from the call to the decision.
        why: reasons for a person to read, the strongest first.
        record_id: id of its record, to which an outcome can be attached; None: not recorded.
    """

    tool: str | None = None
    category: str | None = None
    confidence: float = 0.0
    probabilities: Mapping[str, float] = field(default_factory=dict)
    fallback: bool = False
    fallback_reason: str | None = None
    source: DecisionSource = "none"
    none_fits: float | None = None
    provider_error: str | None = None
    version: str | None = None
    answer: ChoiceDecision | None = None
    latency_ms: float | None = None
    why: Sequence[str] = ()
    record_id: str | None = None

    @property
    def margin(self) -> float | None:
        """Probability of the best tool less that of the second (0 if there is none), or None."""
        if not self.probabilities:
            return None
        best, second = sorted((*self.probabilities.values(), 0.0), reverse=True)[:2]
        return best - second

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
