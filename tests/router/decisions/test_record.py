"""The record of a decision: what it keeps, what counts as a win, and how it is gated anew."""

import os
import threading
import time
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from router.config import RoutingConfig
from router.decisions.errors import RecordConflictError, RecordFieldError
from router.decisions.ids import check_id, first_id, id_time, new_id
from router.decisions.options import OptionSets, option_set, options_from_json
from router.decisions.outcome import Outcome
from router.decisions.record import DecisionRecord, Fallback, Thresholds
from router.gate import pass_gate
from router.models import ChoiceDecision, RouteDecision, ToolDescriptor, Usage
from tests.router.decisions.samples import (
    PICK,
    PRIVATE,
    STATE,
    TOOLS,
    configs,
    forked,
    record,
    routed,
    selections,
    tool_lists,
)

GOOD = "01a23163e3ea77478e8bffe94d9e9b01"


def test_ids_sort_by_time_and_say_it() -> None:
    before = time.time()
    ids = [new_id() for _ in range(2000)]
    after = time.time()
    assert ids == sorted(set(ids))
    assert all(check_id(one) == one for one in ids)
    assert all(before - 0.001 <= id_time(one) <= after + 0.001 for one in ids)


def test_ids_of_many_threads_differ() -> None:
    found: list[str] = []
    threads = [
        threading.Thread(target=lambda: found.extend([new_id() for _ in range(500)]))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 2000


def test_a_clock_that_is_set_back_does_not_stop_the_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.time_ns()
    monkeypatch.setattr(time, "time_ns", lambda: now + 10**15)
    ahead = new_id()
    monkeypatch.setattr(time, "time_ns", lambda: now + 10**15 - 10**8)
    assert new_id() > ahead
    monkeypatch.undo()
    assert id_time(new_id()) < id_time(ahead) - 10**5


@given(st.floats(0, 4e9))
def test_the_first_id_of_a_moment_divides_the_ids(at: float) -> None:
    moment = id_time(first_id(at))
    assert at <= moment + 1e-6
    assert moment - at < 1e-5
    assert first_id(at) <= first_id(at + 0.001)


@pytest.mark.parametrize("bad", ["", "x", "0" * 32, GOOD.upper(), GOOD + "\n", GOOD[1:], 7, None])
def test_what_is_no_id_is_refused(bad: object) -> None:
    with pytest.raises(RecordFieldError, match=r"^id: got"):
        check_id(bad)


def test_a_set_of_options_is_named_by_all_that_was_offered() -> None:
    whole = option_set(TOOLS)
    turned = option_set(TOOLS[::-1])
    assert whole.set_hash == turned.set_hash
    assert whole.key != turned.key
    changes = (
        {"description": "Other"},
        {"category": "other"},
        {"risk": TOOLS[2].risk},
        {"schema": {"type": "object"}},
    )
    for change in changes:
        other = option_set([replace(TOOLS[0], **change), *TOOLS[1:]])
        assert other.set_hash != whole.set_hash
    assert options_from_json(whole.as_json()).key == whole.key


def test_options_of_one_name_and_schemas_that_are_no_json_are_refused() -> None:
    with pytest.raises(RecordFieldError, match="options: got 'read_file', wanted names that diff"):
        option_set([TOOLS[0], TOOLS[0]])
    schemas: tuple[dict[Any, Any], ...] = ({"a": object()}, {"a": float("nan")}, {1: 2, "a": 3})
    for schema in schemas:
        with pytest.raises(RecordFieldError, match="schema"):
            option_set([ToolDescriptor("a", "b", schema=schema)])


def test_sets_met_before_are_not_hashed_again_and_never_mixed_up() -> None:
    prepared = 0

    def prepare(tools: object) -> object:
        nonlocal prepared
        prepared += 1
        return tools

    sets = OptionSets(prepare, size=2)  # type: ignore[arg-type]
    tools = list(TOOLS)
    assert sets.of(tools) is sets.of(tuple(tools))
    assert sets.of([replace(tool) for tool in tools]) is sets.of(tools)
    assert prepared == 1
    for schema in ({"n": 1}, {"n": 1.0}, {"n": True}):
        made = sets.of([ToolDescriptor("a", "b", schema=schema)])
        assert made.key == option_set([ToolDescriptor("a", "b", schema=schema)]).key
    proxy = ToolDescriptor("a", "b", schema=MappingProxyType({"n": 1}))
    assert sets.of([proxy]).key == option_set([ToolDescriptor("a", "b", schema={"n": 1})]).key
    for i in range(200):  # short-lived descriptors may get the identity of dead ones
        short_lived = [ToolDescriptor(f"tool_{i}", "x")]
        assert sets.of(short_lived).names == (f"tool_{i}",)


def test_a_pick_among_the_options_is_accepted_and_its_own_win() -> None:
    made = record(session="s")
    assert (made.point, made.decision, made.state) == ("tool", PICK, STATE)
    assert made.options.tools == TOOLS
    assert (made.validation, made.fallback, made.text) == ("accepted", None, "full")
    assert made.replayable
    assert made.session == PRIVATE.hash("s")
    assert made.session != "s"
    assert not made.won
    assert replace(made, outcome=Outcome("success")).won
    assert not replace(made, outcome=Outcome("failure")).won


@pytest.mark.parametrize(
    ("decision", "validation", "fallback"),
    [
        (replace(PICK, tool="rm"), "rejected_out_of_set", Fallback("host", "rejected_out_of_set")),
        (
            RouteDecision.fallback_to_planner("low_confidence"),
            "none",
            Fallback("planner", "low_confidence"),
        ),
        (replace(PICK, provider_error="timeout"), "accepted", Fallback("local", "timeout")),
        (replace(PICK, provider_error="no_key"), "accepted", None),
    ],
)
def test_a_fallback_is_recorded_as_one_and_never_wins(
    decision: RouteDecision, validation: str, fallback: Fallback | None
) -> None:
    made = replace(record(decision), outcome=Outcome("success"))
    assert (made.validation, made.fallback) == (validation, fallback)
    assert made.won == (fallback is None)


def test_a_stale_pick_falls_back_to_the_host() -> None:
    made = record(validation="rejected_stale")
    assert made.fallback == Fallback("host", "rejected_stale")
    assert made.pick_was_right is None


@pytest.mark.parametrize(
    ("decision", "outcome", "right"),
    [
        (PICK, None, None),
        (PICK, Outcome("success"), True),
        (PICK, Outcome("failure"), False),
        (PICK, Outcome("abandoned"), None),
        (PICK, Outcome(None), None),
        (PICK, Outcome("success", right=["read_file"]), False),
        (PICK, Outcome("failure", right=["edit_file", "read_file"]), True),
        (PICK, Outcome("failure", right=[]), False),
        (replace(PICK, tool="rm"), Outcome("success"), None),
        (replace(PICK, provider_error="timeout"), Outcome("success"), True),
        (RouteDecision.fallback_to_planner("x"), Outcome("success"), None),
        (RouteDecision.fallback_to_planner("x"), Outcome("success", right=["edit_file"]), False),
        (RouteDecision.fallback_to_planner("x"), Outcome("success", right=[]), True),
    ],
)
def test_whether_the_pick_was_right_is_said_by_a_label_before_a_result(
    decision: RouteDecision, outcome: Outcome | None, right: bool | None
) -> None:
    assert replace(record(decision), outcome=outcome).pick_was_right is right


def test_an_answer_from_the_cache_costs_nothing_and_one_that_failed_an_unknown_amount() -> None:
    answer = ChoiceDecision("edit_file", usage=Usage(388, 57, 1.6e-5), model="m-1")
    asked = record(replace(PICK, source="jev", answer=answer))
    assert (asked.usage, asked.model) == (Usage(388, 57, 1.6e-5), "m-1")
    assert record(replace(PICK, source="cache", answer=answer)).usage == Usage(0, 0, 0.0)
    assert record(PICK).usage == Usage(0, 0, 0.0)
    assert record(replace(PICK, provider_error="timeout")).usage == Usage()
    assert record(replace(PICK, provider_error="circuit_open")).usage == Usage(0, 0, 0.0)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"confidence": float("nan")}, "confidence"),
        ({"confidence": 1.5}, "confidence"),
        ({"none_fits": -0.1}, "none_fits"),
        ({"probabilities": {"a": float("nan"), "b": 0.1}}, "probabilities"),
        ({"probabilities": {"a": 1.1}}, "probabilities"),
        ({"source": "guess"}, "source"),
    ],
)
def test_numbers_that_are_no_probabilities_are_refused(
    change: dict[str, object], field: str
) -> None:
    with pytest.raises(RecordFieldError, match=f"^{field}: got"):
        record(replace(PICK, **change))  # type: ignore[arg-type]


def test_outcomes_are_checked() -> None:
    for bad, field in (
        ({"result": "won"}, "result"),
        ({"result": None, "right": "read_file"}, "right"),
        ({"result": None, "right": [1]}, "right"),
        ({"result": None, "duration_ms": -1.0}, "duration_ms"),
        ({"result": None, "duration_ms": float("inf")}, "duration_ms"),
        ({"result": None, "retries": -1}, "retries"),
        ({"result": None, "retries": True}, "retries"),
        ({"result": None, "by": " "}, "by"),
        ({"result": None, "time": -1}, "time"),
    ):
        with pytest.raises(RecordFieldError, match=f"^{field}: got"):
            Outcome(**bad)


def test_an_outcome_takes_in_what_is_added_and_refuses_what_contradicts() -> None:
    seen = Outcome("success", duration_ms=12.0, by="hook", time=1.0)
    label = Outcome(None, right=["read_file"], by="anna", time=2.0)
    both = seen.joined(label)
    assert both == Outcome("success", ("read_file",), 12.0, None, "anna", 2.0)
    assert both.joined(label) is both
    assert seen.joined(Outcome("success", by="other", time=9.0)) is seen
    with pytest.raises(RecordConflictError, match="result: got 'failure', hook said 'success'"):
        seen.joined(Outcome("failure"))
    with pytest.raises(RecordConflictError, match="right"):
        both.joined(Outcome(None, right=[]))


@given(tool_lists.flatmap(lambda t: st.tuples(st.just(t), selections(t), configs, configs)))
def test_what_passed_the_gate_passes_it_again_in_the_same_way(given: tuple) -> None:  # type: ignore[type-arg]
    offered, selection, config, other = given
    by_name = {tool.name: tool for tool in offered}
    error = "timeout" if selection.source == "local" else None
    decision = pass_gate(selection, by_name, config, source=selection.source, provider_error=error)
    made = DecisionRecord.from_decision("tool", STATE, offered, decision, PRIVATE)
    again = made.selection()
    assert again is not None
    for changed in (config, other):
        found = pass_gate(again, by_name, changed, source=decision.source, provider_error=error)
        expected = pass_gate(
            selection, by_name, changed, source=selection.source, provider_error=error
        )
        assert replace(found, why=()) == replace(expected, why=())


def test_a_decision_of_the_router_is_gated_anew_under_other_thresholds() -> None:
    made = record(routed({"edit_file": 0.7, "read_file": 0.2}))
    assert made.decision.fallback_reason == "planner_confirmation"
    selection = made.selection()
    assert selection is not None
    bold = RoutingConfig(direct_execution_threshold=0.65)
    assert (
        pass_gate(selection, {t.name: t for t in TOOLS}, bold, source="local").tool == "edit_file"
    )


def test_where_no_selector_was_asked_there_is_nothing_to_gate() -> None:
    for decision in (
        RouteDecision.fallback_to_planner("planner_only"),
        replace(PICK, source="obvious", version=None),
        replace(PICK, source="mcts"),
    ):
        assert record(decision).selection() is None


def test_thresholds_name_those_of_the_router() -> None:
    thresholds = Thresholds.of(RoutingConfig(), certificate="c")
    assert thresholds.values == {"direct_execution_threshold": 0.85, "fallback_threshold": 0.6}
    assert (thresholds.mode, thresholds.certificate) == ("hybrid", "c")
    with pytest.raises(RecordFieldError, match=r"^thresholds\.x: got 2"):
        Thresholds({"x": 2})


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_ids_of_a_forked_child_differ_from_the_parents() -> None:
    mine = new_id()
    theirs = forked(new_id)
    assert check_id(theirs) != mine
    assert new_id() not in (mine, theirs)
