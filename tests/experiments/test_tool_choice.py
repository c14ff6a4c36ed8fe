"""The fit of the local selector: its optimiser, its measures, its splits, and what it learns."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from experiments.tool_choice.augment import augmented
from experiments.tool_choice.baselines import Bigram, bm25, chance
from experiments.tool_choice.data import (
    Problem,
    data_folder,
    data_hash,
    fold_of,
    load,
    load_cases,
    part_of,
)
from experiments.tool_choice.learn import Settings, learn, learn_temperatures
from experiments.tool_choice.measures import (
    area,
    calibration_error,
    error_if_calibrated,
    interval,
)
from experiments.tool_choice.training import Pairs, Table, fit_logistic, fit_logit, lbfgs
from experiments.tool_choice.unseen import split_by_api
from router.models import HarnessState, ToolDescriptor
from router.selectors.local import LexicalSelector
from router.selectors.model import WEIGHTS, Model

needs_data = pytest.mark.skipif(data_folder() is None, reason="the tool-choice sets are not here")


def lists(seed: int, count: int = 60, options: int = 4) -> tuple[Table, Any]:
    """Lists of options whose right one is drawn from a known logit."""
    chance = np.random.default_rng(seed)
    dense = chance.normal(size=(count * options, 3))
    truth = np.array([1.5, -1.0, 0.0])
    noise = chance.gumbel(size=(count, options))
    gold = ((dense @ truth).reshape(count, options) + noise).argmax(axis=1)
    starts = np.arange(count) * options
    rows = chance.integers(count * options, size=50)
    pairs = Pairs(rows, chance.integers(2, size=50), np.ones(50), 2)
    return Table(dense, pairs, starts, starts + gold, np.ones(count)), truth


def test_lbfgs_finds_the_minimum_of_a_narrow_valley() -> None:
    scales = np.array([1.0, 100.0, 10_000.0])
    goal = np.array([3.0, -2.0, 1.0])

    def valley(x: Any) -> tuple[float, Any]:
        return float((scales * (x - goal) ** 2).sum()), 2 * scales * (x - goal)

    assert lbfgs(valley, np.zeros(3), 200) == pytest.approx(goal, abs=1e-3)


def test_the_logit_comes_near_the_weights_that_drew_the_data() -> None:
    table, truth = lists(0, count=3_000)
    dense, pairs = fit_logit(table, np.full(3, 1e-3), np.full(2, 1e-3), np.zeros(3))
    assert dense == pytest.approx(truth, abs=0.15)
    assert len(pairs) == 2


def test_at_the_optimum_no_step_lowers_the_loss() -> None:
    table, _ = lists(1)
    l2 = 2.0
    scale = np.sqrt((table.dense**2).mean(axis=0))

    def loss(dense: Any, pairs: Any) -> float:
        z = table.dense @ dense + table.pairs.dot(pairs, len(table.dense))
        blocks = z.reshape(-1, 4)
        log_sums = np.log(np.exp(blocks).sum(axis=1))
        penalty = ((dense * scale) ** 2).sum() + (pairs**2).sum()
        return float((log_sums - z[table.gold]).sum() + l2 / 2 * penalty)

    dense, pairs = fit_logit(table, np.full(3, l2), np.full(2, l2), np.zeros(3))
    least = loss(dense, pairs)
    for k in range(5):
        for step in (-0.02, 0.02):
            moved = np.concatenate([dense, pairs])
            moved[k] += step
            assert loss(moved[:3], moved[3:]) > least


def test_without_data_for_a_feature_its_weight_is_the_priors() -> None:
    table, _ = lists(2)
    table.dense[:, 2] = 1.0  # the same for all options: says nothing
    dense, _ = fit_logit(table, np.full(3, 1.0), np.full(2, 1.0), np.array([0.0, 0.0, 0.7]))
    assert dense[2] == pytest.approx(0.7, abs=1e-3)


def test_the_logistic_matches_the_share_it_was_shown() -> None:
    labels = np.array([1.0] * 30 + [0.0] * 10)
    weights = fit_logistic(np.ones((40, 1)), labels, 1e-9)
    assert 1 / (1 + np.exp(-weights[0])) == pytest.approx(0.75, abs=1e-6)


def test_the_area_counts_pairs_in_order_and_ties_half() -> None:
    assert area(np.array([0.1, 0.2]), np.array([0.3, 0.4])) == 1.0
    assert area(np.array([0.5, 0.5]), np.array([0.5])) == 0.5
    assert area(np.array([0.1, 0.5]), np.array([0.5, 0.0])) == pytest.approx(0.375)


@pytest.mark.parametrize("equal_mass", [True, False])
def test_the_calibration_error_is_the_gap_between_stated_and_seen(equal_mass: bool) -> None:
    stated = np.full(1_000, 0.9)
    seen = np.array([1.0] * 700 + [0.0] * 300)
    shuffled = np.random.default_rng(0).permutation(seen)
    error = calibration_error(stated, shuffled, 15 if not equal_mass else 1, equal_mass)
    assert error == pytest.approx(0.2)


def test_even_a_perfect_forecaster_shows_an_error_that_shrinks_with_the_data() -> None:
    stated = np.linspace(0.05, 0.95, 4_000)
    few, many = error_if_calibrated(stated[::20]), error_if_calibrated(stated, draws=100)
    assert 0.0 < many < few / 2


def test_the_bootstrap_draws_whole_groups() -> None:
    values = np.array([0.0] * 50 + [1.0] * 50)
    one_per_group = interval([str(i) for i in range(100)], lambda rows: float(values[rows].mean()))
    two_groups = interval(["a"] * 50 + ["b"] * 50, lambda rows: float(values[rows].mean()))
    assert two_groups == (0.0, 1.0)
    assert 0.35 < one_per_group[0] < 0.5 < one_per_group[1] < 0.65


def test_a_temperature_undoes_scores_that_are_too_bold() -> None:
    chance = np.random.default_rng(0)
    scores = [chance.normal(size=4) for _ in range(3_000)]
    gold = [int((s + chance.gumbel(size=4)).argmax()) for s in scores]
    found = learn_temperatures([s * 3.0 for s in scores], gold, (2, 6))
    assert list(found) == ["2"]
    assert found["2"] == pytest.approx(3.0, rel=0.1)


def problem(source: str, gold: int | None, count: int = 3, group: str = "g") -> Problem:
    tools = tuple(ToolDescriptor(f"tool_{i}", f"does thing {i}") for i in range(count))
    return Problem("x", source, group, HarnessState("do it"), tools, gold)


def test_made_problems_offer_the_right_tool_alone_and_take_it_away() -> None:
    made = {p.source: p for p, _ in augmented([problem("bfcl_live_multiple", 1)])}
    alone, removed = made["bfcl_live_multiple+alone"], made["bfcl_live_multiple+removed"]
    assert [tool.name for tool in alone.tools] == ["tool_1"]
    assert alone.gold == 0
    assert [tool.name for tool in removed.tools] == ["tool_0", "tool_2"]
    assert removed.gold is None


def test_a_group_is_on_one_side_of_each_split() -> None:
    same = [problem("bfcl_irrelevance", None, count=n, group="one") for n in (1, 2, 3)]
    assert len({part_of(p) for p in same}) == 1
    assert len({fold_of(p) for p in same}) == 1
    many = [problem("s", 0, group=str(i)) for i in range(2_000)]
    assert np.mean([part_of(p) == "fit" for p in many]) == pytest.approx(0.6, abs=0.04)
    assert {fold_of(p) for p in many} == {0, 1, 2, 3, 4}


def test_the_bigram_follows_the_last_call_and_bm25_the_words() -> None:
    tools = (
        ToolDescriptor("open_door", "Open the door of a room."),
        ToolDescriptor("switch_light", "Switch the light of a room."),
    )
    log = "calls so far: open_door(room='kitchen')"
    asked = Problem("x", "s", "g", HarnessState("the door", observation=log), tools, 1)
    assert bm25(asked).argmax() == 0
    assert Bigram([asked]).scores(asked).argmax() == 1
    assert Bigram([]).scores(asked).argmax() == 0
    assert chance([asked]) == 0.5


def test_an_unseen_api_is_in_no_problem_of_the_fit() -> None:
    names = frozenset({"tool_0", "tool_3"})
    small = problem("bfcl_multi_turn_steps", 0, count=3)
    large = problem("bfcl_multi_turn_steps", 3, count=4)
    other = Problem("x", "s", "g", HarnessState("do"), (ToolDescriptor("else", "Other."),), 0)
    without, having = split_by_api([small, large, other], names)
    assert without == [other]
    assert having == [large]


def test_cases_of_the_same_goal_are_in_the_same_part_and_name_a_tool_on_offer() -> None:
    cases = load_cases()
    assert len(cases) >= 60
    parts: dict[str, set[str]] = {}
    for case in cases:
        assert case.gold is None or 0 <= case.gold < len(case.tools)
        parts.setdefault(case.state.goal, set()).add(part_of(case))
    assert all(len(found) == 1 for found in parts.values())


def test_learning_from_cases_beats_plain_bm25_on_them_and_is_repeatable() -> None:
    cases = load_cases()
    data = learn(cases, Settings(cases=1.0), folds=0)
    selector = LexicalSelector(model=Model(data | {"version": "test"}))

    def share(pick: Callable[[Problem], int]) -> float:
        return float(np.mean([pick(case) == case.gold for case in cases if case.gold is not None]))

    def learned(case: Problem) -> int:
        values = selector.select_now(case.state, case.tools).probabilities
        return int(np.argmax(list(values.values())))

    assert share(learned) > share(lambda case: int(bm25(case).argmax())) + 0.2
    again = learn(cases, Settings(cases=1.0), folds=0)
    assert json.dumps(again, sort_keys=True) == json.dumps(data, sort_keys=True)


@needs_data
def test_no_group_of_the_report_part_was_in_the_fit() -> None:
    folder = data_folder()
    assert folder is not None
    problems = load(folder)
    fit = {p.group for p in problems if part_of(p) == "fit"}
    report = {p.group for p in problems if part_of(p) == "report"}
    assert fit.isdisjoint(report)
    provenance = json.loads(WEIGHTS.read_text())["provenance"]
    assert provenance["data_sha256"] == data_hash(folder)
    cases = {p.group for p in load_cases() if part_of(p) == "fit"}
    assert provenance["groups"] == len(fit | cases)


@needs_data
def test_the_shipped_weights_beat_the_bars_on_a_part_they_have_not_seen() -> None:
    folder = data_folder()
    assert folder is not None
    report = [p for p in load(folder) if part_of(p) == "report"]
    selector = LexicalSelector()
    none: dict[str, list[float]] = {}
    right: dict[str, list[bool]] = {}
    for p in report:
        selection = selector.select_now(p.state, p.tools)
        values = list(selection.probabilities.values())
        none.setdefault(p.source, []).append(selection.none_fits or 0.0)
        right.setdefault(p.source, []).append(int(np.argmax(values)) == p.gold)
    assert np.mean(right["bfcl_live_multiple"]) >= 0.86
    assert np.mean(right["bfcl_multi_turn_steps"]) >= 0.40
    fits, wrong = none["bfcl_live_multiple"], none["bfcl_irrelevance"]
    assert area(np.array(fits), np.array(wrong)) >= 0.90


def test_a_similarity_that_knows_the_answer_is_learned() -> None:
    cases = [case for case in load_cases() if case.gold is not None]
    wanted = {(case.state.goal, case.tools): case.tools[case.gold or 0].name for case in cases}

    def oracle(goal: str, tools: Any) -> Any:
        right = [float(wanted.get((goal, tuple(tools))) == tool.name) for tool in tools]
        return np.array([right, [0.0] * len(right), [0.0] * len(right)])

    data = learn(cases, Settings(cases=1.0), similarity=oracle, folds=0)
    assert data["similarity"]
    assert sum(data["tools"][f"similarity{form}"] for form in ("", ".z", ".rel")) > 0.3
    selector = LexicalSelector(oracle, Model(data | {"version": "test"}))
    case = cases[0]
    probabilities = selector.select_now(case.state, case.tools).probabilities
    best = max(probabilities, key=probabilities.__getitem__)
    assert best == wanted[case.state.goal, case.tools]
