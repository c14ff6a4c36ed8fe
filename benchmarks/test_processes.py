"""The whole `har route-mcts` process beside an empty Python and one that imports numpy."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.graphs import random_graph

HAR = Path(sys.executable).with_name("har")
# As on a user's machine: the warm-up writes byte code, and every later run finds it.
ENVIRONMENT = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}


GRAPH = json.dumps(random_graph()).encode()
PYTHON = [sys.executable, "-I", "-c"]
SEARCH = ["--solver", "mcts", "--simulations", "4096", "--max-depth", "8"]
COMMANDS = {
    "python -c pass (floor)": [*PYTHON, "pass"],
    "python -c 'import numpy'": [*PYTHON, "import numpy"],
    "python -c 'import numpy, pydantic, click'": [*PYTHON, "import numpy, pydantic, click"],
    "har --help": [str(HAR), "--help"],
    "har route-mcts - --json (exact)": [str(HAR), "route-mcts", "-", "--json"],
    "har route-mcts - --json (4,096 simulations)": [
        *(str(HAR), "route-mcts", "-", "--json"),
        *SEARCH,
    ],
    "har route-mcts - (4,096 simulations, for a person)": [str(HAR), "route-mcts", "-", *SEARCH],
}


@pytest.mark.parametrize("name", COMMANDS)
def test_process(benchmark: Any, name: str) -> None:
    benchmark.group = "whole processes"
    if not HAR.exists():
        pytest.skip("har is not installed beside this interpreter: run make bench")
    run = benchmark.pedantic(
        subprocess.run,
        (COMMANDS[name],),
        {"input": GRAPH, "capture_output": True, "check": True, "env": ENVIRONMENT},
        rounds=15,
        warmup_rounds=2,
    )
    assert run.returncode == 0
