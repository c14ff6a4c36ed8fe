"""The prior of a search: what a policy router thinks of the tools before any is simulated."""

import inspect
import math
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from router.models import HarnessState, RouteDecision, ToolDescriptor

__all__ = ["PolicyRouter", "Prior", "PriorSource", "ask_policy"]

PriorSource = Literal["policy", "policy_unsure", "stand_in", "uniform"]


class PolicyRouter(Protocol):
    """Anything with the router's ``route``, sync or async."""

    def route(
        self, state: HarnessState, tools: Sequence[ToolDescriptor]
    ) -> RouteDecision | Awaitable[RouteDecision]:
        """Choose among ``tools``."""


@dataclass(frozen=True, slots=True)
class Prior:
    """Weights of the tools offered, and where they come from.

    Attributes:
        weights: tool name -> weight > 0, or None for uniform.
        source: "policy"; "policy_unsure" (its gate did not pass: the whole distribution is used
            all the same, that is when search helps); "stand_in" (the policy failed and another
            router answered); "uniform".
        none_fits: 0 to 1, the policy's probability that none of the tools fits; None if unknown.
        error: what the policy raised, as one line; None if nothing.
    """

    weights: Mapping[str, float] | None = None
    source: PriorSource = "uniform"
    none_fits: float | None = None
    error: str | None = None


async def ask_policy(
    policy: PolicyRouter,
    stand_in: PolicyRouter | None,
    state: HarnessState,
    tools: Sequence[ToolDescriptor],
    min_prior: float,
) -> Prior:
    """The policy's distribution over ``tools``; never raises what the policy raises."""
    try:
        return _prior_of(await _route(policy, state, tools), tools, min_prior)
    except Exception as error:  # fail open: the search goes on without this prior
        message = f"{type(error).__name__}: {error}".splitlines()[0][:200]
    if stand_in is not None:
        try:
            prior = _prior_of(await _route(stand_in, state, tools), tools, min_prior)
            if prior.weights is not None:
                return Prior(prior.weights, "stand_in", prior.none_fits, message)
        except Exception as error:  # as above: uniform is what remains
            message += f"; stand-in: {type(error).__name__}"
    return Prior(error=message)


async def _route(
    policy: PolicyRouter, state: HarnessState, tools: Sequence[ToolDescriptor]
) -> RouteDecision:
    answer = policy.route(state, tools)
    return await answer if inspect.isawaitable(answer) else answer


def _prior_of(decision: RouteDecision, tools: Sequence[ToolDescriptor], least: float) -> Prior:
    given = dict(decision.probabilities)
    whole = bool(given)
    if decision.tool is not None and decision.tool not in given:
        given[decision.tool] = decision.confidence
    for name, p in given.items():
        if not (math.isfinite(p) and 0.0 <= p <= 1.0 + 1e-6):
            raise ValueError(f"probability of {name!r}: got {p!r}, wanted 0 to 1")
    mass = math.fsum(given.get(tool.name, 0.0) for tool in tools)
    if mass <= 0.0:
        return Prior(none_fits=1.0 if whole else None)
    weights = {tool.name: max(given.get(tool.name, 0.0), least) for tool in tools}
    return Prior(
        weights=weights,
        source="policy_unsure" if decision.fallback else "policy",
        none_fits=min(max(1.0 - mass, 0.0), 1.0) if whole else None,
    )
