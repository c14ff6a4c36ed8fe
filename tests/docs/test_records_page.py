"""The page on records: its blocks print what stands under them, and what it names is there."""

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from router.cli import main
from router.decisions import privacy
from router.decisions.recorder import Recorder

PAGE = (Path(__file__).parents[2] / "docs" / "records.md").read_text()
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)


def test_each_block_prints_what_stands_under_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    blocks: list[tuple[str, str]] = BLOCK.findall(PAGE)
    assert [language for language, _ in blocks] == ["python", "text"] * 2
    names: dict[str, Any] = {}
    for (_, source), (_, printed) in zip(blocks[::2], blocks[1::2], strict=True):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(compile(source, "records.md", "exec"), names)
        assert out.getvalue() == printed
    recorder = names["recorder"]
    assert isinstance(recorder, Recorder)
    recorder.close()
    assert (tmp_path / ".harness-router" / "records.db").exists()


def test_the_commands_and_filters_that_it_names_are_there() -> None:
    commands = set(re.findall(r"^    har records (\w+)", PAGE, re.M))
    assert commands == {"list", "show", "outcome", "export", "import", "purge"}
    for command in commands:
        text = CliRunner().invoke(main, ["records", command, "--help"]).stdout
        (lines,) = [re.findall(rf"^    har records {command} (.*)", PAGE, re.M)]
        for option in re.findall(r"--[a-z-]+", " ".join(lines)):
            assert option in text, (command, option)


def test_the_limits_that_it_states_are_those_of_the_code() -> None:
    assert f"{privacy.MOST_TEXT:,} characters" in PAGE
    for variable in privacy.KEY_VARIABLES:
        assert f"`{variable}`" in PAGE
