"""`har route`, in this process and as the command that is installed."""

import asyncio
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from router.cli import main
from tests.router.providers.decision_server import KEY, Behaviour, answering, running, saying

ROOT = Path(__file__).parents[2]
TOOLS = ROOT / "examples" / "tools" / "three.json"
GOAL = "Fix the failing parser test"
OBSERVATION = "The failure points to src/parser.py"
DOCUMENTED = ["--goal", GOAL, "--observation", OBSERVATION, "--tools-json", TOOLS.read_text()]


@pytest.fixture(autouse=True)
def _clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No key, no settings of whoever runs the tests."""
    for name in [name for name in os.environ if name.startswith("HARNESS_ROUTER_")]:
        monkeypatch.delenv(name)
    for name in ("OPENROUTER_API_KEY", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "160")
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)


def har(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(main, ["route", *arguments], input=stdin)


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Starts a decision service that behaves as told, and sets the key and its address."""
    stops: list[Any] = []

    def start(behaviour: Behaviour) -> None:
        ready = threading.Event()
        found: dict[str, Any] = {}

        async def run() -> None:
            async with running(behaviour) as server:
                found["url"], found["stop"] = server.url, asyncio.Event()
                found["loop"] = asyncio.get_running_loop()
                ready.set()
                await found["stop"].wait()

        thread = threading.Thread(target=asyncio.run, args=(run(),))
        thread.start()
        assert ready.wait(30)
        stops.append((thread, found))
        monkeypatch.setenv("OPENROUTER_API_KEY", KEY)
        monkeypatch.setenv("HARNESS_ROUTER_PROVIDER_URL", found["url"])
        monkeypatch.setenv("HARNESS_ROUTER_PROVIDER_TIMEOUT_SECONDS", "20")

    yield start
    for thread, found in stops:
        found["loop"].call_soon_threadsafe(found["stop"].set)
        thread.join(30)


def test_the_documented_example_with_a_key_prints_what_is_documented(service: Any) -> None:
    service(answering("read_file", 0.93))
    found = har(*DOCUMENTED)
    assert found.stdout == '{"tool": "read_file", "confidence": 0.93, "fallback": false}\n'
    assert (found.exit_code, found.stderr) == (0, "")


def test_the_documented_example_without_a_key_names_the_same_tool_first() -> None:
    found = har(*DOCUMENTED, "--json")
    whole = json.loads(found.stdout)
    assert max(whole["probabilities"], key=whole["probabilities"].get) == "read_file"
    assert (whole["source"], whole["model"], whole["provider_error"]) == ("local", None, None)
    assert found.exit_code == (3 if whole["fallback"] else 0)


def test_an_abstention_says_why_and_exits_3(service: Any) -> None:
    service(answering("read_file", 0.7))
    found = har(*DOCUMENTED)
    assert json.loads(found.stdout) == {
        "tool": None,
        "confidence": 0.7,
        "fallback": True,
        "reason": "planner_confirmation",
    }
    assert found.exit_code == 3
    assert har(*DOCUMENTED, "--direct-threshold", "0.7").exit_code == 0


def test_json_holds_the_whole_decision(service: Any) -> None:
    service(answering("read_file", 0.93))
    whole = json.loads(har(*DOCUMENTED, "--json").stdout)
    assert whole["model"] == "typesafe/jev-1.13-20260917"
    assert (whole["request_id"], whole["input_tokens"], whole["cost"]) == (
        "gen-dec-1",
        388,
        0.0000163,
    )
    assert sum(whole["probabilities"].values()) + whole["none_fits"] == pytest.approx(1.0)
    assert (whole["category"], whole["source"]) == ("inspect", "jev")


def test_a_provider_that_fails_leaves_the_local_selector() -> None:
    found = har(*DOCUMENTED, "--json", "--timeout", "5")
    alone = json.loads(found.stdout)
    assert alone["source"] == "local"


def test_a_failing_service_is_an_error_only_where_it_alone_may_decide(service: Any) -> None:
    service(saying(500, b'{"error": {"code": 500, "message": "down"}}'))
    hybrid = json.loads(har(*DOCUMENTED, "--json").stdout)
    assert (hybrid["source"], hybrid["provider_error"]) == ("local", "server_error")
    alone = har(*DOCUMENTED, "--mode", "jev_only")
    assert (alone.exit_code, alone.stdout) == (1, "")
    assert alone.stderr == "har route: openrouter: HTTP 500: down (server_error)\n"


def test_jev_only_without_a_key_says_which_variable() -> None:
    found = har(*DOCUMENTED, "--mode", "jev_only")
    assert found.exit_code == 1
    assert "OPENROUTER_API_KEY is not set" in found.stderr


def test_planner_only_asks_nobody() -> None:
    found = har(*DOCUMENTED, "--mode", "planner_only")
    assert json.loads(found.stdout)["reason"] == "planner_only"
    assert found.exit_code == 3


def test_tools_come_from_a_file_or_from_stdin() -> None:
    from_file = har("--goal", GOAL, "--tools", str(TOOLS), "--json")
    from_stdin = har("--goal", GOAL, "--tools", "-", "--json", stdin=TOOLS.read_text())
    probabilities = [json.loads(found.stdout)["probabilities"] for found in (from_file, from_stdin)]
    assert probabilities[0] == probabilities[1]


def test_the_history_counts() -> None:
    arguments = ("--goal", GOAL, "--tools", str(TOOLS), "--json")
    fresh = json.loads(har(*arguments).stdout)["probabilities"]
    later = har(*arguments, "--action", "read_file=ok", "--last-action", "read_file")
    assert json.loads(later.stdout)["probabilities"] != fresh


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--tools-json", "[]", "--tools", "x"], "wanted --tools-json or --tools"),
        ([], "wanted --tools-json or --tools"),
        (["--tools", "nowhere.json"], "--tools nowhere.json: No such file"),
        (["--tools-json", "[{"], "--tools-json: wanted JSON"),
        (["--tools-json", '[{"name": ""}]'], "tools[0].name: got ''"),
        (["--tools-json", '[{"name": "a"}, {"name": "a"}]'], "'a'"),
        (["--tools-json", "3"], "tools"),
        (["--tools-json", "[]", "--action", "x"], "--action: got 'x', wanted TOOL=OUTCOME"),
        (["--tools-json", "[]", "--direct-threshold", "2"], "--direct-threshold: got 2.0"),
        (["--tools-json", "[]", "--timeout", "0"], "--timeout: got 0.0"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(arguments: list[str], message: str) -> None:
    found = har("--goal", GOAL, *arguments)
    assert (found.exit_code, found.stdout) == (2, "")
    assert message in found.stderr
    assert found.stderr.startswith("har route: ")
    assert found.stderr.count("\n") == 1


def test_every_decision_leaves_a_record_unless_it_is_not_wanted(tmp_path: Path) -> None:
    found = json.loads(har(*DOCUMENTED, "--json", "--session", "s-1").stdout)
    har(*DOCUMENTED, "--no-record")
    shown = CliRunner().invoke(main, ["records", "list", "--json"])
    (record,) = json.loads(shown.stdout)
    assert record["id"] == found["record_id"]
    assert GOAL not in shown.stdout
    assert json.loads(har(*DOCUMENTED, "--json", "--no-record").stdout)["record_id"] is None


def test_a_place_where_no_record_can_be_kept_does_not_matter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "blocked").write_text("a file where a folder is wanted")
    monkeypatch.setenv("HARNESS_ROUTER_RECORDS", str(tmp_path / "blocked" / "records.db"))
    found = har(*DOCUMENTED, "--json")
    assert found.exit_code in (0, 3)
    assert json.loads(found.stdout)["record_id"] is None


def test_no_tools_is_an_abstention() -> None:
    found = har("--goal", GOAL, "--tools-json", "[]")
    assert (json.loads(found.stdout)["reason"], found.exit_code) == ("no_tools", 3)


def test_bad_settings_are_told(tmp_path: Path) -> None:
    (tmp_path / "harness-router.toml").write_text("[routing]\nmode = 'x'\n")
    found = har(*DOCUMENTED)
    assert found.exit_code == 2
    assert "routing.mode: got 'x'" in found.stderr


def test_explain_shows_the_tools_the_gate_and_who_decided(service: Any) -> None:
    local = har(*DOCUMENTED, "--explain").stdout
    assert "no key: OPENROUTER_API_KEY is not set" in local
    assert "none fits" in local
    assert all(name in local for name in ("read_file", "search_code", "write_file"))
    service(answering("read_file", 0.93))
    remote = har(*DOCUMENTED, "--explain").stdout
    assert remote.startswith("read_file  93.0%")
    assert "decided by the provider" in remote
    assert "chosen from 85% on, confirmed from 60% on" in remote
    service(answering("read_file", 0.7))
    assert "planner is to confirm" in har(*DOCUMENTED, "--explain").stdout


def test_the_installed_command_does_the_same_without_httpx_and_asyncio() -> None:
    code = (
        "import sys; from router.cli import main\n"
        "try: main(sys.argv[1:])\n"
        "except SystemExit as end: code = end.code\n"
        "heavy = {'httpx', 'asyncio', 'numba', 'rich', 'sqlite3', 'pydantic'} & set(sys.modules)\n"
        "print(sorted(heavy), file=sys.stderr); sys.exit(code)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, "route", *DOCUMENTED, "--no-record"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert run.returncode in (0, 3), run.stderr
    assert set(json.loads(run.stdout)) >= {"tool", "confidence", "fallback"}
    assert run.stderr == "[]\n"
