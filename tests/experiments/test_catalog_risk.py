"""The measure of guessed risk: counts by annotation, servers asked over stdio, and the bar."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from experiments import catalog_risk
from router.models import RiskLevel

READS, DESTROYS = {"readOnlyHint": True}, {"destructiveHint": True}
TOOLS: list[dict[str, Any]] = [
    {"name": "get_note", "description": "Get a note", "annotations": READS},
    {"name": "save_note", "description": "Save a note", "annotations": READS},
    {"name": "pay_bill", "description": "Pay a bill", "annotations": READS},
    {"name": "delete_note", "description": "Delete a note", "annotations": DESTROYS},
    {"name": "view_and_go", "description": "View a note", "annotations": DESTROYS},
    {"name": "create_note", "description": "Create a note", "annotations": {}},
    {"name": "drop_database", "description": None},
]

SERVER = """
import json, sys
tools = json.loads(sys.argv[1])
print("starting")
for line in sys.stdin:
    asked = json.loads(line)
    if asked["method"] == "initialize":
        result = {"protocolVersion": "2025-06-18", "capabilities": {}}
    elif asked["method"] == "tools/list" and "cursor" in asked["params"]:
        result = {"tools": tools[2:]}
    elif asked["method"] == "tools/list":
        print(json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": {}}))
        result = {"tools": tools[:2], "nextCursor": "2"}
    else:
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""


def command(tmp_path: Path, code: str, *arguments: str) -> str:
    script = tmp_path / "server.py"
    script.write_text(code)
    return " ".join([sys.executable, str(script), *(f"'{text}'" for text in arguments)])


def test_tools_are_counted_by_what_their_annotations_say() -> None:
    row = catalog_risk.row_of("notes", TOOLS)
    assert row.read_only == {"low": 1, "medium": 1, "critical": 1}
    assert row.destructive == {"high": 1, "low": 1}
    assert row.silent == {"medium": 1, "critical": 1}
    assert row.critical_though_read_only == []
    found = row.as_json()
    assert found["destructive_not_low"][0] == found["destructive_high"][0] == 0.5
    assert found["read_only_low"][0] == found["read_only_high"][0] == pytest.approx(1 / 3)


def test_totals_leave_out_the_servers_that_call_every_write_destructive() -> None:
    catalogs = {"notes": TOOLS, catalog_risk.ALL_WRITES_DESTRUCTIVE[0]: TOOLS}
    names = ["notes", *catalog_risk.ALL_WRITES_DESTRUCTIVE[:1], "total"]
    rows = catalog_risk.measure(catalogs)
    assert [row.name for row in rows] == [*names, "total without Notion and Playwright"]
    assert [row.destructive.total() for row in rows] == [2, 2, 4, 2]
    assert len(catalog_risk.measure({"notes": TOOLS})) == 2


def test_wilsons_interval_is_that_of_the_textbooks() -> None:
    # 8 of 10: Newcombe (1998), method 3.
    assert catalog_risk.share(8, 10) == pytest.approx([0.8, 0.4902, 0.9433], abs=1e-4)
    assert catalog_risk.share(0, 0) is None


def test_a_server_is_asked_for_all_pages_of_its_tools(tmp_path: Path) -> None:
    assert catalog_risk.tools_of_server(command(tmp_path, SERVER, json.dumps(TOOLS))) == TOOLS


def test_a_server_that_does_not_answer_is_an_error_in_words(tmp_path: Path) -> None:
    silent = command(tmp_path, "print('not JSON')")
    refusing = 'import sys; input(); print(\'{"id": 1, "error": {}}\', flush=True); input()'
    for call, why in ((silent, "no answer to initialize"), (None, "with an error")):
        server = f"notes={call or command(tmp_path, refusing)}"
        run = CliRunner().invoke(catalog_risk.main, ["--server", server])
        assert run.exit_code == 1
        assert why in run.output


def test_the_command_prints_a_table_or_json(tmp_path: Path) -> None:
    (tmp_path / "notes.json").write_text(json.dumps({"tools": TOOLS}))
    table = CliRunner().invoke(catalog_risk.main, [str(tmp_path)])
    assert table.exit_code == 0, table.output
    assert "0.500 (0.09-0.91)" in table.output
    figures = json.loads(CliRunner().invoke(catalog_risk.main, [str(tmp_path), "--json"]).output)
    assert [row["catalog"] for row in figures["rows"]] == ["notes", "total"]
    assert set(figures["normalising_ms"]) == {"first", "again", "given"}
    (tmp_path / "none").mkdir()
    assert CliRunner().invoke(catalog_risk.main, [str(tmp_path / "none")]).exit_code == 2


@pytest.mark.skipif(not catalog_risk.FOLDER.exists(), reason="../shared/data is not at hand")
def test_on_the_catalogs_of_real_servers_the_guess_keeps_its_bar() -> None:
    rows = catalog_risk.measure(catalog_risk.catalogs_in(catalog_risk.FOLDER))
    total, usual = rows[-2].as_json(), rows[-1].as_json()
    assert total["destructive_not_low"][0] >= 0.95
    assert usual["destructive_not_low"][0] == 1.0
    assert total["read_only_low"][0] > 0.85
    assert total["read_only_high"][0] < 0.05
    assert total["read_only"].get(RiskLevel.CRITICAL.value, 0) == 0
    assert total["critical_though_read_only"] == []
