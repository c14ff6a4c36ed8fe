"""Scoring rules by name: what is loaded from where, and what is refused with which words."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mcts_core import ConfigError
from mcts_core.scoring import load, scoring_rule


@pytest.fixture
def authors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """Write a module of an author's and return its name."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(text: str, name: str = "") -> str:
        name = name or f"authors_rules_{len(list(tmp_path.iterdir()))}_{tmp_path.name}"
        (tmp_path / f"{name}.py").write_text(text)
        return name

    return write


def test_a_rule_is_loaded_once_from_an_import_path(authors: Callable[[str], str]) -> None:
    module = authors(
        "from mcts_core.scoring import scoring_rule\n"
        "def plain(q, prior):\n    return q + prior\n"
        "@scoring_rule(variance=True)\ndef made(variance, q):\n    return q + variance\n"
        "class Rules:\n    inner = made\n"
    )
    plain, made = load(f"{module}:plain"), load(f"{module}:made")
    assert plain is load(f"{module}:plain")
    assert made is load(f"{module}:Rules.inner")
    assert (plain.name, plain.uses_variance) == ("plain", False)
    assert (made.name, made.uses_variance) == ("made", True)
    assert load("puct_numba") is load("puct_numba")
    assert load("puct_numba").name == "puct_numba"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("puct_numbat", "selection: got 'puct_numbat', wanted one of puct_numba, ucb1_numba, or "),
        (":rule", "an import path package.module:attribute"),
        ("math:", "an import path package.module:attribute"),
        ("no_such_module:rule", r"can be imported \(ModuleNotFoundError: No module named"),
        ("math:nothing", "wanted an attribute of <module 'math'.* it has no 'nothing'"),
        ("math:pi", "wanted a ScoringRule or a function there, not a float"),
        ("math:sqrt", "scoring rule: got <built-in function sqrt>, wanted a function made by def"),
    ],
)
def test_a_name_that_leads_to_no_rule_is_refused(name: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load(name)


def test_a_module_that_fails_says_why(authors: Callable[[str], str]) -> None:
    with pytest.raises(ConfigError, match=r"can be imported \(ZeroDivisionError: division by zero"):
        load(authors("1 / 0") + ":rule")
    text = "from mcts_core.scoring import scoring_rule\n@scoring_rule\ndef bad(q):\n    return None"
    with pytest.raises(ConfigError, match="scoring rule bad: got"):
        load(authors(text) + ":bad")


def wrong_name(q: float, reward: float) -> float:
    return q + reward


def no_argument() -> float:
    return 1.0


def with_default(q: float, prior: float = 1.0) -> float:
    return q + prior


def any_number(*q: float) -> float:
    return q[0]


def unfinished(q: float) -> None:
    return None


def infinite_untried(q: float, visits: float) -> float:
    return math.inf if visits == 0.0 else q


def divides_by_visits(q: float, visits: float) -> float:
    return q + 1.0 / visits


PRICES = {"q": 1.0}


def uses_a_dict(q: float) -> float:
    return PRICES["q"] * q


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (
            wrong_name,
            r"wrong_name\(q: float, reward: float\).* wanted a function of some of q, vis",
        ),
        (no_argument, r"got 'no_argument\(\) -> float', wanted a function of some of q, visits, p"),
        (with_default, r"got 'with_default\(.*', wanted a function of some of"),
        (any_number, r"got 'any_number\(.*', wanted a function of some of"),
        (unfinished, r"rule unfinished: got 'TypeError .* at q=0', wanted a finite score"),
        (infinite_untried, "got 'inf at q=0, visits=0', wanted a finite score"),
        (divides_by_visits, r"got 'ZeroDivisionError \(.*\) at q=0, visits=0', wanted a finite"),
        (uses_a_dict, r"Untyped global name 'PRICES'.* wanted score\(q\) -> float that numba comp"),
        (3, "scoring rule: got 3, wanted a function made by def"),
    ],
)
def test_what_cannot_be_a_rule_is_refused_by_name(function: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        scoring_rule(function)
    if callable(function):
        assert caught.value.field == f"scoring rule {function.__name__}"
