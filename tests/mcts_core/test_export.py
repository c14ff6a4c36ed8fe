"""A search tree as JSON, DOT, networkx graph and file: complete, safe with any label, lossless."""

import dataclasses
import io
import json
import math
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcts_core import ConfigError, Search, SearchConfig
from mcts_core.export import from_npz, to_dot, to_json, to_networkx, to_npz
from mcts_core.result import CHANCE, COLUMNS, DECISION, OUTCOME, SearchTree
from simulators import TabularModel
from tests.models import configs, models

HOSTILE = [
    'quote " and \\" and \\',
    '"]; evil [label="x',
    "ends with a backslash \\",
    r"escapes \N \G \l \n",
    "<b>html</b> &lt; &amp; &quot;",
    "line\nbreak\r\ttab",
    "nul \x00 and bell \x07",
    "lone \ud800 surrogate",
    "bidi \u202e override and \u2028 separator",
    "", "}", "// comment", "/* comment", "# line", "x" * 500, "naïve 工具 🙂",
]  # fmt: skip


def make_tree(parent: Sequence[int], **columns: Any) -> SearchTree:
    """A tree with these parents; other columns hold plain values unless given."""
    nodes = len(parent)
    defaults: dict[str, Any] = {
        "parent": np.array(parent, np.int32),
        "action": np.arange(-1, nodes - 1, dtype=np.int32),
        "depth": np.zeros(nodes, np.int32),
        "visits": np.ones(nodes, np.int32),
        "value": np.zeros(nodes),
        "prior": np.full(nodes, 0.5),
        "reward": np.zeros(nodes),
        "kind": np.full(nodes, DECISION, np.uint8),
        "ended": np.zeros(nodes, np.bool_),
        "proven": np.zeros(nodes, np.bool_),
        "home": np.arange(nodes, dtype=np.int32),
    }
    given = {name: np.array(column, defaults[name].dtype) for name, column in columns.items()}
    return SearchTree(**(defaults | given))


def searched(model: TabularModel, config: SearchConfig) -> Search:
    run = Search(model, 0, config)
    run.run()
    return run


@st.composite
def trees(draw: st.DrawFn) -> SearchTree:
    """Any tree at all: any parents, any floats, all kinds."""
    nodes = draw(st.integers(1, 30))
    whole, real = st.integers(-(2**31), 2**31 - 1), st.floats()
    columns = {
        name: draw(st.lists(entry, min_size=nodes, max_size=nodes))
        for name, entry in {
            "visits": whole, "action": whole, "depth": whole,
            "value": real, "prior": real, "reward": real,
            "kind": st.sampled_from([DECISION, CHANCE, OUTCOME]),
            "ended": st.booleans(), "proven": st.booleans(),
        }.items()
    }  # fmt: skip
    parents = [-1, *(draw(st.integers(0, node - 1)) for node in range(1, nodes))]
    return make_tree(parents, **columns)


def same(one: SearchTree, other: SearchTree) -> bool:
    """Equal in every bit, types included."""
    pairs = [(getattr(one, name), getattr(other, name)) for name in COLUMNS]
    return all(a.dtype == b.dtype and a.tobytes() == b.tobytes() for a, b in pairs)


# A quoted string of DOT (\" is the only escape of its lexer) inside a node's line.
NODE = re.compile(r'  n(\d+) \[label="((?:[^"\\]|\\.)*)", shape=(\w+)((?:, \w+=\d)*)\];')
EDGE = re.compile(r"  n(\d+) -> n(\d+);")


def parsed(dot: str) -> tuple[dict[int, str], list[tuple[int, int]]]:
    """The nodes' names and the edges of what ``to_dot`` wrote; fails on any other line."""
    first, font, *lines, last, nothing = dot.split("\n")
    assert (first, font, last, nothing) == (
        "digraph tree {",
        '  node [fontname="sans-serif"];',
        "}",
        "",
    )
    names, edges = {}, []
    for line in lines:
        if node := NODE.fullmatch(line):
            names[int(node[1])] = unescaped(re.sub(r"\\n-?\d+ visits\\nvalue \S+$", "", node[2]))
        elif edge := EDGE.fullmatch(line):
            edges.append((int(edge[1]), int(edge[2])))
        else:
            assert re.fullmatch(r'  label="the \d+ most visited of \d+ nodes";', line), line
    return names, edges


def unescaped(label: str) -> str:
    """What Graphviz shows for a label of escapes and entities."""
    assert not re.search(r"&(?!amp;)", label)
    return re.sub(r"\\(.)", r"\1", label).replace("&amp;", "&")


# --- JSON -------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(trees())
def test_json_holds_every_finite_number_exactly_and_null_for_the_others(tree: SearchTree) -> None:
    data = json.loads(json.dumps(to_json(tree), allow_nan=False))
    assert (data["format"], data["version"], data["nodes"]) == ("mcts-tree", 1, len(tree))
    for name in COLUMNS:
        for got, wanted in zip(data[name], getattr(tree, name).tolist(), strict=True):
            assert got == (wanted if math.isfinite(wanted) else None)
    assert [data["kinds"][kind] for kind in (DECISION, CHANCE, OUTCOME)] == [
        "decision", "chance", "outcome",
    ]  # fmt: skip


def test_json_keeps_hostile_labels() -> None:
    tree = make_tree([-1] + [0] * (len(HOSTILE) - 1))
    text = json.dumps(to_json(tree, HOSTILE))
    assert text.isascii()
    assert json.loads(text)["labels"] == HOSTILE
    assert "labels" not in to_json(tree)


def test_the_actions_of_a_search_are_labels() -> None:
    model = TabularModel([0, 2, 2], [0, 1, 2], [1, 1], [0.0, 1.0], labels=[("go", 1), None])
    run = searched(model, SearchConfig(20))
    assert set(to_json(run.tree(), run.tree_actions())["labels"][1:]) == {"('go', 1)", "None"}


def test_every_array_of_a_tree_is_exported() -> None:
    assert set(COLUMNS) == {field.name for field in dataclasses.fields(SearchTree)}


# --- DOT --------------------------------------------------------------------------------------


def test_dot_shows_hostile_labels_as_they_are_and_nothing_else() -> None:
    tree = make_tree([-1] + [0] * (len(HOSTILE) - 1))
    dot = to_dot(tree, HOSTILE)
    names, edges = parsed(dot)
    assert edges == [(0, node) for node in range(1, len(tree))]
    dot.encode("utf-8")  # no lone surrogate is left
    for node, label in enumerate(HOSTILE):
        if label.isprintable() and len(label) <= 80:
            assert names[node] == label
        assert names[node].isprintable()
        assert len(names[node]) <= 200
    assert names[HOSTILE.index("line\nbreak\r\ttab")] == r"line\nbreak\r\ttab"
    assert names[HOSTILE.index("x" * 500)] == "x" * 79 + "…"


@settings(max_examples=60, deadline=None)
@given(trees(), st.integers(1, 40), st.text(max_size=90))
def test_dot_draws_the_most_visited_nodes_as_one_tree(
    tree: SearchTree, most: int, label: str
) -> None:
    names, edges = parsed(to_dot(tree, [label] * len(tree), max_nodes=most))
    assert len(names) == min(most, len(tree))
    assert [child for _, child in edges] == [node for node in names if node]
    assert all(tree.parent[child] == parent and parent in names for parent, child in edges)
    *before, last = names
    passed_over = [n for n in range(len(tree)) if n not in names and tree.parent[n] in before]
    assert all(tree.visits[node] <= tree.visits[last] for node in passed_over)


def test_dot_tells_kinds_ends_and_proofs_apart_and_says_what_is_left_out() -> None:
    tree = make_tree(
        [-1, 0, 1, 0],
        kind=[DECISION, CHANCE, OUTCOME, DECISION],
        visits=[9, 6, 6, 2],
        ended=[False, False, True, False],
        proven=[False, False, True, False],
        value=[0.5, -0.25, math.nan, 0.0],
    )
    dot = to_dot(tree, max_nodes=3)
    assert r'n0 [label="root\n9 visits\nvalue 0.5", shape=box];' in dot
    assert r'n1 [label="0\n6 visits\nvalue -0.25", shape=diamond];' in dot
    assert r'n2 [label="1\n6 visits\nvalue nan", shape=ellipse, peripheries=2, penwidth=3];' in dot
    assert 'label="the 3 most visited of 4 nodes"' in dot
    assert "n3" not in dot
    assert "most visited" not in to_dot(tree)


@pytest.mark.skipif(shutil.which("dot") is None, reason="needs Graphviz' program dot")
def test_graphviz_reads_it() -> None:
    tree = make_tree([-1] + [0] * (len(HOSTILE) - 1))
    text = to_dot(tree, HOSTILE).encode()
    subprocess.run(["dot", "-Tsvg"], input=text, capture_output=True, check=True)


# --- networkx ---------------------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(models(), configs)
def test_the_graph_has_the_nodes_edges_and_entries_of_the_tree(
    model: TabularModel, config: SearchConfig
) -> None:
    networkx: Any = pytest.importorskip("networkx", reason="needs the extra networkx")
    run = searched(model, config)
    tree, labels = run.tree(), run.tree_actions()
    graph = to_networkx(tree, labels)
    assert sorted(graph.nodes) == list(range(len(tree)))
    assert networkx.is_arborescence(graph)
    assert {child: parent for parent, child in graph.edges} == dict(
        enumerate(tree.parent[1:].tolist(), start=1)
    )
    for node, entries in graph.nodes(data=True):
        assert entries["visits"] == tree.visits[node]
        assert entries["value"] == pytest.approx(tree.value[node], nan_ok=True)
        assert entries["kind"] == ("decision", "chance", "outcome")[tree.kind[node]]
        assert entries["label"] == labels[node]
        assert "parent" not in entries
    assert "label" not in to_networkx(tree).nodes[0]


def test_without_networkx_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(ImportError, match=r"pip install 'harness-router\[networkx\]'"):
        to_networkx(make_tree([-1]))


# --- files ------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(trees())
def test_a_saved_tree_comes_back_equal_in_every_bit(tree: SearchTree) -> None:
    file = io.BytesIO()
    to_npz(tree, file)
    file.seek(0)
    assert same(from_npz(file), tree)
    assert not file.closed


@pytest.mark.parametrize("name", ["tree.npz", "tree without suffix"])
def test_a_path_is_used_as_it_is(tmp_path: Path, name: str) -> None:
    tree = searched(TabularModel([0, 2], [0, 1, 2], [0, 0], [0.0, 1.0]), SearchConfig(50)).tree()
    to_npz(tree, tmp_path / name)
    to_npz(tree, str(tmp_path / "as text"))
    assert [path.name for path in sorted(tmp_path.iterdir())] == sorted([name, "as text"])
    assert same(from_npz(tmp_path / name), tree)
    assert same(from_npz(str(tmp_path / "as text")), tree)


def test_a_missing_file_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        from_npz(tmp_path / "none")


def saved(**changes: Any) -> io.BytesIO:
    """A small saved tree with some arrays changed; None leaves one out."""
    tree = make_tree([-1, 0, 0])
    arrays: dict[str, Any] = {name: getattr(tree, name) for name in COLUMNS}
    arrays |= {"format_version": np.array(1)} | changes
    file = io.BytesIO()
    np.savez(file, **{name: array for name, array in arrays.items() if array is not None})
    file.seek(0)
    return file


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format_version": np.array(99)}, "format_version: got 99, wanted 1"),
        ({"format_version": np.array([1, 1])}, "format_version: got"),
        ({"format_version": None}, "file: got .*format_version.*wanted a tree saved by to_npz"),
        ({"visits": None}, "file: got .*visits"),
        ({"visits": np.zeros(3)}, r"tree.visits: got 'float64 \[3\]', wanted int32 \[N\]"),
        ({"visits": np.zeros((3, 1), np.int32)}, r"tree.visits: got 'int32 \[3, 1\]'"),
        ({"value": np.zeros(2)}, "tree.value: got 2, wanted 3 entries"),
        ({"value": np.array([{}, {}, {}])}, "file: got .*allow_pickle"),
        ({"parent": np.array([-1, 0, 2], np.int32)}, r"tree.parent\[2\]: got 2, wanted"),
        ({"kind": np.array([0, 1, 7], np.uint8)}, "tree.kind: got 7, wanted 0, 1 or 2"),
    ],
)
def test_a_file_that_holds_no_tree_is_refused_by_what_is_wrong(
    changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        from_npz(saved(**changes))


def test_files_of_other_kinds_are_refused() -> None:
    array = io.BytesIO()
    np.save(array, np.zeros(3))
    for content in (b"", b"text", b"PK\x03\x04 no archive", b"\x80\x04}.", array.getvalue()):
        with pytest.raises(ConfigError, match="wanted a tree saved by to_npz"):
            from_npz(io.BytesIO(content))


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_a_damaged_file_gives_an_error_or_the_tree_and_nothing_else(data: st.DataObject) -> None:
    file = io.BytesIO()
    to_npz(make_tree([-1, 0, 0]), file)
    content = bytearray(file.getvalue())
    if data.draw(st.booleans()):
        del content[data.draw(st.integers(0, len(content) - 1)) :]
    else:
        content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    try:
        tree = from_npz(io.BytesIO(bytes(content)))
    except ConfigError:
        return
    assert len(tree) == 3


# --- what is no tree --------------------------------------------------------------------------


@pytest.mark.parametrize("export", [to_json, to_dot, to_networkx])
def test_what_is_no_tree_is_refused_with_the_place(export: Any) -> None:
    with pytest.raises(ConfigError, match="tree: got 0, wanted at least one node"):
        export(make_tree([]))
    with pytest.raises(ConfigError, match=r"tree.parent\[1\]: got 2, wanted .* an earlier node"):
        export(make_tree([-1, 2, 0]))
    with pytest.raises(ConfigError, match=r"tree.parent\[0\]: got 0"):
        export(make_tree([0, 0]))
    with pytest.raises(ConfigError, match=r"tree\.proven: got 1, wanted 2 entries"):
        export(make_tree([-1, 0], proven=[False]))
    with pytest.raises(ConfigError, match="labels: got 1, wanted 2 entries"):
        export(make_tree([-1, 0]), ["one"])
    with pytest.raises(ConfigError, match="max_nodes: got 0"):
        to_dot(make_tree([-1]), max_nodes=0)
