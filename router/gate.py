"""The gate: is a selector's distribution enough to name a tool, or is the planner asked?"""

from collections.abc import Mapping

from router.config import RoutingConfig
from router.models import DecisionSource, RouteDecision, RoutingMode, Selection, ToolDescriptor

__all__ = ["pass_gate"]


def pass_gate(
    selection: Selection,
    offered: Mapping[str, ToolDescriptor],
    config: RoutingConfig,
    *,
    source: DecisionSource,
    provider_error: str | None = None,
) -> RouteDecision:
    """The decision that ``selection`` allows under the thresholds of ``config``.

    The reasons to abstain, first match wins: "no_matching_tool" (none fits is the most probable),
    "unknown_confidence" (no probabilities were given: unknown is never enough), "low_confidence"
    (below ``fallback_threshold``), "planner_confirmation" (hybrid mode, below
    ``direct_execution_threshold``). Where the provider failed and the local stand-in does not
    pass, the reason is "provider_error", the kind of error stands in ``provider_error``.

    Args:
        selection: over the tools on offer.
        offered: tool name -> descriptor.
        config: thresholds and mode.
        source: who decides.
        provider_error: why the provider did not, or None.
    """
    best = _best(selection)
    confidence = selection.probabilities.get(best, 0.0) if best is not None else 0.0
    reason = _reason_to_abstain(selection, confidence, config)
    if reason is not None and provider_error not in (None, "no_key"):
        reason = "provider_error"
    tool = selection.tool if reason is None else None
    named = tool if tool is not None else best
    return RouteDecision(
        tool=tool,
        category=offered[named].category if named is not None else None,
        confidence=confidence,
        probabilities=selection.probabilities,
        fallback=reason is not None,
        fallback_reason=reason,
        source=source,
        none_fits=selection.none_fits,
        provider_error=provider_error,
        version=selection.version,
        answer=selection.answer,
        why=selection.why,
    )


def _best(selection: Selection) -> str | None:
    """The most probable tool, also where "none fits" is more probable still."""
    if selection.tool is not None:
        return selection.tool
    return max(selection.probabilities, key=selection.probabilities.__getitem__, default=None)


def _reason_to_abstain(
    selection: Selection, confidence: float, config: RoutingConfig
) -> str | None:
    if selection.tool is None:
        return "no_matching_tool"
    if not selection.probabilities:
        return "unknown_confidence"
    if confidence < config.fallback_threshold:
        return "low_confidence"
    if config.mode is RoutingMode.HYBRID and confidence < config.direct_execution_threshold:
        return "planner_confirmation"
    return None
