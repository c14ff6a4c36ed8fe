"""har records: what a person sees, what a machine reads, and how bad input ends."""

import json
import sqlite3
import stat
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from router.cli import main
from router.decisions.ids import first_id, new_id
from router.decisions.outcome import Outcome
from router.decisions.query import RecordQuery
from router.decisions.record import DecisionRecord
from router.decisions.store import RecordStore
from router.models import RouteDecision
from tests.router.decisions.samples import PICK, record

HEAD = ["time", "id", "point", "decision", "p", "of", "source", "fallback", "outcome"]


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RecordStore:
    """The store that the command finds by itself."""
    path = tmp_path / "records.db"
    monkeypatch.setenv("HARNESS_ROUTER_RECORDS", str(path))
    return RecordStore(path)


def har(*args: str, stdin: bytes | str | None = None) -> Result:
    return CliRunner().invoke(main, ["records", *args], input=stdin)


def as_json(result: Result) -> Any:
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def fill(store: RecordStore) -> list[DecisionRecord]:
    """A pick, a pick of another point, an abstention; in this order."""
    made = [
        record(session="s1"),
        record(point="route"),
        record(RouteDecision.fallback_to_planner("low_confidence", confidence=0.4)),
    ]
    store.add_many(made)
    store.close()
    return made


def refused(result: Result, code: int) -> str:
    """The one line that a refused command prints."""
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith("har records ")
    return result.stderr


def test_a_person_sees_the_newest_first_with_pick_and_fallback(store: RecordStore) -> None:
    made = fill(store)
    result = har("list")
    assert result.exit_code == 0
    head, *rows = result.stdout.splitlines()
    assert head.split() == HEAD
    assert [row.split()[2] for row in rows] == [one.id[:16] for one in made[::-1]]
    assert "abstains: low_confidence" in rows[0]
    assert "planner: low_confidence" in rows[0]
    assert "edit_file" in rows[2]
    assert "0.90" in rows[2]


def test_a_machine_reads_an_array_of_whole_records(store: RecordStore) -> None:
    made = fill(store)
    found = as_json(har("list", "--json"))
    assert [one["id"] for one in found] == [one.id for one in made[::-1]]
    assert found[2]["probabilities"] == PICK.probabilities
    assert found[2]["options"] == made[0].options.as_json()
    assert found[0]["fallback"] == {"to": "planner", "reason": "low_confidence"}


def test_filters_choose_the_records(store: RecordStore) -> None:
    made = fill(store)

    def ids(*args: str) -> list[str]:
        return [one["id"] for one in as_json(har("list", "--json", *args))]

    assert ids("--point", "route") == [made[1].id]
    assert ids("--fallbacks-only") == [made[2].id]
    assert ids("--limit", "1") == [made[2].id]
    assert len(ids("--limit", "0")) == 3
    assert ids("--since", "1h") == [one.id for one in made[::-1]]
    assert ids("--until", "1h") == ids("--since", "2999-01-01") == []
    assert len(ids("--since", "2020-01-01T00:00:00+00:00")) == 3
    with store:
        mine = record(session="s9", privacy=privacy_of(store))
        store.add(mine)
        hashed = store.session_hash("s9")
    assert ids("--session", "s9") == ids("--session", hashed) == [mine.id]


def privacy_of(store: RecordStore) -> Any:
    from router.decisions.privacy import Privacy

    return Privacy("full", store.key)


def test_where_there_is_no_file_there_are_no_records(store: RecordStore) -> None:
    assert har("list").stdout == "no records\n"
    assert as_json(har("list", "--json")) == []
    assert not store.path.exists()
    assert "missing" in refused(har("show", new_id()), 1)
    assert "missing" in refused(har("purge", "--all", "--yes"), 1)
    assert "missing" in refused(har("outcome", new_id(), "success"), 1)
    assert not store.path.exists()


def test_a_record_is_shown_whole_with_all_that_was_said_of_it(store: RecordStore) -> None:
    made = fill(store)[0]
    store.attach(made.id, Outcome("failure", by="hook"))
    store.attach(made.id, Outcome(None, ["read_file"], by="anna"))
    store.close()
    shown = har("show", made.id[:20]).stdout
    for text in (
        "edit_file",
        "fix the failing test",
        "local@1",
        "read_file  right",
        "hook: failure",
        "anna: failure, right: read_file",
        made.options.set_hash,
    ):
        assert text in shown
    found = as_json(har("show", made.id, "--json"))
    assert [one["by"] for one in found["outcomes"]] == ["hook", "anna"]
    assert found["state"]["goal"] == "fix the failing test"


def test_markup_and_control_characters_in_a_record_are_shown_as_text(store: RecordStore) -> None:
    store.add(record(RouteDecision.fallback_to_planner("[red]x\x1b[2J")))
    store.close()
    shown = har("list").stdout
    assert "[red]x" in shown
    assert "\x1b" not in shown


def test_an_outcome_is_said_once_and_contradicted_only_by_force(store: RecordStore) -> None:
    made = fill(store)[0]
    args = ("outcome", made.id[:20], "success", "--right", "edit_file", "--by", "anna")
    assert har(*args).stdout == f"{made.id}: noted\n"
    assert har(*args).stdout == f"{made.id}: known\n"
    assert "anna said 'success' before" in refused(har("outcome", made.id, "failure"), 2)
    said = as_json(har("outcome", made.id, "failure", "--none-right", "--force", "--json"))
    assert (said["new"], said["outcome"]["right"]) == (True, [])
    assert len(store.outcomes(made.id)) == 2
    store.close()


def test_a_label_alone_and_measures_can_be_said(store: RecordStore) -> None:
    made = fill(store)[2]
    options = ("--right", "read_file", "--right", "edit_file", "--duration-ms", "2.5")
    said = as_json(har("outcome", made.id, "unknown", *options, "--retries", "2", "--json"))
    assert said["outcome"]["result"] is None
    assert said["outcome"]["right"] == ["read_file", "edit_file"]
    assert (said["outcome"]["duration_ms"], said["outcome"]["retries"]) == (2.5, 2)
    assert said["outcome"]["by"]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("show", "zz"), "id: got 'zz', wanted 4 to 32 hexadecimal digits"),
        (("show", "ffff"), "no record begins with 'ffff'"),
        (("outcome", "ffff", "success"), "no record begins with 'ffff'"),
        (("outcome", "ID", "success", "--right", "rm"), "right: got 'rm', wanted an option"),
        (("outcome", "ID", "success", "--right", "a", "--none-right"), "without --none-right"),
        (("outcome", "ID", "success", "--retries", "-1"), "retries: got -1"),
        (("outcome", "ID", "success", "--duration-ms", "nan"), "duration_ms: got nan"),
        (("outcome", "ID", "success", "--by", " "), "by: got ' '"),
        (("purge",), "wanted --all, --before, --max-bytes or another filter"),
        (("purge", "--all"), "wanted --yes"),
        (("purge", "--all", "--max-bytes", "1MB", "--yes"), "--max-bytes: wanted alone"),
        (("import", "no-such-file"), "no-such-file: No such file"),
        (("export", "no-such-folder/file"), "No such file"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(
    store: RecordStore, args: tuple[str, ...], message: str
) -> None:
    made = fill(store)[0]
    result = har(*(made.id if arg == "ID" else arg for arg in args))
    assert message in refused(result, 2)
    assert store.count() == 3
    store.close()


@pytest.mark.parametrize(
    "args",
    [
        ("list", "--since", "yesterday"),
        ("list", "--limit", "-1"),
        ("purge", "--max-bytes", "many"),
        ("outcome", "ffff", "won"),
        ("what",),
    ],
)
def test_unusable_arguments_are_exit_2(store: RecordStore, args: tuple[str, ...]) -> None:
    assert har(*args).exit_code == 2


@pytest.mark.parametrize(
    "args", [("list",), ("show", "ffff"), ("export", "-"), ("import", "-"), ("purge", "--all")]
)
def test_a_file_that_cannot_be_used_is_one_line_and_exit_1(
    store: RecordStore, args: tuple[str, ...]
) -> None:
    with sqlite3.connect(store.path) as other:
        other.execute("CREATE TABLE notes (x)")
    other.close()
    assert ": foreign: " in refused(har(*args, stdin=b""), 1)


def test_a_damaged_file_is_left_alone_by_those_who_only_read(store: RecordStore) -> None:
    store.path.write_bytes(b"garbage" * 1000)
    assert "corrupt" in refused(har("list"), 1)
    assert store.path.read_bytes() == b"garbage" * 1000


def test_what_is_exported_is_imported_elsewhere_the_same(
    store: RecordStore, tmp_path: Path
) -> None:
    made = fill(store)
    store.attach(made[0].id, Outcome("success", by="anna"))
    store.close()
    lines, other = tmp_path / "out.jsonl", str(tmp_path / "other.db")
    assert har("export", str(lines)).stdout == "3 records written\n"
    assert stat.S_IMODE(lines.stat().st_mode) == 0o600
    assert har("export", "-").stdout_bytes == lines.read_bytes()
    result = har("import", str(lines), "--db", other)
    assert result.stdout == "3 records read, 0 were there already\n"
    assert as_json(har("import", "-", "--db", other, "--json", stdin=lines.read_bytes())) == {
        "records": 0,
        "duplicates": 3,
        "outcomes": 0,
        "broken": 0,
        "problems": [],
    }
    with store, RecordStore(other) as copy:
        assert list(copy.records()) == list(store.records())
    assert as_json(har("export", str(lines), "--point", "route", "--json")) == {"records": 1}
    assert not list(tmp_path.glob("*.partial"))


def test_broken_lines_are_told_by_number_and_end_in_exit_2(
    store: RecordStore, tmp_path: Path
) -> None:
    fill(store)
    lines = b"broken\n" + har("export", "-").stdout_bytes + b'{"v": 1}\n'
    other = str(tmp_path / "other.db")
    result = har("import", "-", "--db", other, stdin=lines)
    assert result.exit_code == 2
    assert result.stdout == "3 records read, 0 were there already\n"
    assert [line.split(":")[:2] for line in result.stderr.splitlines()] == [
        ["har records import", " line 1"],
        ["har records import", " line 6"],
    ]


def test_purge_asks_and_deletes_only_when_told_so(
    store: RecordStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(store)
    monkeypatch.setattr("router.cli.records._can_ask", lambda: True)
    result = har("purge", "--point", "route", stdin="n\n")
    assert result.exit_code == 0
    assert "Delete 1 of 3 records?" in result.stderr
    assert "nothing was deleted" in result.stdout
    assert store.count() == 3
    store.close()
    assert "1 records deleted" in har("purge", "--point", "route", stdin="y\n").stdout
    assert store.count() == 2
    store.close()
    assert as_json(har("purge", "--all", "--yes", "--json"))["records"] == 2
    assert store.count() == 0
    store.close()


def test_purge_by_age_and_by_size(store: RecordStore) -> None:
    old = [replace(record(), id=first_id(time.time() - 40 * 86_400 + i)) for i in range(500)]
    store.add_many([*old, record()])
    store.close()
    assert as_json(har("purge", "--max-bytes", "100kB", "--yes", "--json"))["records"] > 100
    assert store.path.stat().st_size <= 100_000
    assert har("purge", "--before", "30d", "--yes").exit_code == 0
    assert store.count() == store.count(RecordQuery(since=time.time() - 3600)) == 1
    store.close()


def test_help_names_the_commands_and_the_exit_codes() -> None:
    text = har("--help").stdout
    for word in ("list", "show", "export", "import", "purge", "outcome", "Exit codes"):
        assert word in text
    assert "\\b" not in text
    assert "records" in CliRunner().invoke(main, ["--help"]).stdout


def test_reading_leaves_nothing_behind_in_the_folder(store: RecordStore) -> None:
    fill(store)
    before = sorted(store.path.parent.iterdir())
    for args in (("list",), ("export", "-")):
        assert har(*args).exit_code == 0
    assert sorted(store.path.parent.iterdir()) == before
