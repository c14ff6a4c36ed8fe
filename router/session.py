"""``RoutingSession``: what one task of an agent may ask of a router before it is stopped."""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Protocol

from router.config import RoutingConfig
from router.loop_guard import Action, LoopGuard, hash_of_arguments
from router.models import ActionSummary, HarnessState, RouteDecision, ToolDescriptor

__all__ = ["Router", "RoutingSession"]

HISTORY: Final = 64
"""Executed actions that a session remembers."""


class Router(Protocol):
    """Anything with the async ``route`` of ``JevToolRouter``."""

    async def route(self, state: HarnessState, tools: Sequence[ToolDescriptor]) -> RouteDecision:
        """Choose among ``tools``."""


class RoutingSession:
    """Guards a long run: a limit of steps, loops, and fallbacks in a row.

    A session belongs to one task of one agent.

    Args:
        router: who decides.
        config: the limits; see ``RoutingConfig``.
    """

    def __init__(self, router: Router, config: RoutingConfig | None = None) -> None:
        self._router = router
        self._config = config or RoutingConfig()
        self._guard = LoopGuard(self._config.max_same_action_repeats)
        self._history: deque[ActionSummary] = deque(maxlen=HISTORY)
        self._steps = 0
        self._fallbacks = 0

    @property
    def steps(self) -> int:
        """Decisions asked for so far."""
        return self._steps

    @property
    def consecutive_fallbacks(self) -> int:
        """Abstentions of the router since its last choice or the last executed action."""
        return self._fallbacks

    @property
    def history(self) -> tuple[ActionSummary, ...]:
        """The executed actions, oldest first, at most 64."""
        return tuple(self._history)

    async def route(self, state: HarnessState, tools: Sequence[ToolDescriptor]) -> RouteDecision:
        """As the router's, or an abstention of the session's own.

        Its reasons: "max_route_steps"; "consecutive_fallbacks" (the router is not asked any more
        until an action was executed or ``reset_fallbacks`` was called); "loop_repeat" and
        "loop_alternation" (the chosen tool would close a loop if it did what it did the last
        time; the probabilities are kept).

        Raises:
            Exception: what the router raises; counted as a fallback.
        """
        if self._steps >= self._config.max_route_steps:
            return RouteDecision.fallback_to_planner("max_route_steps")
        if self._fallbacks >= self._config.max_consecutive_fallbacks:
            return RouteDecision.fallback_to_planner("consecutive_fallbacks")
        self._steps += 1
        try:
            decision = self._guarded(await self._router.route(state, tools))
        except Exception:
            self._fallbacks += 1
            raise
        self._fallbacks = self._fallbacks + 1 if decision.fallback else 0
        return decision

    def record_execution(
        self,
        tool: str,
        *,
        arguments: Mapping[str, Any] | None = None,
        result_class: str | None = None,
        outcome: str | None = None,
    ) -> bool:
        """Note an executed action; True if it closes a loop.

        Args:
            tool: its name.
            arguments: what it was called with; kept as a digest only.
            result_class: kind of result, e.g. "ok" or "error".
            outcome: the result in words, for later decisions; None: ``result_class``.
        """
        digest = hash_of_arguments(arguments)
        self._history.append(ActionSummary(tool, outcome or result_class or "done", digest))
        self._fallbacks = 0
        return self._guard.record(Action(tool, digest, result_class)) is not None

    def reset_fallbacks(self) -> None:
        """Ask the router again after ``max_consecutive_fallbacks``."""
        self._fallbacks = 0

    def state(
        self, goal: str, observation: str | None = None, constraints: Sequence[str] = ()
    ) -> HarnessState:
        """A state with this session's history."""
        last = self._history[-1].tool if self._history else None
        return HarnessState(goal, observation, last, self.history, constraints)

    def _guarded(self, decision: RouteDecision) -> RouteDecision:
        if decision.tool is None:
            return decision
        loop = self._guard.would_close(decision.tool)
        if loop is None:
            return decision
        return replace(decision, tool=None, fallback=True, fallback_reason=f"loop_{loop}")
