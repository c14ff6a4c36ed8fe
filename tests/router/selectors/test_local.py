"""The local selector: what it picks, what it promises of any input, and what it keeps."""

import asyncio
import copy
import json
import pickle
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from router.errors import RouterError
from router.models import ActionSummary, HarnessState, RiskLevel, ToolDescriptor
from router.selectors.local import LexicalSelector, Similarity, default_selector
from router.selectors.match import SIMILARITIES
from router.selectors.model import WEIGHTS, Model, load_model

ROOT = Path(__file__).parents[3]


def tool(name: str, description: str, *parameters: str, **more: Any) -> ToolDescriptor:
    schema = {"properties": {parameter: {"type": "string"} for parameter in parameters}}
    return ToolDescriptor(name, description, schema=schema, **more)


CODING = (
    tool("read_file", "Read one file.", "path"),
    tool("search_code", "Search the source tree for a text.", "query"),
    tool("edit_file", "Replace text in an existing file.", "path", "old", "new"),
    tool("run_tests", "Run the test suite.", "selection"),
    tool("git_commit", "Commit the changes.", "message"),
)
SMALL = (
    ToolDescriptor("read_file", "Open a file at a known path"),
    ToolDescriptor("search_code", "Find symbols or text in the repository"),
    ToolDescriptor("write_file", "Change a file on disk"),
)


def pick(goal: str, tools: Sequence[ToolDescriptor] = CODING, **state: Any) -> str | None:
    return default_selector().select_now(HarnessState(goal, **state), tools).tool


def favourite(goal: str, tools: Sequence[ToolDescriptor]) -> str:
    """The best tool, whether or not none is more probable."""
    probabilities = default_selector().select_now(HarnessState(goal), tools).probabilities
    return max(probabilities, key=probabilities.__getitem__)


def done(*actions: tuple[str, str]) -> list[ActionSummary]:
    return [ActionSummary(tool, outcome) for tool, outcome in actions]


def test_the_documented_example_reads_the_file_that_the_failure_points_to() -> None:
    goal, observation = "Fix the failing parser test", "The failure points to src/parser.py"
    assert pick(goal, SMALL, observation=observation) == "read_file"


def test_a_goal_that_names_the_action_gets_it() -> None:
    assert pick("Search the source for the text 'timeout'") == "search_code"
    assert pick("Commit the changes with the message 'tidy'") == "git_commit"


def test_after_a_search_that_names_a_file_it_is_read() -> None:
    found = pick(
        "Find out why the export is empty",
        observation="one match: export/writer.py:88",
        recent_actions=done(("search_code", "ok")),
    )
    assert found == "read_file"


def test_after_an_edit_the_tests_run() -> None:
    found = pick(
        "Find out why the export is empty",
        observation="replaced one place in export/writer.py",
        recent_actions=done(("search_code", "ok"), ("read_file", "ok"), ("edit_file", "ok")),
    )
    assert found == "run_tests"


def test_calls_that_the_observation_lists_count_as_history() -> None:
    tools = (
        tool("open_door", "Open the door of a room.", "room"),
        tool("switch_light", "Switch the light of a room on or off.", "room"),
    )
    goal = "Open the door of the kitchen, then switch on the light"
    log = "calls so far: open_door(room='kitchen')"
    assert pick(goal, tools) == "open_door"
    assert pick(goal, tools, observation=log) == "switch_light"


def test_a_goal_far_from_all_tools_fits_none() -> None:
    selection = default_selector().select_now(
        HarnessState("Book two seats in the opera for Friday evening"), CODING
    )
    assert selection.tool is None
    assert selection.none_fits is not None
    assert selection.none_fits > max(selection.probabilities.values())
    assert selection.why


def test_a_tool_that_fits_takes_probability_from_none() -> None:
    selector = default_selector()
    goal = HarnessState("What will the weather be in Oslo tomorrow?")
    weather = tool("get_weather_forecast", "Weather forecast of a city for a day.", "city", "day")
    without = selector.select_now(goal, CODING)
    having = selector.select_now(goal, (*CODING, weather))
    assert having.tool == "get_weather_forecast"
    assert (having.none_fits or 0.0) < (without.none_fits or 0.0)


def test_words_without_a_word_in_common_meet_by_what_they_mean() -> None:
    tools = (
        tool("remove_entry", "Takes an entry off.", "id"),
        tool("show_entry", "Displays an entry.", "id"),
    )
    assert favourite("Delete number 7", tools) == "remove_entry"


def test_a_text_that_all_tools_share_does_not_count() -> None:
    shared = "This tool belongs to the library that lends books to readers and takes them back. "
    tools = (
        tool("renew", shared + "Lengthen the time until a book is due.", "book"),
        tool("fine", shared + "Say what a reader has to pay.", "reader"),
        tool("shelve", shared + "Put a book back in its place.", "book"),
    )
    assert favourite("The reader asks what there is to pay", tools) == "fine"


def test_reasons_name_words_of_the_goal() -> None:
    selection = default_selector().select_now(HarnessState("read the file notes.txt"), CODING)
    assert selection.tool == "read_file"
    assert 1 <= len(selection.why) <= 3
    assert any('"read"' in reason and '"file"' in reason for reason in selection.why)


def test_reasons_tell_what_the_last_action_was() -> None:
    state = HarnessState("Repair the export", recent_actions=done(("edit_file", "ok")))
    assert "the last action edited, this one verifies" in (
        default_selector().select_now(state, CODING).why
    )


def test_an_empty_list_gives_an_empty_selection() -> None:
    selection = default_selector().select_now(HarnessState("anything"), ())
    assert selection.tool is None
    assert selection.probabilities == {}
    assert selection.none_fits == 1.0


def test_select_is_select_now_for_those_who_await() -> None:
    state = HarnessState("run the tests")
    selector = default_selector()
    assert asyncio.run(selector.select(state, CODING)) == selector.select_now(state, CODING)


def test_the_order_of_the_tools_does_not_matter() -> None:
    state = HarnessState("run the tests of the parser", observation="src/parser.py was changed")
    one = default_selector().select_now(state, CODING)
    other = default_selector().select_now(state, CODING[::-1])
    assert one.tool == other.tool
    for name, probability in one.probabilities.items():
        assert other.probabilities[name] == pytest.approx(probability, abs=1e-9)


def test_a_changed_schema_is_seen_though_the_tools_are_equal() -> None:
    selector, state = LexicalSelector(), HarnessState("the invoice number is 17")
    bare = (ToolDescriptor("alpha", "First."), ToolDescriptor("beta", "Second."))
    with_parameters = (bare[0], tool("beta", "Second.", "invoice_number"))
    assert bare == with_parameters
    before = selector.select_now(state, bare)
    after = selector.select_now(state, with_parameters)
    assert after.probabilities["beta"] > before.probabilities["beta"]
    assert selector.select_now(state, bare) == before


def test_two_selectors_and_two_processes_say_the_same() -> None:
    state = HarnessState("fix the failing test", observation="see tests/test_a.py")
    here = LexicalSelector().select_now(state, CODING).probabilities
    assert LexicalSelector().select_now(state, CODING).probabilities == here
    code = (
        "import json;from tests.router.selectors.test_local import *;"
        "s=HarnessState('fix the failing test', observation='see tests/test_a.py');"
        "print(json.dumps(dict(LexicalSelector().select_now(s, CODING).probabilities)))"
    )
    for seed in ("1", "2"):
        run = subprocess.run(
            [sys.executable, "-c", code],
            cwd=ROOT,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=True,
        )
        assert json.loads(run.stdout) == here


# Any input

TEXTS = st.one_of(
    st.text(max_size=60),
    st.sampled_from(["", " ", "read_file(", "a(b='c', d=[1, 2])", "名前を読む", "\x00\ud7ff"]),
)
SCHEMAS: st.SearchStrategy[Any] = st.one_of(
    st.just({}),
    st.dictionaries(
        st.sampled_from(["properties", "type", "x"]),
        st.recursive(
            st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=5)),
            lambda inner: st.one_of(
                st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)
            ),
            max_leaves=6,
        ),
        max_size=3,
    ),
)
TOOLS = st.lists(
    st.builds(
        ToolDescriptor,
        name=TEXTS.filter(str.strip),
        description=TEXTS,
        category=st.one_of(st.none(), TEXTS),
        risk=st.sampled_from(RiskLevel),
        schema=SCHEMAS,
    ),
    min_size=1,
    max_size=8,
    unique_by=lambda one: one.name,
)
NAMES = st.one_of(TEXTS, st.sampled_from(["read_file", "a", "b"]))
STATES = st.builds(
    HarnessState,
    goal=TEXTS,
    observation=st.one_of(st.none(), TEXTS),
    last_action=st.one_of(st.none(), NAMES),
    recent_actions=st.lists(st.builds(ActionSummary, NAMES, TEXTS), max_size=4),
    constraints=st.lists(TEXTS, max_size=2),
)


def check(state: HarnessState, tools: Sequence[ToolDescriptor]) -> None:
    selector = default_selector()
    selection = selector.select_now(state, tools)
    names = [one.name for one in tools]
    assert list(selection.probabilities) == names
    assert selection.none_fits is not None
    values = [*selection.probabilities.values(), selection.none_fits]
    assert all(0.0 <= value <= 1.0 for value in values)
    assert abs(sum(values) - 1.0) < 1e-9
    assert selection.tool is None or selection.tool in names
    assert len(selection.why) <= 3
    assert sorted(selector.shortlist(state, tools, len(tools))) == list(range(len(tools)))


@given(STATES, TOOLS)
@settings(max_examples=150, deadline=None)
def test_any_state_and_any_tools_get_a_distribution(
    state: HarnessState, tools: list[ToolDescriptor]
) -> None:
    check(state, tools)


@given(STATES, TOOLS)
@settings(max_examples=15, deadline=None)
def test_so_does_a_large_registry(state: HarnessState, tools: list[ToolDescriptor]) -> None:
    names = {one.name for one in tools}
    more = [tool(f"tool_{i}", f"does thing {i}") for i in range(70) if f"tool_{i}" not in names]
    check(state, [*tools, *more])


def test_a_megabyte_of_observation_changes_nothing_but_its_ends() -> None:
    names = [("read_file", "x" * 1_000_000)]
    for text in ("error " * 200_000, "read_file(" * 100_000, "a/b.py " * 150_000, "'" * 1_000_000):
        check(HarnessState(text, observation=text), CODING)
        check(HarnessState("go on", observation=text, recent_actions=done(*names)), CODING)


# Large registries

LARGE = tuple(
    tool(f"{verb}_{noun}", f"{verb} the {noun} of an account", noun)
    for verb in ("create", "list", "delete", "update", "archive", "export", "count", "share")
    for noun in (
        *("invoice", "order", "customer", "ticket", "project", "branch", "page", "channel"),
        *("message", "sensor", "route", "recipe", "survey", "contract", "device", "photo"),
    )
)


def test_of_many_tools_the_named_one_is_picked() -> None:
    assert len(LARGE) == 128
    assert favourite("Archive the survey", LARGE) == "archive_survey"


def test_the_shortlist_begins_with_the_likeliest_and_is_as_long_as_asked() -> None:
    selector, state = default_selector(), HarnessState("Export the contract")
    for size in (1, 5, 64, 100, 500):
        found = selector.shortlist(state, LARGE, size)
        assert len(found) == len(set(found)) == min(size, len(LARGE))
        assert LARGE[found[0]].name == "export_contract"
    assert selector.shortlist(state, LARGE, 0) == []
    assert selector.shortlist(state, (), 5) == []


def test_tools_off_the_shortlist_keep_some_probability() -> None:
    selection = default_selector().select_now(HarnessState("Archive the survey"), LARGE)
    assert min(selection.probabilities.values()) > 0.0


# Similarity and weights


def likes(word: str) -> Similarity:
    """A scorer that likes one word in a name."""
    return lambda _, tools: np.array([[float(word in t.name) for t in tools]] * len(SIMILARITIES))


def with_similarity(weight: float) -> Model:
    data = json.loads(WEIGHTS.read_text())
    names = [f"{name}{form}" for name in SIMILARITIES for form in ("", ".z", ".rel", ".turn")]
    data["tools"] |= dict.fromkeys(names, 0.0) | {"similarity": weight}
    return Model(data | {"similarity": True, "version": "test"})


def test_a_similarity_enters_as_further_features() -> None:
    state = HarnessState("Please do it")
    tools = (tool("alpha", "One thing."), tool("beta", "Another thing."))
    for word in ("alpha", "beta"):
        selector = LexicalSelector(likes(word), with_similarity(40.0))
        selection = selector.select_now(state, tools)
        assert selection.tool == word
        assert selector.version == "test"
        assert "its description means much the same as the goal" in selection.why


def test_a_similarity_that_is_not_a_number_counts_as_none() -> None:
    def broken(_: str, tools: Sequence[ToolDescriptor]) -> Any:
        return np.full((len(SIMILARITIES), len(tools)), np.nan)

    selector = LexicalSelector(broken, with_similarity(1.0))
    selection = selector.select_now(HarnessState("read the file"), CODING)
    assert selection.tool == "read_file"


def test_weights_and_similarity_must_go_together() -> None:
    with pytest.raises(RouterError, match="similarity: wanted None"):
        LexicalSelector(likes("x"), load_model(WEIGHTS))
    with pytest.raises(RouterError, match="similarity: wanted one"):
        LexicalSelector(None, with_similarity(1.0))


def test_weights_for_other_features_are_refused_by_name() -> None:
    data = json.loads(WEIGHTS.read_text())
    del data["tools"]["gap"]
    with pytest.raises(RouterError, match=r"weights of tools .*: gap"):
        Model(data)


def test_the_shipped_weights_say_where_they_come_from() -> None:
    data = json.loads(WEIGHTS.read_text())
    provenance = data["provenance"]
    assert data["version"] == default_selector().version
    assert provenance["script"] == "python -m experiments.tool_choice.fit"
    assert all(entry["licence"] and entry["items"] for entry in provenance["data"].values())


def test_importing_the_selector_loads_only_numpy() -> None:
    code = "import router.selectors.local, sys; print(*sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    loaded = {name.split(".")[0] for name in run.stdout.split()}
    assert loaded.isdisjoint({"numba", "hydra", "mcp", "httpx", "onnxruntime", "asyncio"})


def test_reasons_are_made_when_they_are_read_and_are_like_any_texts() -> None:
    selection = default_selector().select_now(HarnessState("read the file"), CODING)
    texts = tuple(selection.why)
    assert texts
    assert selection.why == texts == tuple(selection.why)
    assert (selection.why[0], len(selection.why), repr(selection.why)) == (
        texts[0],
        len(texts),
        repr(texts),
    )
    assert pickle.loads(pickle.dumps(selection)) == selection
    assert copy.deepcopy(selection).why == texts
