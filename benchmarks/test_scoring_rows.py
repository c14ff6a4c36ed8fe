"""Row kernels: the engine's own C beside the same rules compiled by numba.

A round is 1,000 rows, so its microseconds are the nanoseconds of one row. Whole searches of one
wide node by both stand in benchmarks.engine_speed, "one node".
"""

import importlib.util
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import mcts_core
from benchmarks.floor import compiler
from mcts_core.scoring import load

SOURCE = Path(__file__).with_name("row_kernels.pyx")
SETUP = """
import sys
from Cython.Build import cythonize
from setuptools import Extension, setup

flags = ["-O3", "-g0", "-ffp-contract=off", "-fno-math-errno"]  # those of the engine
directives = {"boundscheck": False, "wraparound": False, "cdivision": True, "language_level": 3}
path = [sys.argv.pop()]
extension = Extension(
    "row_kernels", ["row_kernels.pyx"], include_dirs=path, extra_compile_args=flags
)
modules = cythonize([extension], include_path=path, compiler_directives=directives)
setup(name="row_kernels", ext_modules=modules)
"""
ROWS = 1000
COUNTS = [8, 16, 32, 64, 256, 1024]


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """row_kernels.pyx, compiled as the engine is."""
    if compiler() is None:
        pytest.skip("no C compiler: neither $CC nor cc")
    folder = tmp_path_factory.mktemp("row_kernels")
    shutil.copy(SOURCE, folder)
    (folder / "setup.py").write_text(SETUP)
    above = str(Path(mcts_core.__file__).parents[1])
    command = [sys.executable, "setup.py", "--quiet", "build_ext", "--inplace", above]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    (built,) = folder.glob("row_kernels*" + str(sysconfig.get_config_var("EXT_SUFFIX")))
    spec = importlib.util.spec_from_file_location("row_kernels", built)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def row(count: int) -> tuple[Any, ...]:
    """Visits, values, priors, the parent's visits and the exploration of a node in mid-search."""
    rng = np.random.default_rng(count)
    visits = rng.integers(1, 50, count).astype(np.int32)
    prior = -np.sort(-rng.dirichlet(np.ones(count))).astype(np.float32)
    return visits, rng.random(count), prior, int(visits.sum()), 1.5


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("rule", ["puct", "ucb1"])
@pytest.mark.parametrize("by", ["C", "numba"])
def test_rows(benchmark: Any, kernels: ModuleType, by: str, rule: str, count: int) -> None:
    benchmark.group = f"1,000 rows of {count:5,} children: {rule}"
    address = load(f"{rule}_numba").address
    own = kernels.own_rows(rule == "puct", 1, *row(count))
    if by == "C":
        found = benchmark(kernels.own_rows, rule == "puct", ROWS, *row(count))
    else:
        found = benchmark(kernels.given_rows, address, ROWS, *row(count))
    assert found == own
