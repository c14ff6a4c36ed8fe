"""The decision cache where its file, its rows or the tools' schemas are not what they should be."""

import asyncio
import json
import sqlite3
import time
from pathlib import Path
from typing import Any

import pytest

from router import cache_file
from router.cache import SelectionCache, decision_key
from router.config import RoutingConfig
from router.models import HarnessState, Selection, ToolDescriptor
from router.providers import MockProvider, sure_of
from router.tool_router import JevToolRouter
from tests.router.fixed_selector import Fixed

STATE = HarnessState("fix it")
TOOLS = [ToolDescriptor("read", "Read a file"), ToolDescriptor("edit", "Edit a file")]
SELECTION = Selection("read", {"read": 0.9, "edit": 0.05}, 0.05, "jev", "v")


def around() -> dict[str, Any]:
    schema: dict[str, Any] = {}
    schema["properties"] = schema
    return schema


def deep() -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for _ in range(5000):
        schema = {"a": schema}
    return schema


SCHEMAS: dict[str, Any] = {
    "keys of two types": {"enum": {1: "a", "b": 2}},
    "a tuple as a key": {(1, 2): "a"},
    "a circle": around(),
    "depth": deep(),
}


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_that_is_no_json_does_not_stop_a_decision(name: str) -> None:
    odd = [ToolDescriptor("read", "Read a file", schema=SCHEMAS[name]), TOOLS[1]]
    provider = MockProvider(sure_of("read"))
    router = JevToolRouter(provider, selector=Fixed({}))
    assert asyncio.run(router.route(STATE, odd)).tool == "read"
    assert decision_key("v", STATE, odd, ()) != decision_key("v", STATE, TOOLS, ())
    assert decision_key("v", STATE, odd, ()) != decision_key("w", STATE, odd, ())


def rewritten(path: Path, **changes: Any) -> None:
    """Each row on disk with other values in its fields."""
    with sqlite3.connect(path) as connection:
        for key, body in connection.execute("SELECT key, body FROM selection").fetchall():
            text = json.dumps({**json.loads(body), **changes})
            connection.execute("UPDATE selection SET body = ? WHERE key = ?", (text, key))
    connection.close()


ODD_ROWS: dict[str, dict[str, Any]] = {
    "no probabilities": {"probabilities": None},
    "probabilities as texts": {"probabilities": {"read": "0.9", "edit": "0.05"}},
    "a probability of two": {"probabilities": {"read": 2.0, "edit": 0.05}},
    "a tool that is not on offer": {"tool": "rm"},
    "probabilities of other tools": {"tool": "rm", "probabilities": {"rm": 1.0}},
    "a field of a later version": {"colour": "red"},
}


@pytest.mark.parametrize("name", ODD_ROWS)
def test_a_row_that_is_no_selection_among_these_tools_is_asked_anew(
    name: str, tmp_path: Path
) -> None:
    path = tmp_path / "cache.db"

    def route(provider: MockProvider) -> Any:
        router = JevToolRouter(provider, RoutingConfig(cache_path=str(path)), selector=Fixed({}))
        decision = asyncio.run(router.route(STATE, TOOLS))
        router.close()
        return decision

    route(MockProvider(sure_of("read")))
    rewritten(path, **ODD_ROWS[name])
    decision = route(MockProvider(sure_of("edit")))
    assert (decision.tool, decision.source) == ("edit", "jev")
    decision = route(MockProvider(sure_of("read")))
    assert (decision.tool, decision.source) == ("edit", "cache")


def test_one_bad_row_does_not_end_the_use_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "cache.db"
    cache = SelectionCache(3, path)
    cache.put(b"a", SELECTION)
    rewritten(path, answer=3)
    cache.put(b"b", SELECTION)
    cache.close()
    again = SelectionCache(3, path)
    assert (again.get(b"a"), again.get(b"b")) == (None, SELECTION)
    again.close()


def test_a_row_is_read_while_another_process_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache_file, "BUSY_SECONDS", 0.0)
    path = tmp_path / "cache.db"
    cache = SelectionCache(3, path)
    cache.put(b"a", SELECTION)
    cache.close()
    other = sqlite3.connect(path, isolation_level=None)
    again = SelectionCache(3, path)
    again.put(b"b", SELECTION)  # it is open now
    other.execute("BEGIN IMMEDIATE")
    assert again.get(b"a") == SELECTION
    other.execute("ROLLBACK")
    other.close()
    again.close()


def test_a_late_answer_after_closing_does_not_open_the_file_again(tmp_path: Path) -> None:
    path = tmp_path / "cache.db"
    provider = MockProvider(TimeoutError())
    router = JevToolRouter(provider, RoutingConfig(cache_path=str(path)), selector=Fixed({}))
    asyncio.run(router.route(STATE, TOOLS, deadline=time.monotonic() + 60.0))
    router.close()
    path.unlink(missing_ok=True)
    question = provider.questions[0]
    assert question.on_late is not None
    question.on_late(sure_of("read")(question))
    assert not path.exists()
    decision = asyncio.run(router.route(STATE, TOOLS))
    assert (decision.tool, decision.source) == ("read", "cache")  # in memory it is kept


def test_a_path_may_begin_with_the_home_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    cache = SelectionCache(3, "~/cache.db")
    cache.put(b"a", SELECTION)
    cache.close()
    assert (tmp_path / "cache.db").exists()
    assert not (tmp_path / "~").exists()
