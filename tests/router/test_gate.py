"""The gate: which distributions are enough to name a tool."""

import pytest

from router.config import RoutingConfig
from router.gate import pass_gate
from router.models import RoutingMode, Selection, ToolDescriptor

TOOLS = {
    name: ToolDescriptor(name, f"{name} it", category=category)
    for name, category in (("read", "inspect"), ("edit", "mutate"))
}


def selection(read: float, edit: float, none: float) -> Selection:
    best = max(("read", read), ("edit", edit), key=lambda pair: pair[1])
    tool = best[0] if best[1] >= none else None
    return Selection(tool, {"read": read, "edit": edit}, none, "local", "test")


@pytest.mark.parametrize(
    ("read", "mode", "reason"),
    [
        (0.85, "hybrid", None),
        (0.8499, "hybrid", "planner_confirmation"),
        (0.60, "hybrid", "planner_confirmation"),
        (0.5999, "hybrid", "low_confidence"),
        (0.60, "jev_only", None),
        (0.5999, "jev_only", "low_confidence"),
    ],
)
def test_thresholds_hold_to_the_last_digit(read: float, mode: str, reason: str | None) -> None:
    config = RoutingConfig(mode=RoutingMode(mode))
    found = pass_gate(selection(read, 0.9 - read, 0.1), TOOLS, config, source="local")
    assert found.fallback_reason == reason
    assert found.fallback == (reason is not None)
    assert found.tool == ("read" if reason is None else None)
    assert found.confidence == read
    assert found.category == "inspect"
    assert found.probabilities == {"read": read, "edit": 0.9 - read}


def test_none_fits_is_an_answer_of_its_own() -> None:
    found = pass_gate(selection(0.1, 0.2, 0.7), TOOLS, RoutingConfig(), source="local")
    assert (found.tool, found.fallback_reason) == (None, "no_matching_tool")
    assert (found.none_fits, found.confidence, found.category) == (0.7, 0.2, "mutate")


@pytest.mark.parametrize("mode", ["hybrid", "jev_only"])
def test_unknown_probabilities_are_never_enough(mode: str) -> None:
    unknown = Selection("read", {}, None, "jev", "test")
    found = pass_gate(unknown, TOOLS, RoutingConfig(mode=RoutingMode(mode)), source="jev")
    assert (found.tool, found.fallback_reason) == (None, "unknown_confidence")


def test_a_stand_in_that_is_sure_decides_and_the_failure_is_told() -> None:
    config = RoutingConfig()
    sure = pass_gate(
        selection(0.95, 0.0, 0.05), TOOLS, config, source="local", provider_error="timeout"
    )
    assert (sure.tool, sure.fallback, sure.provider_error) == ("read", False, "timeout")
    unsure = pass_gate(
        selection(0.7, 0.2, 0.1), TOOLS, config, source="local", provider_error="timeout"
    )
    assert (unsure.tool, unsure.fallback_reason) == (None, "provider_error")
    assert unsure.provider_error == "timeout"


def test_a_missing_key_is_no_failure_of_the_provider() -> None:
    found = pass_gate(
        selection(0.7, 0.2, 0.1), TOOLS, RoutingConfig(), source="local", provider_error="no_key"
    )
    assert found.fallback_reason == "planner_confirmation"
