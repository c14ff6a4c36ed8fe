"""JevToolRouter: who decides, what a provider may do to it, and what is remembered."""

import asyncio
import math
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, get_args

import pytest

from router.config import RoutingConfig
from router.errors import ProviderError, ProviderErrorKind, RouterError, ToolListError
from router.models import (
    ActionSummary,
    ChoiceDecision,
    HarnessState,
    RiskLevel,
    RouteDecision,
    RoutingMode,
    ToolDescriptor,
    Usage,
)
from router.providers import MockProvider, MockQuestion, sure_of
from router.tool_router import JevToolRouter
from tests.router.fixed_selector import Fixed

STATE = HarnessState("Fix the failing parser test", "Failure points to src/parser.py")
READ = ToolDescriptor("read_file", "Read a repository file", "inspect", RiskLevel.LOW)
SEARCH = ToolDescriptor("search_code", "Search repository source", "inspect", RiskLevel.LOW)
WRITE = ToolDescriptor("write_file", "Replace a repository file", "mutate")
TOOLS = (READ, SEARCH, WRITE)
NONE = "none_of_these"


def route(
    provider: Any = None,
    tools: Sequence[ToolDescriptor] = TOOLS,
    *,
    state: HarnessState = STATE,
    local: Fixed | None = None,
    deadline: float | None = None,
    **settings: Any,
) -> RouteDecision:
    router = JevToolRouter(
        provider, RoutingConfig(**settings), selector=local or Fixed({"read_file": 0.9})
    )
    return asyncio.run(router.route(state, tools, deadline=deadline))


def test_a_sure_provider_names_the_tool() -> None:
    provider = MockProvider(sure_of("read_file", 0.93))
    found = route(provider)
    assert (found.tool, found.category, found.fallback) == ("read_file", "inspect", False)
    assert (found.source, found.provider_error) == ("jev", None)
    assert found.confidence == pytest.approx(0.93)
    assert found.margin == pytest.approx(0.93 - 0.07 / 3)
    assert math.fsum(found.probabilities.values()) + (found.none_fits or 0) == pytest.approx(1.0)
    assert list(found.probabilities) == [tool.name for tool in TOOLS]
    assert found.version == "mock:mock-1/p1/uncalibrated@mock-1"
    assert found.latency_ms is not None
    assert found.latency_ms >= 0.0


def test_the_question_holds_state_tools_and_none_of_these() -> None:
    provider = MockProvider(sure_of("read_file", 0.93))
    state = HarnessState(
        "fix it", None, "run_tests", (ActionSummary("run_tests", "1 failed", "ab12"),), ("offline",)
    )
    route(provider, state=state)
    (asked,) = provider.questions
    assert asked.state == {
        "goal": "fix it",
        "last_action": "run_tests",
        "recent_actions": [{"tool": "run_tests", "outcome": "1 failed"}],
        "constraints": ["offline"],
    }
    assert list(asked.criteria) == ["read_file", "search_code", "write_file", NONE]
    assert asked.criteria["read_file"] == "[inspect, low risk] Read a repository file"
    assert "`goal`" in asked.instructions


def test_long_texts_are_cut_to_beginning_and_end() -> None:
    provider = MockProvider(sure_of("read_file", 0.93))
    state = HarnessState("g" * 5000, "start " + "x" * 90_000 + " the end", constraints=["c"] * 9)
    tools = (replace(READ, description="word " * 9000), SEARCH)
    route(provider, tools, state=state, state_field_limit=100, description_limit=40)
    (asked,) = provider.questions
    assert isinstance(asked.state, dict)
    assert len(asked.state["goal"]) == 100
    assert asked.state["observation"].startswith("start")
    assert asked.state["observation"].endswith("the end")
    assert len(asked.state["constraints"]) == 4
    assert len(str(asked.criteria["read_file"])) == 40


def test_a_tool_named_like_the_none_option_keeps_its_name() -> None:
    provider = MockProvider(sure_of(NONE))
    found = route(provider, (replace(READ, name=NONE), SEARCH))
    assert found.tool == NONE
    assert list(provider.questions[0].criteria) == [NONE, "search_code", f"{NONE}_"]


def test_none_fits_abstains_with_its_probability() -> None:
    found = route(MockProvider(sure_of(NONE, 0.7)))
    assert (found.tool, found.fallback_reason) == (None, "no_matching_tool")
    assert found.none_fits == pytest.approx(0.7)
    assert found.source == "jev"


def test_hybrid_asks_the_planner_between_the_thresholds_and_jev_only_does_not() -> None:
    hybrid = route(MockProvider(sure_of("read_file", 0.7)))
    assert (hybrid.tool, hybrid.fallback_reason) == (None, "planner_confirmation")
    assert hybrid.probabilities["read_file"] == pytest.approx(0.7)
    assert route(MockProvider(sure_of("read_file", 0.7)), mode="jev_only").tool == "read_file"
    low = route(MockProvider(sure_of("read_file", 0.5)), mode="jev_only")
    assert low.fallback_reason == "low_confidence"


def test_an_answer_without_probabilities_is_unknown_not_sure() -> None:
    found = route(MockProvider(ChoiceDecision("read_file")))
    assert (found.tool, found.fallback_reason) == (None, "unknown_confidence")
    assert (found.probabilities, found.none_fits, found.margin) == ({}, None, None)


def test_without_a_provider_the_local_selector_decides() -> None:
    found = route(None)
    assert (found.tool, found.source, found.confidence) == ("read_file", "local", 0.9)


def test_where_nobody_has_to_be_waited_for_no_event_loop_is_needed() -> None:
    alone = JevToolRouter(selector=Fixed({"read_file": 0.9}))
    now, later = alone.route_now(STATE, TOOLS), asyncio.run(alone.route(STATE, TOOLS))
    assert replace(now, latency_ms=0.0) == replace(later, latency_ms=0.0)
    assert alone.route_now(STATE, ()).fallback_reason == "no_tools"
    with pytest.raises(RouterError, match="route_now: got a router with a provider"):
        JevToolRouter(MockProvider(sure_of("read_file"))).route_now(STATE, TOOLS)


def test_a_local_selector_that_fails_is_an_abstention() -> None:
    class Broken(Fixed):
        def select_now(self, state: HarnessState, tools: Sequence[ToolDescriptor]) -> Any:
            raise OSError("weights")

        def shortlist(self, *_: object) -> Any:
            raise OSError("weights")

    found = route(None, local=Broken({}))
    assert (found.tool, found.fallback_reason, found.source) == (None, "selector_error", "none")
    down = route(MockProvider(ProviderError("down", kind="connection")), local=Broken({}))
    assert (down.fallback_reason, down.provider_error) == ("provider_error", "connection")
    large = route(MockProvider(sure_of("tool_3")), many(100), local=Broken({}))
    assert (large.fallback_reason, large.provider_error) == ("selector_error", None)


def test_the_planner_only_mode_needs_nobody() -> None:
    local = Fixed({"read_file": 1.0})
    found = route(None, local=local, mode=RoutingMode.PLANNER_ONLY)
    assert (found.tool, found.fallback_reason, local.selected) == (None, "planner_only", 0)


def test_jev_only_wants_a_provider() -> None:
    with pytest.raises(RouterError, match="provider: got None"):
        route(None, mode="jev_only")


def test_no_tools_is_an_abstention() -> None:
    assert route(MockProvider(sure_of("x")), ()).fallback_reason == "no_tools"


@pytest.mark.parametrize("name", ["", "  ", "search_code"])
def test_unusable_names_are_refused_by_place(name: str) -> None:
    with pytest.raises(ToolListError, match=r"tools\[1\].name: got"):
        route(None, (SEARCH, replace(READ, name=name)))


@pytest.mark.parametrize(
    ("risk", "asked"), [("low", 0), ("medium", 0), ("high", 1), ("critical", 1)]
)
def test_one_tool_is_obvious_unless_it_is_risky(risk: str, asked: int) -> None:
    provider = MockProvider(sure_of("read_file", 0.95))
    found = route(provider, (replace(READ, risk=RiskLevel(risk)),))
    assert found.tool == "read_file"
    assert len(provider.questions) == asked
    assert found.source == ("jev" if asked else "obvious")


@pytest.mark.parametrize("kind", get_args(ProviderErrorKind))
def test_the_local_selector_stands_in_for_every_kind_of_failure(kind: ProviderErrorKind) -> None:
    found = route(MockProvider(ProviderError("down", kind=kind)))
    if kind == "saturated":  # in a flood nobody has the time to stand in
        assert (found.fallback_reason, found.provider_error) == ("provider_error", kind)
        return
    assert (found.tool, found.source, found.provider_error) == ("read_file", "local", kind)
    unsure = route(MockProvider(ProviderError("down", kind=kind)), local=Fixed({"read_file": 0.7}))
    reason = "planner_confirmation" if kind == "no_key" else "provider_error"
    assert (unsure.tool, unsure.fallback_reason) == (None, reason)
    assert unsure.provider_error == kind


@pytest.mark.parametrize("kind", get_args(ProviderErrorKind))
def test_jev_only_raises_every_kind_of_failure(kind: ProviderErrorKind) -> None:
    with pytest.raises(ProviderError) as caught:
        route(MockProvider(ProviderError("down", kind=kind)), mode="jev_only")
    assert caught.value.kind == kind


BROKEN: dict[str, ChoiceDecision | Exception] = {
    "an option never offered": ChoiceDecision("rm_rf", {"rm_rf": 1.0}),
    "no none option": ChoiceDecision("read_file", {t.name: 1 / 3 for t in TOOLS}),
    "NaN": ChoiceDecision(
        "read_file", {"read_file": math.nan, "search_code": 0.1, "write_file": 0.1, NONE: 0.1}
    ),
    "a negative": ChoiceDecision(
        "read_file", {"read_file": 1.2, "search_code": -0.2, "write_file": 0.0, NONE: 0.0}
    ),
    "no sum of one": ChoiceDecision(
        "read_file", {"read_file": 0.5, "search_code": 0.1, "write_file": 0.1, NONE: 0.1}
    ),
    "not its own best": ChoiceDecision(
        "read_file", {"read_file": 0.1, "search_code": 0.7, "write_file": 0.1, NONE: 0.1}
    ),
    "a bug": ZeroDivisionError("secret-key-0123"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_breaks_the_contract_is_a_failure_not_a_decision(name: str) -> None:
    found = route(MockProvider(BROKEN[name]))
    assert (found.tool, found.source) == ("read_file", "local")
    assert found.provider_error == "invalid_response"
    with pytest.raises(ProviderError) as caught:
        route(MockProvider(BROKEN[name]), mode="jev_only")
    assert "secret" not in str(caught.value)
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None


def test_a_provider_that_hangs_is_left_at_the_deadline() -> None:
    found = asyncio.run(asyncio.wait_for(_hang(), 60))
    assert found.provider_error == "timeout"
    # On a busy machine the little time that is kept back for the stand-in may be gone.
    assert (found.tool, found.source) in (("read_file", "local"), (None, "none"))


def hanging() -> MockProvider:
    async def pause(question: MockQuestion) -> None:
        await asyncio.Event().wait()

    return MockProvider(sure_of("read_file"), pause=pause, timeout_seconds=0.05)


async def _hang() -> RouteDecision:
    router = JevToolRouter(hanging(), selector=Fixed({"read_file": 0.9}))
    return await router.route(STATE, TOOLS)


def test_a_deadline_that_is_no_number_leaves_the_providers_own_limit() -> None:
    async def run() -> RouteDecision:
        router = JevToolRouter(hanging(), selector=Fixed({"read_file": 0.9}))
        wanted = router.route(STATE, TOOLS, deadline=float("nan"))
        return await asyncio.wait_for(wanted, 10)

    assert asyncio.run(run()).provider_error == "timeout"


def test_where_no_time_is_left_it_abstains_and_says_why() -> None:
    found = route(hanging(), deadline=time.monotonic() - 1.0)
    assert (found.tool, found.fallback_reason) == (None, "provider_error")
    assert (found.provider_error, found.source) == ("timeout", "none")


def test_the_same_question_is_asked_once() -> None:
    provider = MockProvider(sure_of("read_file", 0.93))
    router = JevToolRouter(provider, selector=Fixed({}))

    async def twice() -> list[RouteDecision]:
        return [await router.route(STATE, TOOLS), await router.route(STATE, TOOLS)]

    first, second = asyncio.run(twice())
    assert (first.source, second.source, provider.requests_made) == ("jev", "cache", 1)
    assert replace(first, source="cache", latency_ms=0.0) == replace(second, latency_ms=0.0)


def test_another_observation_is_another_question() -> None:
    provider = MockProvider(sure_of("read_file", 0.93), sure_of("search_code"))
    router = JevToolRouter(provider, selector=Fixed({}))

    async def twice() -> list[str | None]:
        found = [
            await router.route(state, TOOLS) for state in (STATE, replace(STATE, observation="?"))
        ]
        return [decision.tool for decision in found]

    assert asyncio.run(twice()) == ["read_file", "search_code"]


def test_neither_failures_nor_stand_ins_are_remembered() -> None:
    provider = MockProvider(
        ProviderError("down", kind="overloaded"),
        ChoiceDecision("read_file"),
        sure_of("read_file", 0.93),
    )
    router = JevToolRouter(provider, selector=Fixed({"search_code": 0.99}))

    async def thrice() -> list[str]:
        return [(await router.route(STATE, TOOLS)).source for _ in range(4)]

    assert asyncio.run(thrice()) == ["local", "jev", "jev", "cache"]


def test_an_answer_that_comes_late_is_kept_for_the_next_time() -> None:
    provider = MockProvider(ProviderError("slow", kind="timeout"))
    router = JevToolRouter(provider, selector=Fixed({"search_code": 0.99}))
    first = asyncio.run(router.route(STATE, TOOLS))
    asked = provider.questions[0]
    assert asked.on_late is not None
    asked.on_late(sure_of("read_file", 0.93)(asked))
    second = asyncio.run(router.route(STATE, TOOLS))
    assert (first.tool, first.source) == ("search_code", "local")
    assert (second.tool, second.source, provider.requests_made) == ("read_file", "cache", 1)


def test_a_changed_threshold_needs_no_new_answer(tmp_path: Any) -> None:
    path = str(tmp_path / "cache.db")
    provider = MockProvider(sure_of("read_file", 0.7))
    strict = JevToolRouter(provider, RoutingConfig(cache_path=path), selector=Fixed({}))
    loose = JevToolRouter(
        provider,
        RoutingConfig(cache_path=path, direct_execution_threshold=0.65),
        selector=Fixed({}),
    )
    assert asyncio.run(strict.route(STATE, TOOLS)).fallback_reason == "planner_confirmation"
    again = asyncio.run(loose.route(STATE, TOOLS))
    assert (again.tool, again.source, provider.requests_made) == ("read_file", "cache", 1)
    strict.close()
    loose.close()


def test_every_decision_is_told_to_who_keeps_records() -> None:
    kept: list[RouteDecision] = []

    def keep(state: HarnessState, tools: Sequence[ToolDescriptor], decision: RouteDecision) -> str:
        assert (state, tools) == (STATE, TOOLS)
        kept.append(decision)
        return f"id-{len(kept)}"

    router = JevToolRouter(selector=Fixed({"read_file": 0.7}), record=keep)
    assert router.route_now(STATE, TOOLS).record_id == "id-1"
    assert asyncio.run(router.route(STATE, TOOLS)).record_id == "id-2"
    assert [decision.fallback_reason for decision in kept] == ["planner_confirmation"] * 2


def many(count: int) -> list[ToolDescriptor]:
    kinds = ("inspect", "mutate", "verify", "network")
    return [
        ToolDescriptor(f"tool_{i}", f"Does thing {i} " + "word " * 30, kinds[i % len(kinds)])
        for i in range(count)
    ]


def test_of_a_large_registry_the_provider_sees_the_likely_tools() -> None:
    tools = many(1000)
    local = Fixed({f"tool_{i}": 1.0 / (i + 1) for i in range(400, 460)})
    provider = MockProvider(sure_of("tool_401"))
    found = route(provider, tools, local=local, shortlist_size=20)
    assert found.tool == "tool_401"
    assert set(provider.questions[0].criteria) == {NONE, *(f"tool_{i}" for i in range(400, 420))}
    assert len(found.probabilities) == 1000
    assert found.probabilities["tool_999"] == 0.0
    assert "20 most likely of 1000" in found.why[-1]


def test_many_categories_are_asked_about_first_where_that_saves_input() -> None:
    tools = many(40)
    provider = MockProvider(sure_of("verify", 0.95), sure_of("tool_6", 0.95))
    found = route(provider, tools, direct_execution_threshold=0.9)
    first, second = provider.questions
    assert list(first.criteria) == ["inspect", "mutate", "verify", "network", NONE]
    assert list(second.criteria) == [*(f"tool_{i}" for i in range(2, 40, 4)), NONE]
    assert found.tool == "tool_6"
    assert found.confidence == pytest.approx(0.95 * 0.95)
    assert found.none_fits == pytest.approx(0.05 / 4 + 0.95 * 0.05 / 10)
    assert math.fsum((*found.probabilities.values(), found.none_fits or 0.0)) == pytest.approx(1.0)
    assert found.probabilities["tool_0"] == pytest.approx(0.05 / 4 / 10)


def test_no_matching_category_ends_it_with_one_call() -> None:
    provider = MockProvider(sure_of(NONE, 0.8))
    found = route(provider, many(40))
    assert (found.fallback_reason, provider.requests_made) == ("no_matching_tool", 1)
    assert found.none_fits == pytest.approx(0.8)


@pytest.mark.parametrize(
    "settings", [{"hierarchical_threshold": 40}, {"hierarchical_min_savings": 1.0}]
)
def test_otherwise_all_tools_are_asked_about_at_once(settings: dict[str, Any]) -> None:
    provider = MockProvider(sure_of("tool_6", 0.95))
    assert route(provider, many(40), **settings).tool == "tool_6"
    assert len(provider.questions[0].criteria) == 41


def test_what_two_calls_took_is_told_together() -> None:
    def counted(name: str) -> Any:
        answer = sure_of(name, 0.97)
        return lambda question: replace(answer(question), usage=Usage(100, 5, 1e-6), latency_ms=2.0)

    found = route(MockProvider(counted("verify"), counted("tool_6")), many(40))
    assert found.answer is not None
    assert found.answer.usage == Usage(200, 10, 2e-6)
    assert found.answer.latency_ms == 4.0
