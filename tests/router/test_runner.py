"""HarnessRunner: the four ends of a decision, and an adapter that breaks its contract."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from router.config import RoutingConfig
from router.errors import RouterError
from router.models import HarnessState, RiskLevel, RouteDecision, ToolDescriptor
from router.policy import DefaultExecutionPolicy
from router.runner import (
    HarnessAdapter,
    HarnessRunner,
    HarnessToolCall,
    HarnessToolResult,
    UnexpectedToolSelection,
)
from router.session import RoutingSession
from tests.router.test_session import Told

READ = ToolDescriptor("read", "Read a file", risk=RiskLevel.LOW)
EDIT = ToolDescriptor("edit", "Edit a file")
DROP = ToolDescriptor("drop", "Drop a table", risk=RiskLevel.HIGH)
TOOLS = (READ, EDIT, DROP)


class Scripted:
    """An adapter that notes what is done to it; its goal is reached after ``done_after`` calls."""

    name = "scripted"

    def __init__(self, done_after: int = 2, *, writes: str | None = None) -> None:
        self.done_after = done_after
        self.writes = writes
        self.offers: list[Sequence[ToolDescriptor]] = [TOOLS]
        self.ran: list[HarnessToolCall] = []
        self.seen: list[HarnessState] = []
        self.planned: list[HarnessState] = []
        self.closed = 0
        self.broken: Exception | None = None

    async def get_tools(self) -> Sequence[ToolDescriptor]:
        return self.offers.pop(0) if len(self.offers) > 1 else self.offers[0]

    async def generate_tool_call(
        self, state: HarnessState, tool: ToolDescriptor
    ) -> HarnessToolCall:
        self.seen.append(state)
        return HarnessToolCall(self.writes or tool.name, {"n": len(self.seen)})

    async def execute_tool(self, call: HarnessToolCall, tool: ToolDescriptor) -> HarnessToolResult:
        if self.broken is not None:
            raise self.broken
        self.ran.append(call)
        done = len(self.ran) >= self.done_after
        return HarnessToolResult(f"saw {len(self.ran)}", raw="reached", done=done)

    async def planner_fallback(self, state: HarnessState, tools: Sequence[ToolDescriptor]) -> str:
        self.planned.append(state)
        return "planned"

    async def close(self) -> None:
        self.closed += 1


def run(adapter: Scripted, *answers: Any, **settings: Any) -> tuple[Any, HarnessRunner]:
    routing = RoutingSession(Told(*answers), RoutingConfig())
    host: HarnessAdapter = adapter
    runner = HarnessRunner(routing, host, **settings)
    return asyncio.run(runner.run("fix it", constraints=["offline"])), runner


def test_choices_run_until_the_goal_is_reached() -> None:
    adapter = Scripted()
    result, runner = run(adapter, "read", "edit")
    assert (result, runner.stopped_by, adapter.closed) == ("reached", None, 1)
    assert [call.tool for call in adapter.ran] == ["read", "edit"]
    second = adapter.seen[1]
    assert (second.last_action, second.observation) == ("read", "saw 1")
    assert [(a.tool, a.outcome) for a in second.recent_actions] == [("read", "saw 1")]
    assert second.constraints == ("offline",)


def test_an_abstention_hands_over_to_the_planner_with_all_that_was_seen() -> None:
    adapter = Scripted()
    result, runner = run(adapter, "read", None)
    assert (result, runner.stopped_by, adapter.closed) == ("planned", "low_confidence", 1)
    assert adapter.planned[0].observation == "saw 1"
    assert runner.last_decision is not None
    assert runner.last_decision.fallback


def test_what_the_policy_refuses_does_not_run() -> None:
    adapter = Scripted()
    result, runner = run(adapter, "drop")
    assert (result, runner.stopped_by, adapter.ran) == ("planned", "not_allowed", [])
    permitted = Scripted(done_after=1)
    policy = DefaultExecutionPolicy(approve=lambda decision, tool: tool.name == "drop")
    assert run(permitted, "drop", execution_policy=policy)[0] == "reached"


def test_a_tool_that_is_gone_when_it_is_about_to_run_does_not_run() -> None:
    adapter = Scripted()
    adapter.offers = [TOOLS, (EDIT,)]
    result, runner = run(adapter, "read")
    assert (result, runner.stopped_by, adapter.ran) == ("planned", "stale_tool", [])


def test_a_tool_whose_meaning_changed_meanwhile_does_not_run() -> None:
    adapter = Scripted()
    adapter.offers = [TOOLS, (ToolDescriptor("read", "Read it, then delete it"), EDIT)]
    assert run(adapter, "read")[1].stopped_by == "stale_tool"
    assert adapter.ran == []


def test_a_choice_that_was_never_on_offer_does_not_run() -> None:
    adapter = Scripted()
    result, runner = run(adapter, "format_disk")
    assert (result, runner.stopped_by, adapter.ran) == ("planned", "stale_tool", [])


def test_a_call_of_another_tool_is_an_error_and_nothing_runs() -> None:
    adapter = Scripted(writes="drop")
    with pytest.raises(UnexpectedToolSelection, match="got a call of 'drop', wanted 'read'"):
        run(adapter, "read")
    assert (adapter.ran, adapter.closed) == ([], 1)


def test_no_tools_is_for_the_planner() -> None:
    adapter = Scripted()
    adapter.offers = [()]
    assert run(adapter, "read")[1].stopped_by == "no_tools"


def test_the_routers_errors_hand_over_and_the_adapters_are_its_own() -> None:
    adapter = Scripted()
    result, runner = run(adapter, RouterError("broken"))
    assert (result, runner.stopped_by, adapter.closed) == ("planned", "router_error", 1)
    failing = Scripted()
    failing.broken = OSError("disk full")
    with pytest.raises(OSError, match="disk full"):
        run(failing, "read")
    assert failing.closed == 1


def test_a_loop_ends_at_the_planner() -> None:
    class Forgetful(Scripted):
        async def generate_tool_call(
            self, state: HarnessState, tool: ToolDescriptor
        ) -> HarnessToolCall:
            return HarnessToolCall(tool.name, {"path": "a"})

    adapter = Forgetful(done_after=99)
    result, runner = run(adapter, "read")
    assert (result, runner.stopped_by) == ("planned", "loop_repeat")
    assert len(adapter.ran) == 2


def test_the_last_decision_is_there_for_the_planner() -> None:
    class Curious(Scripted):
        runner: HarnessRunner

        async def planner_fallback(
            self, state: HarnessState, tools: Sequence[ToolDescriptor]
        ) -> str:
            decision = self.runner.last_decision
            assert isinstance(decision, RouteDecision)
            return str(decision.fallback_reason)

    adapter = Curious()
    adapter.runner = HarnessRunner(RoutingSession(Told(None)), adapter)
    assert asyncio.run(adapter.runner.run("fix it")) == "low_confidence"
