"""What native simulators keep on disk: loaded by the next process, never stale, never needed."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from mcts_core import SearchConfig, search
from simulators.native import Actions, Rng, State, compile_simulator
from simulators.native_cache import Built, build

SCRIPT = """
import numpy as np
from mcts_core import SearchConfig, search
from simulators.native import compile_simulator

SCALE = 2.0


def legal(state, actions):
    actions[0] = 0
    actions[1] = 1
    return 2


def step(state, action, rng):
    state.n += 1
    return action * SCALE, state.n >= 3


simulator = compile_simulator([("n", np.int32)], legal=legal, step=step, max_actions=2)
print(search(simulator, None, SearchConfig(simulations=200, max_depth=3, solver=True)).value)
"""

COUNT = np.dtype([("n", np.int32)])


def legal(state: State, actions: Actions) -> int:
    actions[0] = 0
    return 1


def step(state: State, action: int, rng: Rng) -> tuple[float, bool]:
    state.n += 1
    return 1.0, state.n >= 3


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache folder of this test, not there yet."""
    monkeypatch.setenv("HARNESS_ROUTER_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def kept(folder: Path) -> dict[str, int]:
    """Compiled files, and when they were written."""
    return {f.name: f.stat().st_mtime_ns for f in folder.glob("__pycache__/*.nb[ci]")}


def run_script(folder: Path, text: str) -> str:
    (folder.parent / "author.py").write_text(text)
    run = subprocess.run(
        [sys.executable, "author.py"],
        cwd=folder.parent,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stderr == ""
    return run.stdout.strip()


def built() -> Built:
    return build(COUNT, 1, {"legal": legal, "step": step})


def loaded(parts: Built) -> list[int]:
    """Of legal, step and the rollout: 1 if it was loaded, 0 if it was compiled."""
    return [vars(parts.module)[name].cache_hits for name in ("c_legal", "c_step", "c_rollout")]


def works() -> bool:
    simulator = compile_simulator(COUNT, legal=legal, step=step, max_actions=1)
    return search(simulator, None, SearchConfig(simulations=10, max_depth=5)).value == 3.0


def test_a_second_process_loads_what_the_first_compiled_and_a_new_constant_compiles_anew(
    folder: Path,
) -> None:
    assert run_script(folder, SCRIPT) == "6.0"
    first = kept(folder)
    assert len(first) == 6  # of legal, step and the rollout each the code and its index
    assert run_script(folder, "# moved by a line\n" + SCRIPT) == "6.0"
    assert kept(folder) == first
    assert run_script(folder, SCRIPT.replace("2.0", "3.0")) == "9.0"
    assert len(kept(folder)) == 12


def test_what_was_compiled_is_loaded_and_only_for_the_same_parts(folder: Path) -> None:
    assert loaded(built()) == [0, 0, 0]
    assert loaded(built()) == [1, 1, 1]
    assert loaded(build(COUNT, 2, {"legal": legal, "step": step})) == [0, 0, 0]
    wider = np.dtype([("n", np.int64)])
    assert loaded(build(wider, 1, {"legal": legal, "step": step})) == [0, 0, 0]
    assert loaded(build(COUNT, 1, {"legal": legal, "step": step}, alternate=True)) == [0, 0, 0]


@pytest.mark.parametrize("kind", ["nbc", "nbi", "nb?"])
@pytest.mark.parametrize("content", [b"", b"\x80garbage"])
def test_damaged_files_are_compiled_anew_and_mended(
    folder: Path, kind: str, content: bytes
) -> None:
    built()
    files = list(folder.glob(f"__pycache__/*.{kind}"))
    assert files
    for file in files:
        file.write_bytes(content)
    assert works()
    assert loaded(built()) == [1, 1, 1]


def test_a_folder_that_cannot_be_written_costs_only_the_compilation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("HARNESS_ROUTER_CACHE", str(tmp_path / "file" / "cache"))
    assert works()
    assert loaded(built()) == [0, 0, 0]
    assert [path.name for path in tmp_path.rglob("*")] == ["file"]


def test_nothing_is_kept_elsewhere_instead(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(folder.parent / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder.parent / "home"))
    folder.mkdir()
    (folder / "__pycache__").write_text("a file where numba wants a folder")
    assert works()
    assert not (folder.parent / "home").exists()
