"""The decision cache: what it is keyed on, what it forgets, and a disk that fails."""

import json
import sqlite3
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from router.cache import SelectionCache, decision_key
from router.models import (
    ActionSummary,
    ChoiceDecision,
    HarnessState,
    RiskLevel,
    Selection,
    ToolDescriptor,
    Usage,
)

STATE = HarnessState(
    "fix it", "failed at a.py", "run", (ActionSummary("run", "failed", "abc"),), ("no network",)
)
TOOLS = [
    ToolDescriptor("read", "Read a file", "inspect", RiskLevel.LOW, {"type": "object"}),
    ToolDescriptor("edit", "Edit a file", "mutate"),
]
KEY = decision_key("v", STATE, TOOLS, (1, 2))
ANSWER = ChoiceDecision(
    "read", {"read": 0.9, "none": 0.1}, 0.8, "m-1", "id-1", Usage(1, 2, 3e-6), 4.0
)
SELECTION = Selection("read", {"read": 0.9}, 0.1, "jev", "v@m-1", ANSWER, ("because",))


def other_states() -> list[HarnessState]:
    return [
        replace(STATE, goal="fix that"),
        replace(STATE, observation="failed at b.py"),
        replace(STATE, observation=None),
        replace(STATE, last_action="edit"),
        replace(STATE, recent_actions=()),
        replace(STATE, recent_actions=(ActionSummary("run", "passed", "abc"),)),
        replace(STATE, recent_actions=(ActionSummary("run", "failed", "xyz"),)),
        replace(STATE, constraints=()),
    ]


def other_tools() -> list[list[ToolDescriptor]]:
    return [
        TOOLS[::-1],
        TOOLS[:1],
        [replace(TOOLS[0], description="Read"), TOOLS[1]],
        [replace(TOOLS[0], category=None), TOOLS[1]],
        [replace(TOOLS[0], risk=RiskLevel.HIGH), TOOLS[1]],
        [replace(TOOLS[0], schema={}), TOOLS[1]],
    ]


def test_the_key_changes_with_all_that_a_decision_depends_on() -> None:
    keys = [decision_key("v", state, TOOLS, (1, 2)) for state in other_states()]
    keys += [decision_key("v", STATE, tools, (1, 2)) for tools in other_tools()]
    keys += [decision_key("w", STATE, TOOLS, (1, 2)), decision_key("v", STATE, TOOLS, (1, 3))]
    assert len({KEY, *keys}) == 1 + len(keys)
    same = [replace(tool) for tool in TOOLS]
    assert decision_key("v", replace(STATE), same, (1, 2)) == KEY


def test_the_least_recently_used_goes_first() -> None:
    cache = SelectionCache(2)
    cache.put(b"a", SELECTION)
    cache.put(b"b", SELECTION)
    assert cache.get(b"a") is SELECTION
    cache.put(b"c", SELECTION)
    assert (cache.get(b"b"), cache.get(b"a"), len(cache)) == (None, SELECTION, 2)


def test_size_zero_keeps_nothing(tmp_path: Path) -> None:
    cache = SelectionCache(0, tmp_path / "cache.db")
    cache.put(b"a", SELECTION)
    assert cache.get(b"a") is None
    assert not (tmp_path / "cache.db").exists()


def test_a_file_survives_the_process_bounded_and_private(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "cache.db"
    first = SelectionCache(3, path)
    for name in (b"a", b"b", b"c", b"d"):
        first.put(name, SELECTION)
    first.close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    second = SelectionCache(3, path)
    assert second.get(b"a") is None
    assert second.get(b"d") == SELECTION
    second.close()


def test_the_file_holds_no_goal_and_no_observation(tmp_path: Path) -> None:
    path = tmp_path / "cache.db"
    cache = SelectionCache(3, path)
    cache.put(KEY, SELECTION)
    cache.close()
    kept = path.read_bytes()
    assert b"read" in kept
    assert b"fix it" not in kept
    assert b"a.py" not in kept


@pytest.mark.parametrize("content", [b"no database", b"", b"\0" * 5000])
def test_a_broken_file_is_as_none(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "cache.db"
    path.write_bytes(content)
    cache = SelectionCache(3, path)
    cache.put(b"a", SELECTION)
    assert cache.get(b"a") == SELECTION
    cache.close()


def test_a_broken_row_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "cache.db"
    cache = SelectionCache(3, path)
    cache.put(b"a", SELECTION)
    cache.close()
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE selection SET body = ?", (json.dumps({"tool": 3}),))
    connection.close()
    again = SelectionCache(3, path)
    assert again.get(b"a") is None
    again.close()


def test_a_folder_in_the_way_is_as_no_file(tmp_path: Path) -> None:
    cache = SelectionCache(3, tmp_path)
    cache.put(b"a", SELECTION)
    assert cache.get(b"a") == SELECTION


def test_processes_share_a_file(tmp_path: Path) -> None:
    path = tmp_path / "cache.db"
    code = (
        "import sys; from router.cache import SelectionCache; from router.models import Selection;"
        "cache = SelectionCache(1000, sys.argv[1]);"
        "[cache.put(f'{sys.argv[2]}{i}'.encode(),"
        " Selection('t', {'t': 1.0}, 0.0, 'jev', 'v')) for i in range(100)]"
    )
    command = [sys.executable, "-c", code, str(path)]
    running = [subprocess.Popen([*command, name]) for name in ("a", "b")]
    assert [process.wait(60) for process in running] == [0, 0]
    cache = SelectionCache(1000, path)
    found = [cache.get(f"{name}{i}".encode()) for name in ("a", "b") for i in range(100)]
    cache.close()
    assert sum(selection is not None for selection in found) >= 150
