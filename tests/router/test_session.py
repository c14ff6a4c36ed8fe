"""RoutingSession: steps, loops, fallbacks in a row."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from router.config import RoutingConfig
from router.models import ActionSummary, HarnessState, RouteDecision, ToolDescriptor
from router.session import RoutingSession

TOOLS = tuple(ToolDescriptor(name, f"{name} it") for name in ("read", "edit", "test"))
STATE = HarnessState("fix it")


class Told:
    """A router that decides what it is told, the last thing for ever."""

    def __init__(self, *answers: str | Exception | None) -> None:
        self.answers = answers
        self.asked = 0

    async def route(self, state: HarnessState, tools: Sequence[ToolDescriptor]) -> RouteDecision:
        answer = self.answers[min(self.asked, len(self.answers) - 1)]
        self.asked += 1
        if isinstance(answer, Exception):
            raise answer
        if answer is None:
            return RouteDecision.fallback_to_planner("low_confidence")
        return RouteDecision(tool=answer, confidence=0.9, probabilities={answer: 0.9})


def session(*answers: str | Exception | None, **settings: Any) -> tuple[RoutingSession, Told]:
    told = Told(*answers)
    return RoutingSession(told, RoutingConfig(**settings)), told


def ask(routing: RoutingSession, times: int = 1) -> list[str | None]:
    async def run() -> list[str | None]:
        found = [await routing.route(STATE, TOOLS) for _ in range(times)]
        return [decision.tool or decision.fallback_reason for decision in found]

    return asyncio.run(run())


def test_a_session_has_a_last_step() -> None:
    routing, told = session("read", max_route_steps=3)
    assert ask(routing, 5) == ["read"] * 3 + ["max_route_steps"] * 2
    assert (routing.steps, told.asked) == (3, 3)


def test_after_fallbacks_in_a_row_the_router_is_left_alone() -> None:
    routing, told = session(None, "read", None, None, "read", max_consecutive_fallbacks=2)
    assert ask(routing, 6) == [
        "low_confidence",
        "read",
        "low_confidence",
        "low_confidence",
        "consecutive_fallbacks",
        "consecutive_fallbacks",
    ]
    assert (told.asked, routing.consecutive_fallbacks) == (4, 2)
    routing.record_execution("edit")
    assert ask(routing) == ["read"]


def test_the_circuit_can_be_closed_by_hand() -> None:
    routing, _ = session(None, max_consecutive_fallbacks=1)
    assert ask(routing, 2) == ["low_confidence", "consecutive_fallbacks"]
    routing.reset_fallbacks()
    assert ask(routing) == ["low_confidence"]


def test_a_router_that_raises_counts_as_a_fallback() -> None:
    routing, _ = session(OSError("down"), max_consecutive_fallbacks=1)
    with pytest.raises(OSError, match="down"):
        ask(routing)
    assert ask(routing) == ["consecutive_fallbacks"]


def test_a_choice_that_would_close_a_loop_is_an_abstention_that_keeps_its_numbers() -> None:
    routing, _ = session("read")
    for _ in range(2):
        assert not routing.record_execution("read", arguments={"path": "a"})
    decision = asyncio.run(routing.route(STATE, TOOLS))
    assert (decision.tool, decision.fallback_reason) == (None, "loop_repeat")
    assert decision.probabilities == {"read": 0.9}
    assert routing.record_execution("read", arguments={"path": "a"})


def test_reading_one_file_after_the_other_is_no_loop() -> None:
    routing, _ = session("read")
    for name in "abcdef":
        assert ask(routing) == ["read"]
        assert not routing.record_execution("read", arguments={"path": name}, result_class="ok")


def test_going_to_and_fro_is_a_loop() -> None:
    routing, _ = session("test")
    for tool in ("edit", "test", "edit"):
        routing.record_execution(tool, arguments={}, result_class="error")
    assert ask(routing) == ["loop_alternation"]


def test_the_history_reaches_the_next_state_without_arguments() -> None:
    routing, _ = session("read")
    routing.record_execution("read", arguments={"key": "secret"}, outcome="12 lines")
    routing.record_execution("edit", result_class="ok")
    state = routing.state("fix it", "saw it", ["offline"])
    assert [(a.tool, a.outcome) for a in state.recent_actions] == [
        ("read", "12 lines"),
        ("edit", "ok"),
    ]
    assert (state.last_action, state.observation) == ("edit", "saw it")
    assert "secret" not in repr(state)
    assert isinstance(state.recent_actions[0], ActionSummary)


def test_the_history_is_bounded() -> None:
    routing, _ = session("read")
    for i in range(1000):
        routing.record_execution("read", arguments={"i": i})
    assert len(routing.history) == 64


def test_concurrent_calls_never_pass_the_limit() -> None:
    routing, told = session("read", max_route_steps=5)

    async def run() -> list[RouteDecision]:
        return await asyncio.gather(*(routing.route(STATE, TOOLS) for _ in range(50)))

    assert sum(not decision.fallback for decision in asyncio.run(run())) == 5
    assert told.asked == 5
