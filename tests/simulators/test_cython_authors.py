"""A Cython author compiles a simulator against the installed .pxd files: it is searched alike."""

import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest

import mcts_core
from mcts_core import Search, SearchConfig, SimulatedStep, search
from simulators import PythonSimulator, TabularModel
from simulators.dense import tabulate

SOURCE = Path(__file__).with_name("cython_example.pyx")
INSTALLED = Path(mcts_core.__file__).parents[1]

SETUP = """
import sys
from Cython.Build import cythonize
from setuptools import Extension, setup

extension = Extension("cython_example", ["cython_example.pyx"], extra_compile_args=["-O1"])
setup(name="cython_example", ext_modules=cythonize([extension], include_path=[sys.argv.pop()]))
"""


class TakeAway:
    """The rules of cython_example.pyx in Python."""

    def __init__(self, most: int) -> None:
        self.most = most

    def actions(self, stones: int) -> range:
        return range(1, min(self.most, stones) + 1)

    def step(self, stones: int, action: int) -> SimulatedStep[int]:
        left = stones - action
        return SimulatedStep(left, 1.0 if left == 0 else 0.0, left == 0)

    def evaluate(self, stones: int) -> float:
        return 1.0 / (1 + stones) if stones else 0.0


class Turns:
    """Adds who moves, which Python simulators say by state: (stones, player)."""

    def __init__(self, rules: TakeAway) -> None:
        self.rules = rules

    def actions(self, state: tuple[int, int]) -> range:
        return self.rules.actions(state[0])

    def step(self, state: tuple[int, int], action: int) -> SimulatedStep[tuple[int, int]]:
        after = self.rules.step(state[0], action)
        return SimulatedStep((after.state, 1 - state[1]), after.reward, after.terminal)

    def evaluate(self, state: tuple[int, int]) -> float:
        return self.rules.evaluate(state[0])

    def player(self, state: tuple[int, int]) -> int:
        return state[1]


def c_compiler() -> str | None:
    words = os.environ.get("CC", sysconfig.get_config_var("CC") or "cc").split()
    return next((word for word in words if shutil.which(word)), None)


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The module compiled from cython_example.pyx in a folder of its own."""
    if importlib.util.find_spec("Cython") is None or importlib.util.find_spec("setuptools") is None:
        pytest.skip("Cython and setuptools are not installed")
    if c_compiler() is None:
        pytest.skip("no C compiler on the path")
    folder = tmp_path_factory.mktemp("cython_author")
    shutil.copy(SOURCE, folder)
    (folder / "setup.py").write_text(SETUP)
    command = [sys.executable, "setup.py", "--quiet", "build_ext", "--inplace", str(INSTALLED)]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    (built,) = folder.glob("cython_example*" + str(sysconfig.get_config_var("EXT_SUFFIX")))
    spec = importlib.util.spec_from_file_location("cython_example", built)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("most", [1, 3, 5])
@pytest.mark.parametrize(
    "config",
    [
        SearchConfig(simulations=2000, max_depth=30),
        SearchConfig(simulations=777, max_depth=9, evaluation="simulator", discount=0.9, fpu=0.5),
        SearchConfig(simulations=2000, selection="ucb1", evaluation="rollout", seed=7),
        SearchConfig(simulations=500, max_depth=30, solver=True, fpu="parent"),
    ],
)
def test_a_cython_simulator_gives_the_tree_of_the_same_world_as_arrays_and_as_python_objects(
    example: Any, most: int, config: SearchConfig
) -> None:
    world = Turns(TakeAway(most))
    model: TabularModel = tabulate(world, (21, 0)).model()
    run = Search(example.TakeAway(most), 21, config)
    run.run()
    for same, root in ((model, 0), (PythonSimulator(world), (21, 0))):
        other = Search(same, root, config)
        other.run()
        assert run.tree().visits.tolist() == other.tree().visits.tolist()
        assert run.tree().value.tobytes() == other.tree().value.tobytes()
        assert run.tree_actions() == other.tree_actions()
    assert run.tree_states() == [state[0] for state in other.tree_states()]  # type: ignore[index]


def test_a_cython_simulator_finds_the_winning_move_and_needs_no_gil(example: Any) -> None:
    simulator = example.TakeAway(3)
    config = SearchConfig(simulations=20_000, solver=True, value_range=(-1.0, 1.0))
    result = search(simulator, 9, config)
    assert (result.action, result.value, result.proven) == (1, 1.0, True)  # leaves a multiple of 4
    assert not simulator.needs_gil


def test_what_a_cython_simulator_refuses_reaches_python(example: Any) -> None:
    with pytest.raises(ValueError, match="most: got 0"):
        example.TakeAway(0)
    with pytest.raises(ValueError, match="root_state: got -1"):
        Search(example.TakeAway(3), -1, SearchConfig())
