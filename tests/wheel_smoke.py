"""Used by `make wheel`: is the installed wheel whole? Run by its own interpreter, with -I, from
another folder: python -I tests/wheel_smoke.py EXAMPLES_FOLDER."""

import importlib.metadata
import importlib.resources
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path


def main(examples: Path) -> None:
    """Raise AssertionError if something that users need is missing."""
    import harness_router
    from mcts_core import SearchConfig, search
    from simulators import PythonSimulator, TabularModel

    assert "site-packages" in str(harness_router.__file__), harness_router.__file__
    for package in ("harness_router", "mcts_core", "router", "simulators"):
        assert importlib.resources.files(package).joinpath("py.typed").is_file()
    assert importlib.resources.files("mcts_core").joinpath("view.html").is_file()
    for name in ("native.pxd", "native.pyi"):
        assert importlib.resources.files("mcts_core").joinpath(name).is_file()
    files = [str(f) for f in importlib.metadata.files("harness-router") or []]
    assert not [f for f in files if f.startswith(("tests/", "experiments/", "benchmarks/"))]
    assert not [f for f in files if f.endswith(".c")]

    model = TabularModel([0, 2, 2], [0, 1, 2], [1, 1], [0.0, 1.0], terminal=[1, 1])
    assert search(model, 0, SearchConfig(simulations=10)).action == 1
    assert PythonSimulator.__module__ == "simulators.python"

    with tempfile.TemporaryDirectory() as cache:
        os.environ["HARNESS_ROUTER_CACHE"] = cache
        from simulators.native_games import connect_four

        config = SearchConfig(simulations=500, max_depth=42, evaluation="rollout")
        assert search(connect_four(), None, config).visits.sum() == 500

    har = Path(sys.executable).with_name("har")
    tools = [{"name": "run_tests", "description": "Run the test suite"}]
    tools += [{"name": "web_search", "description": "Search the web"}]
    command = [str(har), "route", "--no-record", "--goal", "Run the test suite"]
    command += ["--tools-json", json.dumps(tools)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(run.stdout)["tool"] == "run_tests", run.stdout
    print(f"har route: {run.stdout.strip()}")

    for graph in sorted(examples.glob("*.json")):
        command = [str(har), "route-mcts", str(graph), "--json"]
        run = subprocess.run(command, capture_output=True, text=True, check=True)
        found = json.loads(run.stdout)
        assert found["proven"], found
        print(f"{graph.name}: {found['tool']}")
    version = subprocess.run([str(har), "--version"], capture_output=True, text=True, check=True)
    assert importlib.metadata.version("harness-router") in version.stdout
    print("1 passed, 0 failed")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
