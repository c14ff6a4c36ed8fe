"""har route-mcts: what a person sees, what a machine reads, and how bad input ends."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from router.cli import main
from tests.simulators.malformed_graphs import MALFORMED, Malformed

EXAMPLES = Path(__file__).parents[2] / "examples"
RELEASE = str(EXAMPLES / "risky_release.json")


def har(*args: str, stdin: bytes | str | None = None) -> Result:
    return CliRunner().invoke(main, ["route-mcts", *args], input=stdin)


def as_json(result: Result) -> dict[str, Any]:
    parsed = json.loads(result.stdout)
    assert isinstance(parsed, dict)
    return parsed


def test_a_person_sees_the_tool_its_evidence_a_table_and_the_tree() -> None:
    result = har(RELEASE)
    assert result.exit_code == 0
    assert result.stdout.startswith("deploy_canary")
    for word in ("proven best by backward induction", "visits", "share", "outcome 1", "postpone"):
        assert word in result.stdout
    assert "optimal policy" not in har(RELEASE, "--levels", "0").stdout


def test_a_machine_reads_one_object_with_finite_numbers() -> None:
    found = as_json(har(RELEASE, "--json", "--solver", "mcts", "--simulations", "2000"))
    assert found["tool"] == "deploy_canary"
    assert found["simulations"] == sum(found["root_visits"].values()) == 2000
    assert found["probability_kind"] == "visit_share"
    assert found["fallback"] is False


def test_stdin_is_read_where_no_file_is_named() -> None:
    text = Path(RELEASE).read_bytes()
    for args in ((), ("-",)):
        assert as_json(har(*args, "--json", stdin=text))["tool"] == "deploy_canary"


def test_options_win_over_the_graphs_own_settings() -> None:
    options = ("--solver", "mcts", "--json")
    assert as_json(har(RELEASE, *options))["simulations"] == 4096  # the graph's own
    assert as_json(har(RELEASE, *options, "--simulations", "10"))["simulations"] == 10
    assert as_json(har(RELEASE, *options, "--seed", "99"))["seed"] == 99
    shallow = as_json(har(RELEASE, "--max-depth", "1", "--json"))
    assert shallow["tool"] == "deploy_everywhere"


def test_the_same_input_and_seed_give_the_same_output() -> None:
    options = ("--solver", "mcts", "--json", "--evaluation", "rollout", "--seed", "5")
    first, second = (as_json(har(RELEASE, *options)) for _ in range(2))
    del first["time_ms"], second["time_ms"]
    assert first == second


def test_the_page_is_written_whole_and_stands_alone(tmp_path: Path) -> None:
    page = tmp_path / "tree.html"
    for solver in ("exact", "mcts"):
        assert har(RELEASE, "--html", str(page), "--solver", solver).exit_code == 0
        text = page.read_text()
        assert "deploy_canary" in text
        assert "http://" not in text
        assert "https://" not in text
        assert list(tmp_path.iterdir()) == [page]


def test_a_page_that_cannot_be_written_is_one_line_and_exit_2(tmp_path: Path) -> None:
    result = har(RELEASE, "--html", str(tmp_path / "missing" / "tree.html"))
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1


def test_an_abstention_is_exit_3_with_its_reason() -> None:
    states = [{"id": "s", "goal": "g", "tools": []}]
    graph = json.dumps({"root_state": "s", "states": states, "transitions": []})
    result = har("--json", stdin=graph)
    assert result.exit_code == 3
    assert as_json(result)["fallback_reason"] == "mcts_no_tools"
    assert as_json(result)["tool"] is None
    shown = har(stdin=graph)
    assert shown.exit_code == 3
    assert "abstains: mcts_no_tools" in shown.stdout


def test_dead_tools_are_named() -> None:
    tools = [{"name": name, "description": "d"} for name in ("a", "b[red]")]
    states = [{"id": "s", "goal": "g", "tools": tools}]
    moves = [{"from_state": "s", "tool": "a", "to_state": "s", "terminal": True}]
    graph = json.dumps({"root_state": "s", "states": states, "transitions": moves})
    assert "b[red] has no transition" in har(stdin=graph).stdout
    assert as_json(har("--json", stdin=graph))["dead_tools"] == ["b[red]"]


@pytest.mark.parametrize("case", MALFORMED, ids=lambda case: case.name)
def test_a_malformed_graph_is_one_clear_line_and_exit_2(case: Malformed) -> None:
    result = har("--json", stdin=case.data())
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("har route-mcts: ")
    assert result.stderr.count("\n") == 1
    assert case.says in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--simulations", "0"), "--simulations: got 0, wanted an integer from 1"),
        (("--max-depth", "0"), "--max-depth: got 0"),
        (("--discount", "1.5"), "--discount: got 1.5"),
        (("--discount", "nan"), "--discount: got nan"),
        (("--time-limit-ms", "-1"), "--time-limit-ms: got -1.0"),
        (("--exploration", "-1"), "--exploration: got -1.0"),
        (("--seed", "-1"), "--seed: got -1"),
    ],
)
def test_a_bad_option_is_one_line_that_names_it(args: tuple[str, ...], message: str) -> None:
    result = har(RELEASE, *args)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "args", [("--solver", "best"), ("--simulations", "many"), ("--what",), ("a", "b")]
)
def test_unusable_arguments_are_exit_2(args: tuple[str, ...]) -> None:
    assert har(*args).exit_code == 2


def test_a_missing_file_and_a_folder_are_one_line(tmp_path: Path) -> None:
    for path in (tmp_path / "none.json", tmp_path):
        result = har(str(path))
        assert result.exit_code == 2
        assert result.stderr.count("\n") == 1


def test_help_names_every_option_and_the_exit_codes() -> None:
    text = har("--help").stdout
    options = ("simulations", "max-depth", "discount", "time-limit-ms", "seed", "solver", "json")
    for option in (*options, "html", "levels", "selection", "evaluation", "exploration"):
        assert f"--{option}" in text
    assert "Exit codes" in text
    assert "route-mcts" in CliRunner().invoke(main, ["--help"]).stdout
