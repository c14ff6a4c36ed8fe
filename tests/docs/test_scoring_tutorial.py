"""The page on scoring rules: its blocks run in order and print what stands under them."""

import contextlib
import importlib.util
import io
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "scoring_rules.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)
MARK = "-- end of a block --\n"


def test_each_block_prints_what_stands_under_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HARNESS_ROUTER_CACHE", str(tmp_path / "cache"))
    blocks: list[tuple[str, str]] = BLOCK.findall(PAGE.read_text())
    assert [language for language, _ in blocks] == ["python", "text"] * 3
    source = tmp_path / "scoring_tutorial.py"
    python = [text for language, text in blocks if language == "python"]
    source.write_text("".join(f"{text}\nprint({MARK!r}, end='')\n" for text in python))
    spec = importlib.util.spec_from_file_location("scoring_tutorial", source)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "scoring_tutorial", module)  # as for a script that is run
    with contextlib.redirect_stdout(io.StringIO()) as out:
        spec.loader.exec_module(module)
    assert out.getvalue().split(MARK)[:-1] == [
        text for language, text in blocks if language == "text"
    ]


def test_the_last_block_is_a_script_of_its_own_with_a_rule_of_at_most_ten_lines(
    tmp_path: Path,
) -> None:
    *_, (_, script), (_, printed) = BLOCK.findall(PAGE.read_text())
    rule = re.search(r"^@scoring_rule\n(.+\n)*", script, re.M)
    assert rule is not None
    assert len(rule.group().splitlines()) <= 10
    (tmp_path / "script.py").write_text(script)
    environment = {"PYTHONPATH": str(PAGE.parents[1]), "HARNESS_ROUTER_CACHE": str(tmp_path)}
    run = subprocess.run(
        [sys.executable, "script.py"],
        cwd=tmp_path,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert (run.stdout, run.stderr) == (printed, "")
