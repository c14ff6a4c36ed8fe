"""`har config`: what is in force and where it came from."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from router.cli import main


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.delenv("OPENROUTER_API_KEY", raising=False)
    monkeypatch.setenv("COLUMNS", "200")
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    return folder


def har(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["config", *arguments])


def test_show_prints_every_value_with_its_source(project: Path) -> None:
    (project / "harness-router.toml").write_text("[routing]\nhistory_limit = 3\n")
    found = har("show", "--project", str(project))
    assert found.exit_code == 0
    (row,) = [line for line in found.stdout.splitlines() if "routing.history_limit" in line]
    assert row.split()[:2] == ["routing.history_limit", "3"]
    assert row.endswith("harness-router.toml")
    assert "OPENROUTER_API_KEY is not set" in found.stdout


def test_show_never_shows_a_key(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENROUTER_API_KEY", "sk-or-secret-123")
    for flags in ([], ["--json"]):
        found = har("show", "--project", str(project), *flags)
        assert "sk-or-secret" not in found.output
    assert json.loads(found.stdout)["key_is_set"] is True


def test_json_holds_values_and_sources(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARNESS_ROUTER_ROUTING_MODE", "planner_only")
    found = json.loads(har("show", "--json", "--project", str(project)).stdout)
    assert found["settings"]["routing.mode"] == {
        "value": "planner_only",
        "source": "HARNESS_ROUTER_ROUTING_MODE",
    }
    assert found["settings"]["search.simulations"] == {"value": 64, "source": "default"}


def test_bad_settings_are_one_line_and_exit_2(project: Path) -> None:
    (project / "harness-router.toml").write_text("[routing]\nmode = 3\n")
    found = har("show", "--project", str(project))
    assert (found.exit_code, found.stdout) == (2, "")
    assert "routing.mode: got 3, wanted one of" in found.stderr
    assert found.stderr.count("\n") == 1


def test_path_says_which_files_are_there(project: Path) -> None:
    (project / "harness-router.toml").write_text("")
    first, second = har("path", "--project", str(project)).stdout.splitlines()
    assert first == f"project  {project / 'harness-router.toml'}"
    assert second.startswith("user ")
    assert second.endswith("(not there)")
