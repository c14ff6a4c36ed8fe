"""Execution policy: what may run, whatever was chosen and however surely."""

import asyncio
from typing import Any

import pytest

from mcts_core.errors import ConfigError
from router.models import RiskLevel, RouteDecision, ToolDescriptor
from router.policy import DefaultExecutionPolicy, ExecutionPolicy, PolicyVerdict

SURE = RouteDecision(tool="t", confidence=1.0)


def tool(risk: str, name: str = "t") -> ToolDescriptor:
    return ToolDescriptor(name, "does it", risk=RiskLevel(risk))


def verdict(risk: str, decision: RouteDecision = SURE, **settings: Any) -> tuple[bool, str]:
    policy = DefaultExecutionPolicy(**settings)
    found = asyncio.run(policy.decide(decision, tool(risk)))
    assert asyncio.run(policy.allow(decision, tool(risk))) == found.allowed
    return found.allowed, found.reason


@pytest.mark.parametrize(
    ("risk", "wanted"),
    [
        ("low", (True, "risk_allowed")),
        ("medium", (True, "risk_allowed")),
        ("high", (False, "nobody_to_ask")),
        ("critical", (False, "risk_refused")),
    ],
)
def test_risk_decides_and_certainty_does_not(risk: str, wanted: tuple[bool, str]) -> None:
    assert verdict(risk) == wanted
    assert verdict(risk, RouteDecision(tool="t", confidence=0.01)) == wanted


@pytest.mark.parametrize("answer", [True, False, None, 1, "yes"])
def test_only_true_is_a_yes(answer: Any) -> None:
    async def later(*_: object) -> Any:
        return answer

    wanted = (answer is True, "approved" if answer is True else "not_approved")
    assert verdict("high", approve=lambda *_: answer) == wanted
    assert verdict("high", approve=later) == wanted


def test_whoever_cannot_be_asked_has_not_approved(caplog: pytest.LogCaptureFixture) -> None:
    def broken(*_: object) -> bool:
        raise OSError("/home/me/secret")

    assert verdict("high", approve=broken) == (False, "not_approved")
    assert "OSError" in caplog.text
    assert "secret" not in caplog.text


def test_a_critical_tool_is_not_asked_about_unless_the_host_says_so() -> None:
    asked: list[str] = []

    def approve(_: RouteDecision, about: ToolDescriptor) -> bool:
        asked.append(about.name)
        return True

    assert verdict("critical", approve=approve) == (False, "risk_refused")
    assert not asked
    own = {RiskLevel.CRITICAL: "ask", RiskLevel.LOW: "refuse"}
    assert verdict("critical", approve=approve, treatment=own) == (True, "approved")
    assert verdict("low", approve=approve, treatment=own) == (False, "risk_refused")
    with pytest.raises(ConfigError, match="treatment"):
        DefaultExecutionPolicy(treatment={RiskLevel.LOW: "maybe"})  # type: ignore[dict-item]


def test_an_abstention_and_another_tools_decision_permit_nothing() -> None:
    assert verdict("low", RouteDecision.fallback_to_planner("x")) == (False, "no_decision")
    assert verdict("low", RouteDecision(tool="other")) == (False, "other_tool")
    assert verdict("low", RouteDecision(tool="t", fallback=True)) == (False, "no_decision")


def test_it_is_an_execution_policy() -> None:
    policy: ExecutionPolicy = DefaultExecutionPolicy()
    assert asyncio.run(policy.allow(SURE, tool("low")))
    assert PolicyVerdict(True, "x").allowed
