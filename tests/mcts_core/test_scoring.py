"""Scoring rules: the same doubles as their plain functions, the same trees, and clear refusals."""

import ctypes
import itertools
import math
import os
import subprocess
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path

import numba
import numpy as np
import pytest
from hypothesis import given, settings

from mcts_core import ConfigError, Search, SearchConfig
from mcts_core.scoring import ScoringRule, load, scoring_rule
from simulators import TabularModel
from tests.models import arms, configs, models

INTS = ctypes.POINTER(ctypes.c_int32)
DOUBLES = ctypes.POINTER(ctypes.c_double)
ROW = ctypes.CFUNCTYPE(  # row_t of mcts_core/selection.pxd
    *(ctypes.c_int32, INTS, DOUBLES, DOUBLES, ctypes.POINTER(ctypes.c_float)),
    *(ctypes.c_int32, ctypes.c_int32, ctypes.c_double, ctypes.c_double, ctypes.c_double, DOUBLES),
)

ROOT = Path(__file__).parents[2]


class Row:
    """The children of a node, made from a seed: few different values, so that scores tie."""

    def __init__(self, count: int, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.visits = rng.integers(0, 5, count).astype(np.int32)
        self.value = rng.integers(-4, 5, count) / 4
        self.square = rng.integers(0, 9, count) / 3
        self.prior = (rng.integers(0, 4, count) / 3).astype(np.float32)
        self.parent_visits = int(rng.integers(0, 5000))
        self.low, self.scale = float(rng.integers(-2, 1)), 1.0 / int(rng.integers(1, 6))
        self.exploration = float(rng.choice([0.0, 0.3, 1.5]))

    def best(self, rule: ScoringRule, *, squares: bool = True) -> tuple[int, float]:
        """What the compiled kernel says."""
        score = ctypes.c_double(7.0)
        index = ROW(rule.address)(
            self.visits.ctypes.data_as(INTS),
            self.value.ctypes.data_as(DOUBLES),
            self.square.ctypes.data_as(DOUBLES) if squares else None,
            self.prior.ctypes.data_as(ctypes.POINTER(ctypes.c_float)),
            *(len(self.visits), self.parent_visits, self.low, self.scale, self.exploration),
            score,
        )
        return index, score.value

    def scores(self, function: Callable[..., float], *, squares: bool = True) -> Iterator[float]:
        """What the seven arguments make of each child, in plain Python."""
        parent = float(max(self.parent_visits, 1))
        columns = (self.visits, self.value, self.square, self.prior)
        for visits, value, square, prior in zip(*(c.tolist() for c in columns), strict=True):
            q = (value - self.low) * self.scale
            variance = square / visits * self.scale * self.scale if squares and visits else 0.0
            yield function(q, float(visits), prior, parent, self.exploration, value, variance)


def first_best(scores: Iterator[float]) -> tuple[int, float]:
    best, best_score = 0, -math.inf
    for i, score in enumerate(scores):
        if score > best_score:
            best, best_score = i, score
    return best, best_score


def everything(  # noqa: PLR0917
    q: float,
    visits: float,
    prior: float,
    parent_visits: float,
    exploration: float,
    value: float,
    variance: float,
) -> float:
    spread = math.sqrt(variance / (1.0 + visits)) if visits > 1.0 else 0.5 - variance
    return q + exploration * prior * parent_visits / (visits + 2.0) - 0.125 * value * spread


def puct(q: float, visits: float, prior: float, parent: float, c: float, *_: float) -> float:
    return q + (c * math.sqrt(parent) * prior) * (1.0 / (1 + visits))


def ucb1(q: float, visits: float, prior: float, parent: float, c: float, *_: float) -> float:
    return q + c * math.sqrt(math.log(parent)) * (1.0 / math.sqrt(visits)) if visits else q


COUNTS = [0, 1, 2, 3, 7, 8, 11, 12, 13, 16, 31, 64, 100, 255, 256, 257, 511, 512, 513, 1024, 1500]
RULES: dict[str, tuple[ScoringRule, Callable[..., float]]] = {
    "everything": (scoring_rule(everything), everything),
    "puct_numba": (load("puct_numba"), puct),
    "ucb1_numba": (load("ucb1_numba"), ucb1),
}


@pytest.mark.parametrize("squares", [True, False])
@pytest.mark.parametrize("name", RULES)
def test_a_row_gives_the_first_best_child_and_its_score_to_the_last_bit(
    name: str, squares: bool
) -> None:
    rule, plain = RULES[name]
    for count, seed in itertools.product(COUNTS, range(12)):
        row = Row(count, seed)
        expected = first_best(row.scores(plain, squares=squares))
        assert row.best(rule, squares=squares) == expected


@pytest.mark.parametrize("count", [5, 40, 600])
def test_of_equal_scores_the_first_wins_signed_zeros_included(count: int) -> None:
    given_value = scoring_rule(lambda value: value)
    row = Row(count)
    row.value[:] = -1.0
    row.value[[2, count - 2]] = -0.0, 0.0
    index, score = row.best(given_value)
    assert (index, math.copysign(1.0, score)) == (2, -1.0)
    row.value[1] = 0.0
    index, score = row.best(given_value)
    assert (index, math.copysign(1.0, score)) == (1, 1.0)
    row.value[:] = -math.inf
    assert row.best(given_value) == (0, -math.inf)


@pytest.mark.parametrize("count", [5, 40, 600])
def test_a_score_that_is_no_number_is_never_the_best(count: int) -> None:
    given_value = scoring_rule(lambda value: value)
    row = Row(count)
    for nan in (math.nan, -math.nan):
        row.value[:] = nan
        assert row.best(given_value) == (0, -math.inf)
        row.value[count - 1] = -1e300
        assert row.best(given_value) == (count - 1, -1e300)


@numba.njit
def half_or_raise(visits: float) -> float:
    if visits > 1e6:
        raise ValueError("never in the check")
    return 0.5


@pytest.mark.parametrize("count", [5, 40])
def test_where_a_helper_raises_the_first_child_is_taken(count: int) -> None:
    row = Row(count)
    row.value[count - 1] = 9.0
    rule = scoring_rule(lambda value, visits: value * half_or_raise(visits))
    assert row.best(rule) == (count - 1, 4.5)
    row.visits[4] = 2_000_000
    assert row.best(rule) == (0, -math.inf)


def test_division_by_zero_gives_infinity_not_an_exception() -> None:
    inverse = scoring_rule(lambda value: 1.0 / (value - 3.0))
    row = Row(30)
    row.value[:] = 4.0
    assert row.best(inverse) == (0, 1.0)
    row.value[20] = 3.0
    assert row.best(inverse) == (20, math.inf)


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="other hosts may have no such vectors")
@pytest.mark.parametrize("name", ["puct_numba", "ucb1_numba"])
def test_the_loop_over_a_row_is_vectorised(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HARNESS_ROUTER_CACHE", str(tmp_path))
    rule = load.__wrapped__(name)
    code = vars(rule.keep)["c_row"].inspect_llvm()
    assert "fdiv <" in code  # the scores
    assert "icmp sgt <" in code or ".smax.v" in code  # their maximum


# --- whole trees --------------------------------------------------------------------------------


def assert_equal_trees(model: TabularModel, config: SearchConfig, one: str, other: str) -> None:
    runs = [Search(model, 0, config.replace(selection=rule)) for rule in (one, other)]
    stops = [run.run() for run in runs]
    assert stops[0] == stops[1]
    first, second = (run.tree() for run in runs)
    for name in ("parent", "action", "visits", "value", "prior", "reward", "proven"):
        assert getattr(first, name).tobytes() == getattr(second, name).tobytes()


@settings(max_examples=300, deadline=None)
@given(models(), configs)
def test_the_built_in_rules_grow_the_same_tree_as_rows_of_numba(
    model: TabularModel, config: SearchConfig
) -> None:
    for rule in ("puct", "ucb1"):
        assert_equal_trees(model, config, rule, f"{rule}_numba")


@pytest.mark.parametrize("rule", ["puct", "ucb1"])
@pytest.mark.parametrize("actions", [8, 11, 12, 13, 64, 255, 256, 257, 1024])
@pytest.mark.parametrize("solver", [False, True])
def test_wide_nodes_grow_the_same_tree_as_rows_of_numba(
    rule: str, actions: int, solver: bool
) -> None:
    rewards = np.random.default_rng(actions).integers(0, 3, 2 * actions) / 2
    model = TabularModel(
        [0, actions, 2 * actions], range(2 * actions + 1), [1] * (2 * actions), rewards.tolist()
    )
    config = SearchConfig(simulations=6 * actions, max_depth=3, solver=solver)
    assert_equal_trees(model, config, rule, f"{rule}_numba")
    assert_equal_trees(model, config.replace(fpu="parent"), rule, f"{rule}_numba")


def greedy(q: float, visits: float) -> float:
    return q - 1e-3 * visits


def test_a_search_follows_a_rule_of_ones_own() -> None:
    config = SearchConfig(simulations=600).replace(selection=f"{__name__}:greedy")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, __name__, types.ModuleType(__name__))
        sys.modules[__name__].__dict__["greedy"] = greedy
        run = Search(arms([0.0, 0.75, 1.0, 0.25]), 0, config)
        run.run()
    # 598 to the two best, of which one is ahead by .25, which is worth 250 visits.
    assert run.result().visits.tolist() == [1, 174, 424, 1]


def test_a_rule_that_wants_the_variance_must_ask_for_it() -> None:
    with pytest.raises(ConfigError, match="wanted the argument variance, or not variance=True"):
        scoring_rule(variance=True)(greedy)
    assert scoring_rule(everything).uses_variance
    without = scoring_rule(variance=False)(everything)
    assert not without.uses_variance
    row = Row(50)
    assert row.best(without) == row.best(RULES["everything"][0], squares=False)


# --- what is kept on disk -----------------------------------------------------------------------

SCRIPT = """
from mcts_core.scoring import scoring_rule

WEIGHT = 2.0


@scoring_rule
def rule(q, prior):
    return q + WEIGHT * prior


print(vars(rule.keep)["c_row"].cache_hits)
"""


def test_a_second_process_loads_the_rule_and_a_new_constant_compiles_anew(tmp_path: Path) -> None:
    def hits(text: str) -> str:
        (tmp_path / "author.py").write_text(text)
        environment = {"HARNESS_ROUTER_CACHE": str(tmp_path / "cache"), "PYTHONPATH": str(ROOT)}
        run = subprocess.run(
            [sys.executable, "author.py"],
            cwd=tmp_path,
            env=os.environ | environment,
            capture_output=True,
            text=True,
            check=True,
        )
        return run.stdout.strip()

    assert hits(SCRIPT) == "0"
    assert hits("# moved by a line\n" + SCRIPT) == "1"
    assert hits(SCRIPT.replace("2.0", "3.0")) == "0"
    assert hits(SCRIPT) == "1"


KIND = np.dtype(np.float64)  # what is kept could not tell this one from another


def test_a_rule_over_something_that_cannot_be_named_works_and_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HARNESS_ROUTER_CACHE", str(tmp_path / "cache"))
    rule = scoring_rule(lambda q: 2.0 * q + np.ones(1, KIND)[0])
    row = Row(20)
    assert row.best(rule) == first_best(row.scores(lambda q, *_: 2.0 * q + 1.0))
    assert not (tmp_path / "cache").exists()
