"""The page on algorithms names settings and papers that are there."""

import dataclasses
import inspect
import re
from pathlib import Path

import mcts_core
from mcts_core import Search, SearchConfig, search_parallel

PAGE = (Path(__file__).parents[2] / "docs" / "algorithms.md").read_text()
TABLE = [line for line in PAGE.splitlines() if line.startswith("|")][2:]
FIELDS = {field.name for field in dataclasses.fields(SearchConfig)}
ARGUMENTS = {*inspect.signature(search_parallel).parameters, "evaluate_batch"}


def test_each_setting_in_the_table_is_one() -> None:
    named = {name for row in TABLE for name in re.findall(r"([a-z_]+)=", row)}
    assert named <= FIELDS | ARGUMENTS
    assert len(named) > 15


def test_each_value_in_the_table_is_accepted() -> None:
    given = re.findall(r'([a-z_]+)=("[a-z_0-9]+"|True|[0-9][0-9.]*)(?=[`,])', "\n".join(TABLE))
    for name, text in given:
        if name in FIELDS:
            value = text.strip('"') if text[0] == '"' else eval(text)
            extra = {"value_range": (-1.0, 1.0)} if value == "decisive" else {}
            assert getattr(SearchConfig(**{name: value, **extra}), name) == value
    assert len(given) > 12


def test_each_algorithm_s_paper_stands_in_the_docstrings() -> None:
    said = "".join(
        inspect.getdoc(thing) or ""
        for thing in (
            SearchConfig,
            Search,
            mcts_core.parallel,
            mcts_core.simulator.ManyPlayerSimulator,
        )
    )
    papers = {name for row in TABLE for name in re.findall(r"([A-Z][a-z]+)(?=[ ,&].*\d{4})", row)}
    assert {name for name in papers if name not in said} <= {"Go", "Zero", "Alpha"}
