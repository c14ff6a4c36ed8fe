"""Execution policy: may a chosen tool run? Selection never says so, and never asks here."""

import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, Protocol

from mcts_core.errors import ConfigError
from router.models import RiskLevel, RouteDecision, ToolDescriptor

__all__ = ["DefaultExecutionPolicy", "ExecutionPolicy", "PolicyVerdict", "Treatment"]

log = logging.getLogger("harness_router.policy")

Treatment = Literal["allow", "ask", "refuse"]
Approve = Callable[[RouteDecision, ToolDescriptor], bool | Awaitable[bool]]

DEFAULTS: Final[Mapping[RiskLevel, Treatment]] = {
    RiskLevel.LOW: "allow",
    RiskLevel.MEDIUM: "allow",
    RiskLevel.HIGH: "ask",
    RiskLevel.CRITICAL: "refuse",
}


@dataclass(frozen=True, slots=True)
class PolicyVerdict:
    """May the tool run, and why: a short stable name."""

    allowed: bool
    reason: str


class ExecutionPolicy(Protocol):
    """Anything that says whether a chosen tool may run."""

    async def allow(self, decision: RouteDecision, tool: ToolDescriptor) -> bool:
        """May ``tool`` run?"""


class DefaultExecutionPolicy:
    """Low and medium risk may run, high risk if ``approve`` says so, critical risk never.

    How sure a decision is plays no part: the surest choice of a risky tool is still risky. A host
    with permissions of its own asks those, after this or instead of it.

    Args:
        approve: asked about tools that are treated with "ask"; sync or async. None: they may not
            run. One that raises has not approved.
        treatment: risk -> "allow", "ask" or "refuse", in place of the above for the risks named.

    Raises:
        ConfigError: an unknown treatment.
    """

    def __init__(
        self,
        approve: Approve | None = None,
        treatment: Mapping[RiskLevel, Treatment] | None = None,
    ) -> None:
        self._approve = approve
        self._treatment = {**DEFAULTS, **(treatment or {})}
        for risk, treated in self._treatment.items():
            if treated not in ("allow", "ask", "refuse"):
                raise ConfigError(f"treatment[{risk}]", treated, "allow, ask or refuse")

    async def allow(self, decision: RouteDecision, tool: ToolDescriptor) -> bool:
        """As ``decide``, without the reason."""
        return (await self.decide(decision, tool)).allowed

    async def decide(self, decision: RouteDecision, tool: ToolDescriptor) -> PolicyVerdict:
        """May ``tool`` run? Reasons: "no_decision" (it abstained), "other_tool" (it named another
        one), "risk_allowed", "risk_refused", "approved", "not_approved", "nobody_to_ask".
        """
        if decision.tool is None or decision.fallback:
            return PolicyVerdict(False, "no_decision")
        if decision.tool != tool.name:
            return PolicyVerdict(False, "other_tool")
        treated = self._treatment[tool.risk]
        if treated != "ask":
            return PolicyVerdict(treated == "allow", f"risk_{treated.rstrip('e')}ed")
        if self._approve is None:
            return PolicyVerdict(False, "nobody_to_ask")
        approved = await self._asked(self._approve, decision, tool)
        return PolicyVerdict(approved, "approved" if approved else "not_approved")

    @staticmethod
    async def _asked(approve: Approve, decision: RouteDecision, tool: ToolDescriptor) -> bool:
        try:
            answer = approve(decision, tool)
            given = await answer if inspect.isawaitable(answer) else answer
        except Exception as error:  # what cannot be asked has not approved
            log.warning("approval of %s failed: %s", tool.name, type(error).__name__)
            return False
        return given is True  # nothing else is a yes
