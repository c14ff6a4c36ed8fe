"""``JevToolRouter``: one fast, calibrated choice among the tools on offer."""

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from router.cache import SelectionCache, decision_key
from router.catalog.checks import check_tools
from router.config import RoutingConfig
from router.errors import ProviderError, ProviderErrorKind, RouterError
from router.gate import pass_gate
from router.models import (
    DecisionSource,
    HarnessState,
    RiskLevel,
    RouteDecision,
    RoutingMode,
    Selection,
    ToolDescriptor,
)
from router.providers.base import DecisionProvider
from router.selectors.base import LocalSelector
from router.selectors.jev import JevSelector, LateSelection
from router.selectors.temperature import IDENTITY, Temperatures

__all__ = ["JevToolRouter", "Record"]

Record = Callable[[HarnessState, Sequence[ToolDescriptor], RouteDecision], str | None]
"""Keeps a decision and returns its id, or None; never raises. See ``Recorder.of_tools``."""

log = logging.getLogger("harness_router.route")

RESERVE_SECONDS: Final = 0.02
"""Kept back of a deadline for the local selector that stands in (at most a tenth of the time)."""


class JevToolRouter:
    """Names the next tool with an honest probability, or abstains.

    One tool of low or medium risk is taken as it is. Otherwise the provider decides, and without
    one the local selector; in hybrid mode the local selector also stands in where the provider
    fails, and below the thresholds of ``config`` the planner is asked. In hybrid mode nothing that
    a provider does is raised.

    Args:
        provider: who is asked, or None: the local selector decides alone.
        config: see ``RoutingConfig``.
        selector: the local selector; None: the one that comes with the package.
        temperatures: calibration of the provider's probabilities, by number of options.
        record: told every decision; None: none is kept.

    Raises:
        RouterError: mode "jev_only" without a provider.
        EmbeddingsError: ``config.embeddings`` without the extra.
    """

    def __init__(
        self,
        provider: DecisionProvider | None = None,
        config: RoutingConfig | None = None,
        *,
        selector: LocalSelector | None = None,
        temperatures: Temperatures = IDENTITY,
        record: Record | None = None,
    ) -> None:
        self.config = config or RoutingConfig()
        if provider is None and self.config.mode is RoutingMode.JEV_ONLY:
            raise RouterError("provider: got None, wanted one (mode is jev_only)")
        self._jev = JevSelector(provider, self.config, temperatures) if provider else None
        if selector is None and self.config.embeddings:
            from router.selectors.embedding_features import embedding_selector

            selector = embedding_selector()
        self._local = selector
        self._record = record
        self._cache = SelectionCache(self.config.route_cache_size, self.config.cache_path)

    async def route(
        self,
        state: HarnessState,
        tools: Sequence[ToolDescriptor],
        *,
        deadline: float | None = None,
    ) -> RouteDecision:
        """Choose among ``tools``, or abstain with a reason.

        Args:
            state: where the agent is.
            tools: on offer; names distinct and not blank.
            deadline: ``time.monotonic()`` by which the answer is wanted; None: the provider's own
                time limit holds.

        Raises:
            ToolListError: a blank or repeated name.
            ProviderError: in mode "jev_only": the provider had no usable answer.
        """
        started = time.perf_counter()
        offered = check_tools(tools)
        decision = self._at_once(tools)
        if decision is None:
            if self._jev is None:
                found = self._stand_in(state, tools)
            else:
                found = await self._ask(self._jev, state, tools, deadline)
            decision = self._gated(found, offered)
        return self._kept(_timed(decision, started), state, tools)

    def route_now(self, state: HarnessState, tools: Sequence[ToolDescriptor]) -> RouteDecision:
        """As ``route`` where there is no provider, without an event loop.

        Raises:
            RouterError: there is a provider, which has to be waited for.
            ToolListError: a blank or repeated name.
        """
        if self._jev is not None:
            raise RouterError("route_now: got a router with a provider, wanted one without")
        started = time.perf_counter()
        offered = check_tools(tools)
        decision = self._at_once(tools) or self._gated(self._stand_in(state, tools), offered)
        return self._kept(_timed(decision, started), state, tools)

    def close(self) -> None:
        """Close the cache file; the provider is its maker's to close."""
        self._cache.close()

    def _kept(
        self, decision: RouteDecision, state: HarnessState, tools: Sequence[ToolDescriptor]
    ) -> RouteDecision:
        if self._record is None:
            return decision
        return replace(decision, record_id=self._record(state, tools, decision))

    def _at_once(self, tools: Sequence[ToolDescriptor]) -> RouteDecision | None:
        """What needs no selector: nobody may decide, there is nothing to choose, or no choice."""
        if self.config.mode is RoutingMode.PLANNER_ONLY:
            return RouteDecision.fallback_to_planner("planner_only")
        if not tools:
            return RouteDecision.fallback_to_planner("no_tools")
        if len(tools) == 1 and tools[0].risk in (RiskLevel.LOW, RiskLevel.MEDIUM):
            return _obvious(tools[0])
        return None

    def _gated(self, found: "_Found", offered: dict[str, ToolDescriptor]) -> RouteDecision:
        """The decision that what was found allows."""
        if found.selection is None:
            reason = "provider_error" if found.provider_error else "selector_error"
            return replace(
                RouteDecision.fallback_to_planner(reason), provider_error=found.provider_error
            )
        return pass_gate(
            found.selection,
            offered,
            self.config,
            source=found.source,
            provider_error=found.provider_error,
        )

    async def _ask(
        self,
        jev: JevSelector,
        state: HarnessState,
        tools: Sequence[ToolDescriptor],
        deadline: float | None,
    ) -> "_Found":
        """The provider's selection, from the cache if it is there; else the stand-in's."""
        key = decision_key(jev.version, state, tools, self._limits())
        kept = self._cache.get(key)
        if kept is not None and _is_over(tools, kept):
            return _Found(kept, "cache")
        whole = time.monotonic() + jev.timeout_seconds + RESERVE_SECONDS
        deadline = whole if deadline is None else min(whole, deadline)  # NaN: whole
        shown = self._shown(state, tools)
        if shown is None:
            return _Found(None, "none")
        try:
            late = _LateAnswers(self._cache, key, tools)
            selection = _over(tools, await _in_time(jev, state, shown, deadline, late))
        except ProviderError as error:
            if self.config.mode is RoutingMode.JEV_ONLY:
                raise
            failed = error.kind
        else:
            if selection.probabilities:
                self._cache.put(key, selection)
            return _Found(selection, "jev")
        if failed == "saturated" or time.monotonic() >= deadline:
            # In a flood the stand-in's work for some would make others miss their deadlines.
            return _Found(None, "none", failed)
        return self._stand_in(state, tools, failed)

    def _stand_in(
        self,
        state: HarnessState,
        tools: Sequence[ToolDescriptor],
        provider_error: str | None = None,
    ) -> "_Found":
        """The local selector's selection; trouble of its own is an abstention."""
        try:
            return _Found(self._selector().select_now(state, tools), "local", provider_error)
        except Exception as error:  # fail open: weights that cannot be read, a selector of a user's
            log.warning("the local selector failed: %s", type(error).__name__)
            return _Found(None, "none", provider_error)

    def _shown(
        self, state: HarnessState, tools: Sequence[ToolDescriptor]
    ) -> Sequence[ToolDescriptor] | None:
        """What the provider sees: all tools, or of a large registry the most likely ones; None:
        the local selector could not say which.
        """
        size = self.config.shortlist_size
        if len(tools) <= size:
            return tools
        try:
            return [tools[i] for i in sorted(self._selector().shortlist(state, tools, size))]
        except Exception as error:  # as in _stand_in
            log.warning("the local selector failed: %s", type(error).__name__)
            return None

    def _limits(self) -> tuple[object, ...]:
        config = self.config
        return (
            config.hierarchical_threshold,
            config.hierarchical_min_savings,
            config.shortlist_size,
            config.description_limit,
            config.history_limit,
            config.state_field_limit,
            config.constraint_limit,
        )

    def _selector(self) -> LocalSelector:
        if self._local is None:
            from router.selectors.local import default_selector  # numpy and the weights

            self._local = default_selector()
        return self._local


@dataclass(frozen=True, slots=True)
class _Found:
    """A selection and who made it; None: nobody had the time."""

    selection: Selection | None
    source: DecisionSource
    provider_error: str | None = None


@dataclass(frozen=True, slots=True)
class _LateAnswers:
    """Puts an answer that came after the deadline into the cache."""

    cache: SelectionCache
    key: bytes
    tools: Sequence[ToolDescriptor]

    def __call__(self, selection: Selection) -> None:
        if selection.probabilities:
            self.cache.put(self.key, _over(self.tools, selection))


def _timed(decision: RouteDecision, started: float) -> RouteDecision:
    milliseconds = (time.perf_counter() - started) * 1e3
    log.debug(
        "tool=%s confidence=%.4f reason=%s source=%s provider_error=%s ms=%.3f",
        decision.tool,
        decision.confidence,
        decision.fallback_reason,
        decision.source,
        decision.provider_error,
        milliseconds,
    )
    return replace(decision, latency_ms=milliseconds)


def _obvious(tool: ToolDescriptor) -> RouteDecision:
    return RouteDecision(
        tool=tool.name,
        category=tool.category,
        confidence=1.0,
        probabilities={tool.name: 1.0},
        source="obvious",
        none_fits=0.0,
        why=("the only tool on offer",),
    )


def _over(tools: Sequence[ToolDescriptor], selection: Selection) -> Selection:
    """The selection over all tools: those that the provider was not shown have probability 0."""
    given = selection.probabilities
    if not given or len(given) == len(tools):
        return selection
    whole = {tool.name: given.get(tool.name, 0.0) for tool in tools}
    shown = f"the {len(given)} most likely of {len(tools)} tools were asked about"
    return replace(selection, probabilities=whole, why=(*selection.why, shown))


def _is_over(tools: Sequence[ToolDescriptor], kept: Selection) -> bool:
    """Is it about these tools? A file may hold anything."""
    names = {tool.name for tool in tools}
    return kept.probabilities.keys() == names and (kept.tool is None or kept.tool in names)


async def _in_time(
    jev: JevSelector,
    state: HarnessState,
    tools: Sequence[ToolDescriptor],
    deadline: float,
    late: LateSelection,
) -> Selection:
    """The provider's selection; whatever else it does becomes a ``ProviderError``."""
    import asyncio  # not needed where the local selector decides alone

    now = time.monotonic()
    reserve = min(RESERVE_SECONDS, max(deadline - now, 0.0) / 10.0)
    try:
        # A provider keeps its deadline itself; the second one is for those that do not.
        async with asyncio.timeout(deadline - reserve / 2.0 - now):
            return await jev.select(state, tools, deadline - reserve, late)
    except ProviderError:
        raise
    except TimeoutError:
        kind: ProviderErrorKind = "timeout"
        message = "no answer within the deadline"
    except Exception as error:  # a provider of the user's own
        kind = "invalid_response"
        message = f"the provider raised {type(error).__name__}"
    # Outside of the handlers: what a provider raised may hold a request, and the request a key.
    raise ProviderError(message, kind=kind, provider=jev.provider_name)
