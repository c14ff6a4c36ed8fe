"""The experiments on problems with published or exact answers, at sizes that a test can afford."""

import csv
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest
from click.testing import CliRunner

from experiments import p_games, regret, sailing
from experiments.regret_figure import draw


def test_sailing_under_uct_costs_what_bonet_and_geffner_measured() -> None:
    row = sailing.table([10], trials=200, jobs=2, seed=0)[0]
    assert row["published"] == 44.384
    assert abs(row["distance"]) < 3.0


def test_the_scoring_rule_of_sailing_is_ucb1_in_units_of_the_value() -> None:
    assert sailing.own_value(-7.0, 0.0, 1.0) == -7.0
    assert sailing.own_value(-7.0, 5.0, 1.0) == -7.0
    assert sailing.own_value(-4.0, 2.0, np.e) == pytest.approx(0.0)


def test_episodes_of_p_games_grow_about_as_fast_as_the_leaves_of_alpha_beta() -> None:
    # B^(D/2) predicts .5 a level for two moves, and 3 for six levels.
    found = p_games.run(200, 2_048, sizes=[(2, 4), (2, 8), (2, 10), (2, 6), (3, 6), (4, 6)])
    assert 0.3 < found["exponent_per_depth"] < 0.8
    assert 2.0 < found["exponent_of_branching"] < 4.5
    for size in found["sizes"]:
        assert size["failure_rate"][0] > 0.1
        assert max(size["failure_rate"][-3:]) < 0.01


def test_a_curve_is_settled_after_its_last_failure() -> None:
    assert p_games.settled([1, 2, 3, 4], np.array([0.5, 0.0, 0.2, 0.0])) == 4
    assert p_games.settled([1, 2], np.array([0.5, 0.2])) is None
    assert p_games.settled([1, 2], np.array([0.0, 0.0])) == 1
    assert p_games.exponent([1.0, 2.0, 3.0], [10, None, 1000]) == pytest.approx(np.log(10))
    assert p_games.exponent([1.0], [10]) is None


def test_episodes_are_counted_one_by_one_and_then_in_growing_steps() -> None:
    grid = p_games.episodes_grid(1000)
    assert grid[:10] == list(range(1, 11))
    assert grid[-1] == 1000
    assert all(1 < later / earlier <= 2 for earlier, later in pairwise(grid))


def rows_of(
    names: list[str], labels: list[str], seeds: int, most: int = 4_096
) -> list[dict[str, Any]]:
    worlds = {name: regret.WORLDS[name] for name in names}
    algorithms = {label: regret.ALGORITHMS[label] for label in labels}
    return regret.run(worlds, algorithms, [8, 64, most], seeds)


@pytest.mark.parametrize("world", ["P-game 2^10", "garnet, certain", "garnet, rare losses"])
def test_regret_falls_with_the_budget_for_every_algorithm(world: str) -> None:
    # Gumbel is for learned values: inside the tree it trusts the first random games that it sees.
    labels = [label for label in regret.ALGORITHMS if label != "gumbel"]
    rows = rows_of([world], labels, 60)
    for label in labels:
        curve = [row for row in rows if row["algorithm"] == label]
        assert curve[0]["regret"] > curve[2]["regret"] >= 0.0
        assert curve[1]["regret"] > curve[2]["regret"]
        assert curve[0]["optimal"] < curve[2]["optimal"]
        for row in curve:
            assert row["regret_95"][0] <= row["regret"] <= row["regret_95"][1]


def test_a_world_that_is_proven_leaves_nothing_to_regret() -> None:
    rows = rows_of(["P-game 4^6", "garnet, certain"], ["ucb1, solver", "puct, solver"], 40, 20_000)
    assert [row["regret"] for row in rows if row["budget"] == 20_000] == pytest.approx([0.0] * 4)


def test_the_bootstrap_interval_covers_the_mean_of_known_samples() -> None:
    rng = np.random.default_rng(1)
    low, high = regret.interval(rng.normal(5.0, 1.0, 400))
    assert low < 5.0 < high
    assert high - low == pytest.approx(2 * 1.96 / 20, rel=0.3)


def test_the_experiments_on_problems_run_as_commands(tmp_path: Path) -> None:
    curves = tmp_path / "curves.csv"
    run = CliRunner().invoke(
        p_games.main, ["--trees", "2", "--episodes", "40", "--curves", str(curves)]
    )
    assert run.exit_code == 0, run.output
    assert "B^(D/2)" in run.output
    with curves.open() as file:
        assert {row["branching"] for row in csv.DictReader(file)} == {"2", "3", "4", "6"}
    run = CliRunner().invoke(sailing.main, ["--width", "3", "--trials", "2", "--json"])
    assert json.loads(run.stdout)[0]["width"] == 3
    flags = ["--worlds", "2", "--budgets", "4", "--world", "P-game 4^6"]
    flags += ["--algorithm", "ucb1", "--algorithm", "puct, solver"]
    run = CliRunner().invoke(regret.main, flags)
    assert run.exit_code == 0, run.output
    assert "puct, solver" in run.output
    run = CliRunner().invoke(regret.main, [*flags, "--json"])
    assert len(json.loads(run.stdout)) == 2 * 2


@pytest.mark.parametrize("name", ["curves.svg", "curves.png"])
def test_regret_curves_are_drawn_with_every_algorithm_named(tmp_path: Path, name: str) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    rows = rows_of(["P-game 2^10", "garnet, certain"], ["ucb1", "puct, solver"], 8)
    draw(rows, tmp_path / name)
    drawn = (tmp_path / name).read_bytes()
    assert len(drawn) > 5_000
    if name.endswith(".svg"):
        text = drawn.decode()
        assert all(f"<!-- {said} -->" in text for said in ("ucb1", "puct, solver", "P-game 2^10"))


def test_a_figure_of_an_unknown_kind_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    with pytest.raises(click.UsageError, match="--figure: Format 'xyz' is not supported"):
        draw(rows_of(["P-game 2^10"], ["ucb1"], 3), tmp_path / "curves.xyz")
