"""normalise_tools: four wire shapes to equal descriptors, and errors that name the place."""

import json
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from router.catalog import CATEGORIES, check_tools, normalise_tools
from router.errors import ToolListError
from router.models import RiskLevel, ToolDescriptor

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
NAME, TEXT = "read_file", "Read a file of the repository"

SHAPES: dict[str, Any] = {
    "plain": [{"name": NAME, "description": TEXT, "schema": SCHEMA}],
    "mcp": {"tools": [{"name": NAME, "description": TEXT, "inputSchema": SCHEMA}]},
    "mcp envelope": {
        "jsonrpc": "2.0",
        "id": 7,
        "result": {
            "tools": [{"name": NAME, "description": TEXT, "inputSchema": SCHEMA}],
            "nextCursor": "2",
        },
    },
    "anthropic": [{"name": NAME, "description": TEXT, "input_schema": SCHEMA}],
    "openai": [
        {
            "type": "function",
            "function": {"name": NAME, "description": TEXT, "parameters": SCHEMA},
        }
    ],
    "openai flat": [
        {
            "type": "function",
            "name": NAME,
            "description": TEXT,
            "parameters": SCHEMA,
            "strict": True,
        }
    ],
    "openai request": {
        "model": "m",
        "tools": [{"type": "function", "function": {"name": NAME, "description": TEXT}}],
    },
    "descriptor": (ToolDescriptor(NAME, TEXT, "inspect", RiskLevel.LOW, SCHEMA),),
}


def normalised(**tool: Any) -> ToolDescriptor:
    return normalise_tools([{"name": "tool", **tool}])[0]


def refusal(source: Any) -> str:
    with pytest.raises(ToolListError) as error:
        normalise_tools(source)
    return str(error.value)


@pytest.mark.parametrize("shape", SHAPES)
def test_every_wire_shape_gives_the_same_descriptor(shape: str) -> None:
    tools = normalise_tools(SHAPES[shape])
    assert tools == [ToolDescriptor(NAME, TEXT, "inspect", RiskLevel.LOW)]
    assert tools[0].schema == ({} if shape == "openai request" else SCHEMA)


def test_what_was_normalised_once_normalises_to_itself() -> None:
    tools = normalise_tools(SHAPES["mcp"])
    assert normalise_tools(tools) == tools


def test_a_stated_category_and_risk_are_kept() -> None:
    tool = normalised(name="delete_all", category="housekeeping", risk="LOW")
    assert (tool.category, tool.risk) == ("housekeeping", RiskLevel.LOW)
    assert normalised(risk=RiskLevel.CRITICAL).risk is RiskLevel.CRITICAL


def test_annotations_of_the_server_weigh_more_than_words() -> None:
    said = {"readOnlyHint": True}
    assert normalised(name="frobnicate", annotations=said).risk is RiskLevel.LOW
    said = {"destructiveHint": True}
    assert normalised(name="get_page", annotations=said).risk is RiskLevel.HIGH


@pytest.mark.parametrize(
    ("tool", "description"),
    [
        ({"description": "Text", "title": "Title"}, "Text"),
        ({"description": None, "title": "Title"}, "Title"),
        ({"description": "  ", "title": "Title"}, "Title"),
        ({"annotations": {"title": "Old title"}}, "Old title"),
        ({}, ""),
    ],
)
def test_the_title_stands_in_for_a_missing_description(
    tool: dict[str, Any], description: str
) -> None:
    assert normalised(**tool).description == description


def test_other_keys_are_the_hosts_own() -> None:
    tool = normalised(cache_control={"type": "ephemeral"}, _meta={1: object()}, icons=[1])
    assert tool == normalised()


def test_no_tools_are_no_error() -> None:
    assert normalise_tools([]) == []
    assert normalise_tools({"tools": []}) == []


def test_a_mapping_that_is_no_dict_will_do() -> None:
    tool = MappingProxyType({"name": "x", "schema": MappingProxyType({"type": "object"})})
    assert normalise_tools((tool,))[0].schema == {"type": "object"}


GOOD = {"name": "a"}


@pytest.mark.parametrize(
    ("source", "place"),
    [
        (None, "tools: got nothing, wanted a list of tools"),
        ("[]", "tools: got '[]', wanted a list of tools"),
        ({1: 2}, "tools: got nothing, wanted a list of tools"),
        ({"result": {"tools": None}}, "tools: got nothing"),
        ({"error": {"code": -32601, "message": "secret"}}, "tools: got the error of a server"),
        ([GOOD, 3], "tools[1]: got a number, wanted a tool as an object"),
        ([GOOD, {}], "tools[1].name: got nothing, wanted a name"),
        ([GOOD, {"name": ""}], "tools[1].name: got '', wanted a name"),
        ([{"name": " \t"}], "tools[0].name: got ' \\t', wanted a name"),
        ([{"name": ["a"]}], "tools[0].name: got a list, wanted a name"),
        ([{"name": "\ud800"}], "tools[0].name: got '\\ud800', wanted valid Unicode"),
        ([{"name": "a", "description": 1}], "tools[0].description: got a number, wanted a text"),
        ([{"name": "a", "title": {}}], "tools[0].title: got an object, wanted a text"),
        ([{"name": "a", "category": ""}], "tools[0].category: got '', wanted a category"),
        ([{"name": "a", "risk": "severe"}], "tools[0].risk: got 'severe', wanted low, medium, "),
        ([{"name": "a", "risk": 2}], "tools[0].risk: got a number"),
        ([{"name": "a", "parameters": []}], "tools[0].parameters: got a list, wanted a JSON obj"),
        ([{"name": "a", "schema": {"x": float("nan")}}], "tools[0].schema: got a number that is"),
        ([{"name": "a", "schema": {"x": {1: 2}}}], "tools[0].schema: got a key that is no text"),
        ([{"name": "a", "schema": {"x": {1, 2}}}], "tools[0].schema: got a set"),
        ([{"name": "a", "schema": {"x": 10**5000}}], "tools[0].schema: got a number with too"),
        (
            [{"type": "function", "function": {"name": ""}}],
            "tools[0].function.name: got '', wanted a name",
        ),
        ([{"type": "function"}], "tools[0].name: got nothing"),
        ([GOOD, {"name": "b"}, GOOD], "tools[2].name: got 'a', wanted a name not used before"),
        ([ToolDescriptor("", "x")], "tools[0].name: got ''"),
    ],
)
def test_bad_input_is_refused_by_place(source: Any, place: str) -> None:
    assert refusal(source).startswith(place)


def test_an_error_repeats_neither_a_long_text_nor_what_a_server_said() -> None:
    assert len(refusal([{"name": "a", "risk": "x" * 10_000}])) < 200
    assert "secret" not in refusal({"error": {"message": "secret"}})


def test_a_schema_that_is_deep_or_turns_in_circles_is_refused() -> None:
    deep: dict[str, Any] = {}
    for _ in range(100_000):
        deep = {"items": deep}
    assert "more than 100 levels" in refusal([{"name": "a", "schema": deep}])
    circle: dict[str, Any] = {}
    circle["items"] = circle
    assert "more than 100 levels" in refusal([{"name": "a", "schema": circle}])
    doubling: list[Any] = []
    for _ in range(90):
        doubling = [doubling, doubling]
    assert "more than 100000 values" in refusal([{"name": "a", "schema": {"x": doubling}}])
    while deep:  # taken apart by hand: freeing it at once would be a recursion too
        deep = deep.pop("items")


def test_only_the_beginning_of_a_huge_text_is_looked_at() -> None:
    text = "Read a file. " + "(" * 1_000_000 + "`" * 1_000_000
    assert normalised(name="a" * 100_000, description=text).risk is RiskLevel.LOW


def test_check_tools_gives_the_tools_by_name() -> None:
    tools = [ToolDescriptor("b", ""), ToolDescriptor("a", "")]
    assert list(check_tools(tools).values()) == tools
    with pytest.raises(ToolListError, match=r"tools\[2\].name: got 'b', wanted a name not used"):
        check_tools([*tools, ToolDescriptor("b", "other")])
    with pytest.raises(ToolListError, match=r"tools\[0\].name: got ' ', wanted a name"):
        check_tools([ToolDescriptor(" ", "")])


ANY_TEXT = st.text(st.characters(), max_size=12)  # half character pairs too
TOOL_KEYS = ["name", "description", "title", "category", "risk", "annotations", "type"]
SCHEMA_KEYS = ["schema", "inputSchema", "input_schema", "parameters", "properties", "enum"]
OTHER_KEYS = ["function", "custom", "tools", "result", "error", "action", "readOnlyHint"]
KEYS = st.sampled_from([*TOOL_KEYS, *SCHEMA_KEYS, *OTHER_KEYS])
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | ANY_TEXT
    | st.sampled_from(["function", "custom", "low", "delete_all", "read_file", "Deletes. Reads"])
)
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(KEYS | ANY_TEXT | st.integers() | st.none(), inner, max_size=6)
    ),
    max_leaves=25,
)
TOOL = st.fixed_dictionaries(
    {"name": ANY_TEXT | ANYTHING},
    optional=dict.fromkeys(
        ["description", "title", "schema", "annotations", "risk", "type", "function"], ANYTHING
    ),
)


def one_or_the_other(source: Any) -> None:
    try:
        tools = normalise_tools(source)
    except ToolListError:
        return
    assert list(check_tools(tools)) == [tool.name for tool in tools]
    for tool in tools:
        assert tool.category
        assert isinstance(tool.risk, RiskLevel)
        json.dumps([tool.name, tool.description, tool.schema], allow_nan=False, sort_keys=True)
        tool.description.encode()


@given(ANYTHING)
def test_any_value_gives_tools_or_a_tool_list_error(source: Any) -> None:
    one_or_the_other(source)


@given(st.lists(TOOL, max_size=4), st.sampled_from(["list", "tools", "result"]))
def test_any_list_of_near_tools_gives_tools_or_a_tool_list_error(source: Any, how: str) -> None:
    wrapped = {"list": source, "tools": {"tools": source}, "result": {"result": {"tools": source}}}
    one_or_the_other(wrapped[how])


@given(st.text(max_size=30), st.text(max_size=200), ANYTHING, ANYTHING)
def test_any_words_have_a_category_and_a_risk(
    name: str, description: str, schema: Any, annotations: Any
) -> None:
    tool = {"name": f"x{name}", "description": description, "annotations": annotations}
    if isinstance(schema, dict):
        tool["schema"] = {"properties": schema}
    try:
        found = normalise_tools([tool])[0]
    except ToolListError:
        return
    assert found.category in CATEGORIES
