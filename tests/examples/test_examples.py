"""The example simulator runs as its README says."""

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from mcts_core.exact import backward_induction
from simulators.dense import tabulate

SCRIPT = Path(__file__).parents[2] / "examples" / "custom_simulator.py"


def test_the_custom_simulator_runs_as_a_script() -> None:
    run = subprocess.run(
        [sys.executable, str(SCRIPT)],
        cwd=SCRIPT.parents[1],
        env={"PYTHONPATH": str(SCRIPT.parents[1])},
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.startswith("first action: trace test")


def test_the_custom_simulator_has_the_values_that_the_readme_states() -> None:
    names = runpy.run_path(str(SCRIPT))
    model = tabulate(names["BugHunt"](), names["Task"](12)).model()
    exact = backward_induction(model, 0, horizon=6)
    stated = {"patch": -0.44, "read code": 0.46, "trace test": 0.56}
    assert dict(zip(exact.actions, exact.values.tolist(), strict=True)) == pytest.approx(stated)
