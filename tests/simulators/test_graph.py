"""The wire format of a simulation graph: what is read, what is refused and how, what comes out."""

import gc
import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from mcts_core.errors import ConfigError, MCTSError
from simulators import graph as module
from simulators.graph import (
    MISSING_TRANSITION_REWARD,
    GraphError,
    GraphLimits,
    GraphState,
    GraphTransition,
    SimulationGraph,
    compile_graph,
    graph_from_mapping,
    read_graph,
)
from tests.simulators.malformed_graphs import MALFORMED, OVERSIZED, Malformed, changed, document

ROOT = Path(__file__).parents[2]
LIMIT = GraphLimits()


def refused(read: Callable[[], object]) -> GraphError:
    """The error that ``read`` ends in, checked to be one short printable line."""
    with pytest.raises(GraphError) as caught:
        read()
    line = str(caught.value)
    assert line.isprintable()
    assert len(line) <= 300
    assert line.startswith(f"{caught.value.place}: {caught.value.problem}")
    assert not any(path in line for path in (str(ROOT), str(Path.home()), sys.prefix, ".py"))
    return caught.value


# --- What is refused, and how it is said


@pytest.mark.parametrize("case", MALFORMED, ids=lambda case: case.name)
def test_a_malformed_graph_is_refused_in_one_line_that_names_the_place(case: Malformed) -> None:
    assert case.says in str(refused(lambda: read_graph(case.data())))


@pytest.mark.parametrize("case", OVERSIZED, ids=lambda case: case.name)
def test_limits_refuse_what_a_file_may_hold(case: Malformed) -> None:
    read_graph(case.data())
    assert case.says in str(refused(lambda: read_graph(case.data(), limits=LIMIT)))
    mapping = json.loads(case.data())
    assert case.says in str(refused(lambda: graph_from_mapping(mapping, limits=LIMIT)))


def test_a_graph_just_within_the_limits_is_read() -> None:
    graph = read_graph(json.dumps(document()), limits=GraphLimits(states=3, transitions=4))
    assert len(graph.states) == 3
    refused(lambda: read_graph(json.dumps(document()), limits=GraphLimits(states=2)))


@pytest.mark.parametrize("limit", [0, -1, True, 2.0, None])
def test_a_limit_that_is_no_positive_integer_is_refused(limit: Any) -> None:
    with pytest.raises(ConfigError, match="states"):
        GraphLimits(states=limit)


def test_each_name_of_the_table_of_malformed_graphs_is_used_once() -> None:
    names = [case.name for case in MALFORMED]
    assert len(names) == len(set(names)) >= 60


def test_the_first_problem_in_document_order_is_reported_and_the_others_are_counted() -> None:
    graph = changed(("states 0 value", "high"), ("seed", -1))
    move = {"reward": None, "tool": 1, "to_state": "a", "from_state": "a"}
    graph = {"transitions": [move], "root_state": "z"} | graph | {"transitions": [move]}
    error = refused(lambda: read_graph(json.dumps(graph)))
    assert str(error) == (
        "transitions[0].reward: got null, wanted a finite number (and 3 more problems)"
    )
    graph = changed(("seed", -1), ("max_depth", 0))
    assert str(refused(lambda: graph_from_mapping(graph))).endswith(" (and 1 more problem)")
    graph = changed(("states 0", {"goal": 1, "tools": []}))  # a missing key stands at the end
    assert refused(lambda: graph_from_mapping(graph)).place == "states[0].goal"


def test_dangling_references_come_in_document_order_too() -> None:
    move = {"to_state": "y", "probability": 1, "tool": "t", "from_state": "x"}
    graph = {"transitions": [move], "root_state": "z", "states": document()["states"]}
    error = refused(lambda: graph_from_mapping(graph))
    assert (error.place, error.more) == ("transitions[0].to_state", 2)


def test_an_error_survives_pickling() -> None:
    error = refused(lambda: read_graph("{}"))
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.place, again.more) == (str(error), error.place, error.more)


def test_a_graph_error_is_an_engine_error_and_a_value_error() -> None:
    assert issubclass(GraphError, MCTSError)
    assert issubclass(GraphError, ValueError)


def test_the_error_hides_the_machinery_that_found_it() -> None:
    for data in (b"\xff", b"{", b"[" * 100_000, b'{"seed": NaN}', b"{}"):
        error = refused(partial(read_graph, data))
        assert error.__cause__ is None
        assert error.__context__ is None or error.__suppress_context__


class Hostile:
    """An object whose own code must not be called."""

    def __repr__(self) -> str:
        raise OSError("called")

    __str__ = __eq__ = __hash__ = __repr__  # type: ignore[assignment]


FOREIGN = [Hostile(), 10**5000, ("a",), {1}, b"a", 1 + 2j, object, "\udc80"]


@pytest.mark.parametrize("value", FOREIGN, ids=lambda value: type(value).__name__)
def test_foreign_values_in_a_mapping_are_refused_by_type(value: object) -> None:
    for key in document():
        assert refused(partial(graph_from_mapping, document() | {key: value})).place == key


@pytest.mark.parametrize(
    "value", [None, [], 5, Hostile(), [("root_state", "a")]], ids=lambda value: type(value).__name__
)
def test_what_is_no_mapping_is_refused(value: Any) -> None:
    assert refused(lambda: graph_from_mapping(value)).place == "graph"


def test_a_mapping_with_a_key_that_is_no_string_is_refused() -> None:
    keys: tuple[Any, ...] = (1, None, ("a", "b"), 10**5000)
    for key in keys:
        refused(partial(graph_from_mapping, document() | {key: 1}))


def test_a_mapping_that_contains_itself_is_refused() -> None:
    graph = document()
    graph["states"].append(graph)
    graph["transitions"].append(graph["transitions"])
    assert refused(lambda: graph_from_mapping(graph)).place == "states[3].root_state"


def test_a_long_list_of_names_is_cut_to_a_few() -> None:
    more = [{"id": f"{k:0>500}", "goal": "", "tools": []} for k in range(9)]
    graph = changed(("states", document()["states"] + more), ("root_state", "z" * 1000))
    error = refused(lambda: graph_from_mapping(graph))
    assert error.problem.endswith('zzz...", wanted one of "a", "b", "c" (12 in all)')


# --- What is read


def test_a_graph_is_read_alike_from_bytes_text_and_a_mapping() -> None:
    text = json.dumps(document(), indent=2)
    graph = graph_from_mapping(document())
    assert read_graph(text) == read_graph(text.encode()) == graph
    assert graph.states[0].tools[1].risk == "medium"
    assert graph.transitions[0].reward == 0.0
    assert graph.states[2].observation is None
    assert (graph.seed, graph.time_limit_ms, graph.use_jev_prior) == (7, 50.0, False)


def test_a_byte_order_mark_is_skipped() -> None:
    text = "\ufeff" + json.dumps(document())
    assert read_graph(text) == read_graph(text.encode()) == graph_from_mapping(document())


def test_settings_may_be_left_out_or_null() -> None:
    parts = {key: document()[key] for key in ("root_state", "states", "transitions")}
    nulls = dict.fromkeys(document().keys() - parts.keys())
    assert len(nulls) == 6
    assert graph_from_mapping(parts | nulls) == graph_from_mapping(parts)


def test_the_ends_of_each_range_are_accepted() -> None:
    top = {"simulations": 10**6, "max_depth": 10**4, "discount": 1, "seed": 2**64 - 1}
    for ends in (top, {"simulations": 1, "max_depth": 1, "discount": 0, "seed": 0}):
        graph_from_mapping(document() | ends)
    graph = changed(("states 0 value", 1e150), ("transitions 3 reward", -(10**150)))
    assert graph_from_mapping(graph).transitions[3].reward == -1e150


def test_names_are_kept_as_they_are_given() -> None:
    names = [" run", "run ", "läuft\n", "\x00", "🛠"]
    graph = changed(("states 2 tools", [{"name": name, "description": ""} for name in names]))
    assert [tool.name for tool in read_graph(json.dumps(graph)).states[2].tools] == names


def test_models_are_frozen_and_strict() -> None:
    graph = graph_from_mapping(document())
    with pytest.raises(ValidationError):
        graph.seed = 1
    with pytest.raises(ValidationError):
        GraphTransition(from_state="a", tool="t", to_state="b", reward="1")  # type: ignore[arg-type]


def test_every_field_has_a_description_for_the_input_schema_of_a_tool() -> None:
    schema = SimulationGraph.model_json_schema()
    parts = [schema, *schema["$defs"].values()]
    assert len(parts) == 4
    for part in parts:
        assert part["additionalProperties"] is False
        assert all(field.get("description") for field in part["properties"].values())
    assert schema["properties"]["states"]["minItems"] == 1


def test_reading_leaves_the_garbage_collector_as_it_was() -> None:
    assert gc.isenabled()
    graph_from_mapping(document())
    refused(lambda: read_graph("{}"))
    assert gc.isenabled()
    gc.disable()
    try:
        graph_from_mapping(document())
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_importing_the_wire_format_loads_nothing_heavy() -> None:
    heavy = "numba", "hydra", "mcp", "httpx"
    code = f"import sys, simulators.graph; print([m for m in {heavy} if m in sys.modules])"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True
    )
    assert ran.stdout.strip() == "[]"


def test_every_public_name_exists() -> None:
    assert all(hasattr(module, name) for name in module.__all__)


def test_the_graphs_of_the_examples_are_sound() -> None:
    for path in (ROOT / "examples").glob("*.json"):
        assert compile_graph(read_graph(path.read_bytes(), limits=LIMIT)).dead_tools == ()


# --- What is compiled


def test_states_tools_and_outcomes_keep_their_order() -> None:
    compiled = compile_graph(graph_from_mapping(document()))
    model = compiled.model
    assert compiled.state_ids == ("a", "b", "c")
    assert [[tool.name for tool in tools] for tools in compiled.tools] == [
        ["run", "ask"],
        ["run"],
        [],
    ]
    assert (compiled.root, compiled.dead_tools) == (0, ())
    assert model.action_offsets.tolist() == [0, 2, 3, 3]
    assert model.outcome_offsets.tolist() == [0, 2, 3, 4]
    assert model.next_state.tolist() == [1, 2, 0, 2]
    assert model.reward.tolist() == [0.0, 0.0, -0.5, 1.0]
    assert model.probability.tolist() == [0.25, 0.75, 1.0, 1.0]
    assert model.terminal.tolist() == [0, 0, 0, 1]
    assert model.value.tolist() == [0.5, 0.0, 0.0]


def test_the_arrays_have_the_types_of_the_engine() -> None:
    model = compile_graph(graph_from_mapping(document())).model
    for numbers in (model.action_offsets, model.outcome_offsets, model.next_state):
        assert numbers.dtype == np.int32
    for reals in (model.reward, model.probability, model.value):
        assert reals.dtype == np.float64
    assert model.terminal.dtype == np.uint8


def test_the_order_of_transitions_matters_only_within_a_pair() -> None:
    moves = document()["transitions"]
    graph = changed(("transitions", [moves[k] for k in (3, 1, 2, 0)]), ("root_state", "b"))
    compiled = compile_graph(graph_from_mapping(graph))
    assert compiled.root == 1
    assert compiled.model.next_state.tolist() == [2, 1, 0, 2]
    assert compiled.model.probability.tolist() == [0.75, 0.25, 1.0, 1.0]


def test_a_tool_without_a_transition_ends_in_place_and_is_listed() -> None:
    graph = changed(("transitions", document()["transitions"][2:3]))
    compiled = compile_graph(graph_from_mapping(graph))
    assert compiled.dead_tools == (("a", "run"), ("b", "run"))
    assert compiled.model.outcome_offsets.tolist() == [0, 1, 2, 3]
    assert compiled.model.next_state.tolist() == [0, 0, 1]
    assert compiled.model.reward.tolist() == [MISSING_TRANSITION_REWARD, -0.5, -1.0]
    assert compiled.model.terminal.tolist() == [1, 0, 1]
    assert compiled.model.probability.tolist() == [1.0, 1.0, 1.0]


def test_a_graph_without_transitions_and_one_without_tools_compile() -> None:
    graph = changed(("transitions", []))
    assert len(compile_graph(graph_from_mapping(graph)).dead_tools) == 3
    graph |= {"states": graph["states"][2:], "root_state": "c"}
    compiled = compile_graph(graph_from_mapping(graph))
    assert compiled.model.action_offsets.tolist() == [0, 0]
    assert compiled.model.outcome_offsets.tolist() == [0]


def test_probabilities_within_the_tolerance_are_divided_by_their_sum() -> None:
    near = ("transitions 0 probability", 0.2500009), ("transitions 3 probability", 0.9999995)
    graph = graph_from_mapping(changed(*near))
    assert graph.transitions[0].probability == 0.2500009  # the graph itself stays as given
    probability = compile_graph(graph).model.probability
    assert probability[0] == pytest.approx(0.2500009 / 1.0000009, rel=1e-12)
    assert probability[:2].sum() == pytest.approx(1.0, abs=1e-15)
    assert probability[3] == 1.0


def test_equal_outcomes_of_one_pair_are_kept_apart() -> None:
    model = compile_graph(graph_from_mapping(changed(("transitions 0 to_state", "c")))).model
    assert model.next_state.tolist()[:2] == [2, 2]
    assert model.probability.tolist()[:2] == [0.25, 0.75]


def test_compiling_checks_a_graph_that_was_built_by_hand() -> None:
    state = GraphState(id="a", goal="g", tools=[])
    graph = SimulationGraph(root_state="b", states=[state, state], transitions=[])
    error = refused(lambda: compile_graph(graph))
    assert error.place == "root_state"
    assert error.more == 1


# --- Anything at all

reals = st.floats(-1e150, 1e150)
names = st.text(min_size=1, max_size=8)


@st.composite
def graphs(draw: st.DrawFn) -> dict[str, Any]:
    """Sound graphs as plain values, with keys left out here and there."""
    ids = draw(st.lists(names, min_size=1, max_size=4, unique=True))
    tools = st.fixed_dictionaries(
        {"name": names.filter(str.strip), "description": st.text(max_size=5)},
        optional={
            "category": st.none() | st.text(max_size=3),
            "risk": st.sampled_from(["low", "medium", "high", "critical"]),
        },
    )
    states: list[dict[str, Any]] = [
        {
            "id": state,
            "goal": draw(st.text(max_size=5)),
            "value": draw(reals),
            "tools": draw(st.lists(tools, max_size=3, unique_by=lambda tool: tool["name"])),
        }
        for state in ids
    ]
    moves: list[dict[str, Any]] = []
    for state in states:
        for tool in state["tools"]:
            weights = draw(st.lists(st.floats(0.01, 1.0), max_size=3))
            moves += [
                {
                    "from_state": state["id"],
                    "tool": tool["name"],
                    "to_state": draw(st.sampled_from(ids)),
                    "reward": draw(reals),
                    "terminal": draw(st.booleans()),
                    "probability": weight / sum(weights),
                }
                for weight in weights
            ]
    settings = {
        "simulations": st.integers(1, 10**6),
        "max_depth": st.integers(1, 10**4),
        "discount": st.floats(0.0, 1.0),
        "use_jev_prior": st.booleans(),
        "seed": st.integers(0, 2**64 - 1),
        "time_limit_ms": st.floats(0.0, 1e9, exclude_min=True),
    }
    return {
        "root_state": draw(st.sampled_from(ids)),
        "states": states,
        "transitions": draw(st.permutations(moves)),
    } | draw(st.fixed_dictionaries({}, optional=settings))


@given(graphs())
def test_a_sound_graph_survives_the_way_through_json(plain: dict[str, Any]) -> None:
    graph = graph_from_mapping(plain)
    assert read_graph(graph.model_dump_json()) == graph
    assert read_graph(json.dumps(plain).encode()) == graph


@given(graphs())
def test_a_sound_graph_compiles_to_what_it_says(plain: dict[str, Any]) -> None:
    compiled = compile_graph(graph_from_mapping(plain))
    model, choice = compiled.model, 0
    dead: list[tuple[str, str]] = []
    for number, state in enumerate(plain["states"]):
        assert model.action_offsets[number] == choice
        for tool in state["tools"]:
            pair = state["id"], tool["name"]
            rows = range(*model.outcome_offsets[choice : choice + 2].tolist())
            moves = [m for m in plain["transitions"] if (m["from_state"], m["tool"]) == pair]
            if not moves:
                dead.append(pair)
                moves = [{"to_state": pair[0], "reward": -1.0, "terminal": True, "probability": 1}]
            assert len(rows) == len(moves)
            for row, move in zip(rows, moves, strict=True):
                assert compiled.state_ids[model.next_state[row]] == move["to_state"]
                assert model.reward[row] == move["reward"]
                assert model.terminal[row] == move["terminal"]
                assert model.probability[row] == pytest.approx(move["probability"])
            choice += 1
    assert compiled.dead_tools == tuple(dead)
    assert plain["states"][compiled.root]["id"] == plain["root_state"]


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(codec=None), max_size=5)
    | st.sampled_from(["a", "b", "run", "", 10**400, 2**64, 1e308, -1]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=3) | st.sampled_from(sorted(document())), inner)
    ),
    max_leaves=8,
)


def places(node: object) -> list[tuple[Any, Any]]:
    """Each (container, key or index) in a document."""
    if not isinstance(node, dict | list):
        return []
    steps = list(node) if isinstance(node, dict) else list(range(len(node)))
    below = [place for step in steps for place in places(node[step])]
    return [(node, step) for step in steps] + below


@given(st.data())
def test_a_mutated_graph_is_read_or_refused_and_nothing_else(data: st.DataObject) -> None:
    graph = json.loads(json.dumps(document()))
    for _ in range(data.draw(st.integers(1, 3))):
        node, step = data.draw(st.sampled_from(places(graph) or [({}, "x")]))
        how = data.draw(st.sampled_from(["delete", "replace", "insert", "copy"]))
        if how == "delete":
            node.pop(step, None) if isinstance(node, dict) else node.pop(step)
        elif how == "copy" and isinstance(node, list):
            node.append(node[step])
        elif how == "insert":
            value = data.draw(json_values)
            if isinstance(node, list):
                node.insert(step, value)
            else:
                node[data.draw(st.text(max_size=3))] = value
        else:
            node[step] = data.draw(json_values)
    _read_or_refused(lambda: read_graph(json.dumps(graph)))
    _read_or_refused(lambda: graph_from_mapping(graph, limits=GraphLimits(3, 4)))


@given(json_values)
def test_any_json_value_is_read_or_refused_and_nothing_else(value: object) -> None:
    _read_or_refused(lambda: read_graph(json.dumps(value)))
    _read_or_refused(lambda: read_graph(json.dumps({"states": value, "transitions": [value]})))


@given(st.binary() | st.text(st.characters(codec=None)))
def test_any_bytes_and_any_text_are_read_or_refused_and_nothing_else(data: bytes | str) -> None:
    _read_or_refused(lambda: read_graph(data))


@given(st.data())
def test_a_graph_with_bytes_changed_is_read_or_refused_and_nothing_else(
    data: st.DataObject,
) -> None:
    text = bytearray(json.dumps(document()).encode())
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(text) - 1))
        text[place : place + data.draw(st.integers(0, 5))] = data.draw(st.binary(max_size=3))
    _read_or_refused(lambda: read_graph(bytes(text)))


def _read_or_refused(read: Callable[[], SimulationGraph]) -> None:
    try:
        graph = read()
    except GraphError:
        refused(read)
    else:
        compile_graph(graph)
