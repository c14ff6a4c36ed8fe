"""The local selector: one decision over 10 to 4,000 tools with a new goal each time, and its index.

    python -m pytest benchmarks/test_local_route.py --benchmark-only

Bars: median below 0.3 ms for 10 tools and below 5 ms for 4,000, index kept.
"""

import itertools
from typing import Any

import pytest

from experiments.tool_choice.data import load_cases
from router.models import ActionSummary, HarnessState, ToolDescriptor
from router.selectors.local import LexicalSelector

VERBS = (
    *("create", "list", "delete", "update", "archive", "export", "count", "share", "read", "send"),
    *("search", "merge", "rename", "restore", "validate", "schedule", "cancel", "convert"),
    *("compare", "publish"),
)
NOUNS = (
    *("invoice", "order", "customer", "ticket", "project", "branch", "page", "channel", "message"),
    *("sensor", "route", "recipe", "survey", "contract", "device", "photo", "event", "budget"),
    *("report", "schema"),
)
PLACES = ("account", "team", "workspace", "region", "store", "archive", "mailbox", "server")
MANNERS = ("draft", "public")


def tools_on_offer(count: int) -> tuple[ToolDescriptor, ...]:
    names = itertools.product(MANNERS, PLACES, VERBS, NOUNS)
    picked = itertools.islice(names, 0, None, 6_400 // count)
    return tuple(
        ToolDescriptor(
            f"{verb}_{manner}_{noun}_{place}",
            f"{verb.capitalize()} a {manner} {noun} of the {place}, by its identifier or its name; "
            f"gives the {noun} as it is afterwards.",
            schema={"properties": {f"{noun}_id": {}, "name": {}, f"{place}_id": {}, "limit": {}}},
        )
        for manner, place, verb, noun in itertools.islice(picked, count)
    )


def states() -> "itertools.cycle[HarnessState]":
    """Goals of some 20 words, no two alike for a long time, in the middle of a session."""
    recent = [ActionSummary("search_draft_order_team", "ok"), ActionSummary("read", "failed")]
    made = [
        HarnessState(
            f"Please {verb} the {noun} number {k} of our {place}, and after that {other} the "
            f"'{noun} of May' for customer {k + 7} at $40 until 2026-05-{k % 28 + 1:02d}",
            observation=f"the {noun} was found under data/{place}/{k}.json",
            recent_actions=recent,
        )
        for k, (verb, noun, place, other) in enumerate(
            itertools.product(VERBS, NOUNS, PLACES, ("compare", "publish", "count"))
        )
    ]
    return itertools.cycle(made[::7] + made[1::7])


@pytest.mark.parametrize("count", [10, 100, 4_000])
def test_decision(benchmark: Any, count: int) -> None:
    benchmark.group = "local route, one decision"
    selector, tools, goals = LexicalSelector(), tools_on_offer(count), states()
    assert len(tools) == count
    selector.select_now(next(goals), tools)
    selection = benchmark.pedantic(
        selector.select_now, setup=lambda: ((next(goals), tools), {}), rounds=300, warmup_rounds=20
    )
    assert len(selection.probabilities) == count


@pytest.mark.parametrize("count", [10, 100, 4_000])
def test_shortlist(benchmark: Any, count: int) -> None:
    benchmark.group = "local route, shortlist of 64"
    selector, tools, goals = LexicalSelector(), tools_on_offer(count), states()
    selector.select_now(next(goals), tools)
    found = benchmark.pedantic(
        selector.shortlist, setup=lambda: ((next(goals), tools, 64), {}), rounds=100
    )
    assert len(found) == min(count, 64)


@pytest.mark.parametrize("count", [10, 100, 4_000])
def test_index(benchmark: Any, count: int) -> None:
    benchmark.group = "local route, first decision over a new list"
    tools, state = tools_on_offer(count), next(states())
    rounds = 5 if count > 1_000 else 50
    selection = benchmark.pedantic(
        lambda: LexicalSelector().select_now(state, tools), rounds=rounds, warmup_rounds=1
    )
    assert len(selection.probabilities) == count


def test_agents_at_work(benchmark: Any) -> None:
    """States of our own agent cases (experiments/tool_choice), each once, 9 or 10 tools."""
    benchmark.group = "local route, one decision"
    cases = [case for case in load_cases() if len(case.tools) in (9, 10)]
    cases.sort(key=lambda case: case.tools[0].name)
    selector, order = LexicalSelector(), itertools.cycle(cases)
    for case in cases:
        selector.select_now(HarnessState("warm up"), case.tools)

    def following() -> tuple[tuple[HarnessState, tuple[ToolDescriptor, ...]], dict[str, Any]]:
        case = next(order)
        return (case.state, case.tools), {}

    selection = benchmark.pedantic(selector.select_now, setup=following, rounds=len(cases))
    assert selection.probabilities
