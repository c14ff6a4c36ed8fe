"""The page of a search tree: self-contained, safe against hostile texts, faithful to the arrays."""

import base64
import dataclasses
import hashlib
import json
import re
import shutil
import subprocess
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from mcts_core import Search, SearchConfig
from mcts_core.errors import ConfigError
from mcts_core.result import CHANCE, DECISION, OUTCOME, SearchTree
from mcts_core.view import render_html
from simulators import TabularModel
from tests.models import configs, models

HOSTILE = [
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<!-- <script>",
    "]]>&lt;b&gt;",
    "line\u2028and\u2029paragraph",
    "lone \ud800 surrogate",
    "quotes \" ' ` and \\ and \u202e",
    "__DATA__ __SCRIPT_HASH__ __STYLE_HASH__",
]


def make_tree(parent: Sequence[int], **columns: Any) -> SearchTree:
    """A tree with these parents; other columns hold plain values unless given."""
    nodes = len(parent)
    defaults: dict[str, Any] = {
        "parent": np.array(parent, np.int32),
        "action": np.zeros(nodes, np.int32),
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
    types = {name: array.dtype for name, array in defaults.items()}
    given = {name: np.array(column, types[name]) for name, column in columns.items()}
    return SearchTree(**(defaults | given))


def random_tree(nodes: int, seed: int = 0) -> SearchTree:
    """A tree of ``nodes`` nodes in breadth-first order with random columns."""
    rng = np.random.default_rng(seed)
    parent = np.concatenate(([-1], np.sort(rng.integers(0, np.arange(1, nodes)) // 8)))
    parent[1:] = np.minimum(parent[1:], np.arange(nodes - 1))
    return make_tree(
        parent.tolist(),
        action=rng.integers(0, 64, nodes),
        depth=rng.integers(0, 20, nodes),
        visits=rng.integers(1, 5000, nodes),
        value=rng.normal(size=nodes),
        prior=rng.random(nodes),
        reward=rng.normal(size=nodes),
        kind=rng.integers(0, 3, nodes),
        ended=rng.random(nodes) < 0.1,
        proven=rng.random(nodes) < 0.1,
    )


class Page(HTMLParser):
    """What a browser would load or run: tags with attributes, and the text of each script."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.rows: list[str] = []  # text of the label of each row of the tree, once drawn
        self._inside: list[tuple[str, str]] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._inside.append((tag, dict(attrs).get("class") or ""))
        if tag == "script":
            self.scripts.append("")
        if tag == "bdi":
            self.rows.append("")

    def handle_endtag(self, tag: str) -> None:
        while self._inside and self._inside.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        if self._inside and self._inside[-1][0] == "script":
            self.scripts[-1] += data
        if self._inside and self._inside[-1][0] == "bdi":
            self.rows[-1] += data

    def data(self) -> dict[str, Any]:
        """The JSON that the page carries."""
        loaded: dict[str, Any] = json.loads(self.scripts[0])
        return loaded

    def texts(self, name: str) -> list[str]:
        """The labels or details, one for each node."""
        table = self.data()[name]
        return [table["texts"][i] for i in table["at"]]


def test_the_page_loads_nothing_from_anywhere() -> None:
    page = render_html(make_tree([-1, 0]), ["root", "go"], title="T", details=["a", "b"])
    loads = r"(https?:)?//[a-z]|url\(|@import|\bimport\(|\bfetch\(|XMLHttp|WebSocket|EventSource"
    assert not re.search(loads, page)
    names = {name for _, attributes in Page(page).tags for name in attributes}
    assert names.isdisjoint({"src", "href", "srcset", "action", "data", "style", "onload"})
    assert {tag for tag, _ in Page(page).tags}.isdisjoint({"link", "img", "iframe", "object"})
    assert page.isascii()


def test_the_policy_admits_no_request_and_only_the_pages_own_script_and_style() -> None:
    page = render_html(make_tree([-1]), ["root"], title="T")
    (policy,) = [a["content"] for tag, a in Page(page).tags if tag == "meta" and "http-equiv" in a]
    directives = dict(part.split(maxsplit=1) for part in (policy or "").split(";"))
    assert directives["default-src"] == directives["base-uri"] == "'none'"
    assert directives["form-action"] == "'none'"
    for tag in ("script", "style"):
        (text,) = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert directives[f"{tag}-src"] == f"'sha256-{digest}'"


def test_hostile_texts_do_not_break_out_of_the_data() -> None:
    tree = make_tree([-1] + [0] * (len(HOSTILE) - 1))
    texts = {"title": HOSTILE[0], "subtitle": HOSTILE[1]}
    plain = Page(render_html(tree, ["x"] * len(tree), title="T", facts={"k": "v"}))
    page = render_html(tree, HOSTILE, facts={HOSTILE[0]: HOSTILE[1]}, details=HOSTILE, **texts)
    hostile = Page(page)
    assert hostile.tags == plain.tags
    assert hostile.scripts[1:] == plain.scripts[1:]
    assert not set("<>&\u2028\u2029") & set(hostile.scripts[0])
    assert hostile.texts("labels") == hostile.texts("details") == HOSTILE
    assert hostile.data()["facts"] == [[HOSTILE[0], HOSTILE[1]]]
    assert {name: hostile.data()[name] for name in texts} == texts


def test_the_script_never_turns_text_into_markup() -> None:
    script = Page(render_html(make_tree([-1]), ["root"], title="T")).scripts[1]
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b", script)


def test_the_data_are_the_arrays_to_six_digits() -> None:
    tree = random_tree(500)
    labels = [f"tool {i % 7}" for i in range(500)]
    page = Page(render_html(tree, labels, title="T"))
    for field in dataclasses.fields(SearchTree):
        column = getattr(tree, field.name)
        np.testing.assert_allclose(page.data()[field.name], column, rtol=5e-6, atol=0)
    assert page.texts("labels") == labels
    assert len(page.data()["labels"]["texts"]) == 7
    assert page.data()["details"] is None


def test_what_is_not_finite_becomes_null() -> None:
    tree = make_tree([-1, 0, 0, 0], value=[0.25, np.nan, np.inf, -np.inf], prior=[1, np.nan, 0, 1])
    page = Page(render_html(tree, ["root", "a", "b", "c"], title="T"))
    assert page.data()["value"] == [0.25, None, None, None]
    assert page.data()["prior"] == [1, None, 0, 1]


@pytest.mark.parametrize("field", ["labels", "details"])
@pytest.mark.parametrize("length", [0, 1, 3])
def test_texts_of_another_length_than_the_tree_are_refused(field: str, length: int) -> None:
    arguments: dict[str, Any] = {"labels": ["root", "go"], field: ["x"] * length}
    with pytest.raises(ConfigError, match=f"{field}: got {length}, wanted 2 entries"):
        render_html(make_tree([-1, 0]), title="T", **arguments)


def test_a_tree_that_is_not_one_is_refused() -> None:
    with pytest.raises(ConfigError, match="at least one node"):
        render_html(make_tree([]), [], title="T")
    with pytest.raises(ConfigError, match=r"tree\.visits"):
        render_html(make_tree([-1, 0], visits=[1]), ["root", "go"], title="T")
    for parent in ([0, 0], [-1, 1], [-1, -1], [-1, 2, 0]):
        with pytest.raises(ConfigError, match=r"tree\.parent"):
            render_html(make_tree(parent), ["x"] * len(parent), title="T")


@pytest.mark.parametrize(
    ("columns", "best"),
    [
        ({"visits": [9, 2, 4, 3]}, 2),
        ({"visits": [9, 3, 3, 3], "value": [0, 0.1, np.nan, 0.2]}, 3),
        ({"visits": [9, 3, 3, 3], "prior": [1, 0.2, 0.5, 0.3]}, 2),
        ({"visits": [9, 3, 3, 3], "action": [-1, 2, 1, 0]}, 3),
    ],
    ids=["visits", "value", "prior", "offered"],
)
def test_the_principal_variation_breaks_ties_in_order(columns: dict[str, Any], best: int) -> None:
    page = render_html(make_tree([-1, 0, 0, 0], **columns), ["root", "a", "b", "c"], title="T")
    assert Page(page).data()["pv"] == [0, best]


def test_the_principal_variation_follows_the_most_visited_outcome_of_chance() -> None:
    tree = make_tree(
        [-1, 0, 1, 1, 1, 3],
        action=[-1, 0, 0, 1, 2, 0],
        visits=[9, 8, 2, 4, 2, 1],
        value=[0, 0, 0.9, 0.1, 0.8, 0],
        kind=[DECISION, CHANCE, OUTCOME, OUTCOME, OUTCOME, DECISION],
    )
    page = render_html(tree, list("rabcde"), title="T")
    assert Page(page).data()["pv"] == [0, 1, 3, 5]


@settings(max_examples=100, deadline=None)
@given(models(), configs)
def test_the_principal_variation_is_the_one_of_the_search(
    model: TabularModel, config: SearchConfig
) -> None:
    run = Search(model, 0, config)
    run.run()
    tree = run.tree()
    line = Page(render_html(tree, ["x"] * len(tree), title="T")).data()["pv"]
    actions = [run.tree_actions()[i] for i in line[1:] if tree.kind[i] != OUTCOME]
    assert tuple(actions) == run.result().principal_variation


def test_a_hundred_thousand_nodes_take_at_most_64_bytes_each_and_repeated_texts_few() -> None:
    tree = random_tree(100_000)
    labels = [f"tool_{i % 50}" for i in range(100_000)]
    page = render_html(tree, labels, title="T")
    assert len(page) / len(tree) < 64  # 49 with random visits, values, priors, rewards
    details = [f"A long description of state {i % 20}. " * 20 for i in range(100_000)]
    with_details = render_html(tree, labels, title="T", details=details)
    assert (len(with_details) - len(page)) / len(tree) < 4


def test_a_browser_shows_the_principal_variation_and_hostile_labels_as_text(tmp_path: Path) -> None:
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("chromium is not on PATH, so no browser can open the page")
    # a root with 200 actions, three of them hostile, and the principal variation through the last
    labels = ["root", *HOSTILE[:3], *(f"tool_{i}" for i in range(3, 200)), "then", "finally"]
    visits = [1000, *range(1, 201), 150, 100]
    tree = make_tree([-1, *[0] * 200, 200, 201], action=range(-1, 202), visits=visits)
    tree.visits[1:4] = 190
    file = tmp_path / "tree.html"
    file.write_text(render_html(tree, labels, title=HOSTILE[0], details=labels), encoding="utf-8")
    flags = (
        "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run "
        "--disable-background-networking --disable-component-update --disable-sync"
    )
    command = [chromium, *flags.split(), f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom"]
    run = subprocess.run(
        [*command, file.as_uri()], check=True, capture_output=True, timeout=120, text=True
    )
    page = Page(run.stdout)
    assert page.rows[:4] == ["root", "tool_199", "then", "finally"]
    assert set(HOSTILE[:3]) <= set(page.rows)
    assert len(page.scripts) == 2
    assert not [tag for tag, _ in page.tags if tag == "img"]
    assert len(page.rows) < 52  # only what is in sight is drawn
