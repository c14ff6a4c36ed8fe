"""The planning experiments on small problems of our own and, where it is at hand, on real data."""

import json
import random
from pathlib import Path

import pytest
from click.testing import CliRunner

from experiments import planning_problems, published_choices

SHARED = Path(__file__).parents[3] / "shared" / "data" / "planning"


def needs(name: str) -> Path:
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"needs the large data set {name}, which is not part of the project")
    return path


def own_choices(seed: int) -> list[dict[str, object]]:
    """Sixteen chains of three rewards, one of them clearly best although it starts badly."""
    rng = random.Random(seed)
    choices = [
        {"name": f"c{i}", "rewards": [round(rng.uniform(-0.2, 0.4), 2) for _ in range(3)]}
        for i in range(16)
    ]
    choices[seed % 16]["rewards"] = [-0.2, 0.3, 1.2]
    return choices  # type: ignore[return-value]


OWN_PROBLEM = {
    "id": "own",
    "goal": "put the report into the archive",
    "actions": [{"call": "cd()"}, {"call": "mkdir()"}, {"call": "mv()"}, {"call": "ls()"}],
    "n_states": 5,
    "optimal_first": [0],
    "solved": [0, 0, 0, 0, 1],
    # cd (from 0), then mkdir, then mv; ls stays; mkdir in the wrong place leads nowhere.
    "T": [[1, 2, -1, 0], [-1, 3, -1, 1], [1, -1, -1, 2], [-1, -1, 4, 3], None],
}


@pytest.mark.parametrize("seed", range(10))
def test_sixteen_simulations_find_the_best_of_sixteen_chains(seed: int) -> None:
    graph = published_choices.graph_of(own_choices(seed))
    for simulations in (16, 32):
        tool, proven = published_choices.decide(
            graph, solver="mcts", simulations=simulations, seed=seed
        )
        assert tool == f"c{seed % 16}"
        assert not proven
    assert published_choices.decide(graph) == (f"c{seed % 16}", True)


def test_a_planning_problem_is_solved_exactly_and_by_search() -> None:
    graph = planning_problems.graph_of(OWN_PROBLEM, random.Random(0))
    for solver in ("exact", "mcts"):
        tool, _ = published_choices.decide(graph, solver=solver, simulations=256, max_depth=8)
        assert planning_problems.is_optimal(tool, OWN_PROBLEM)


def test_the_published_decisions_are_all_found_with_any_seed() -> None:
    found = published_choices.run(needs("route_mcts_24.json"), seeds=20)
    assert found["search"][32] == {"mean": 24.0, "worst_seed": 24}
    assert found["auto_right"] == found["auto_proven"] == 24


def test_planning_problems_get_an_optimal_first_call() -> None:
    found = planning_problems.run(needs("bfcl_mdp.jsonl"), seeds=2)
    assert found["exact"] == found["solvable"] == 146
    assert min(found["search"]["ucb1, rollouts (default)"][1024]) >= 0.99 * 146


def test_the_experiments_run_as_commands(tmp_path: Path) -> None:
    choices = tmp_path / "choices.json"
    rows = [
        {
            "choices": own_choices(seed),
            "optimal": [f"c{seed % 16}"],
            "reference_choice_32_sims": "c0",
        }
        for seed in range(3)
    ]
    choices.write_text(json.dumps(rows))
    run = CliRunner().invoke(published_choices.main, [str(choices), "--seeds", "2", "--json"])
    assert json.loads(run.output)["search"]["32"]["worst_seed"] == 3
    problems = tmp_path / "problems.jsonl"
    problems.write_text(json.dumps(OWN_PROBLEM))
    run = CliRunner().invoke(planning_problems.main, [str(problems), "--seeds", "2"])
    assert run.exit_code == 0
    assert "exact: 1" in run.output
