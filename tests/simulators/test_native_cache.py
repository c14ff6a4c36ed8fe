"""What native simulators keep on disk: loaded by the next process, never stale, never needed."""

import os
import subprocess
import sys
import types
from collections.abc import Callable
from enum import IntEnum
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

from mcts_core import SearchConfig, search
from simulators.native import Actions, Rng, State, compile_simulator
from simulators.native_cache import Built, build, cache_folder, fingerprint

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


def test_what_depends_on_something_that_cannot_be_named_is_not_kept(folder: Path) -> None:
    names = numba.typed.List(["a"])

    def nameless(state: State) -> float:
        return 1.0 if state.n < 100 else float(len(names))

    with pytest.raises(TypeError):
        list(fingerprint(nameless, set()))
    assert not folder.exists()


def test_the_folder_is_the_users_cache_unless_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARNESS_ROUTER_CACHE", "/named")
    assert cache_folder() == Path("/named")
    monkeypatch.delenv("HARNESS_ROUTER_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/xdg")
    assert cache_folder() == Path("/xdg/harness-router")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/home/someone")
    assert cache_folder() == Path("/home/someone/.cache/harness-router")


# --- what the meaning of a function depends on --------------------------------------------------


def used(state: Any) -> float:
    return state.n + THING  # type: ignore[name-defined,no-any-return]  # noqa: F821


def called(state: Any) -> float:
    return THING(state.n)  # type: ignore[name-defined,no-any-return]  # noqa: F821


def through(state: Any) -> float:
    return THING.worth(state.n)  # type: ignore[name-defined,no-any-return]  # noqa: F821


def with_thing(function: Callable[..., Any], thing: object) -> str:
    """The fingerprint of a function whose global THING is ``thing``."""
    copy = types.FunctionType(function.__code__, {"THING": thing})
    return "\n".join(fingerprint(copy, set()))


def module(**content: object) -> types.ModuleType:
    made = types.ModuleType("authors_helpers")
    vars(made).update(content)
    return made


def once(n: int) -> float:
    return n * 1.0


def doubled(n: int) -> float:
    return n * 2.0


def indirect(helper: Any) -> Callable[[int], float]:
    def outer(n: int) -> float:
        return float(helper(n))

    return outer


class Small(IntEnum):
    WALL = 1


class Large(IntEnum):
    WALL = 2


Large.__name__ = Large.__qualname__ = "Small"


@pytest.mark.parametrize(
    ("function", "before", "after"),
    [
        (used, 1, 2),
        (used, 1, 1.0),
        (used, (1, 2), (1, 3)),
        (used, np.array([1.0, 2.0]), np.array([1.0, 2.5])),
        (used, np.array([1.0]), np.array([1.0], np.float32)),
        (called, once, doubled),
        (called, numba.njit(once), numba.njit(doubled)),
        (called, numba.njit(once), numba.njit(fastmath=True)(once)),
        (called, indirect(once), indirect(doubled)),
        (called, indirect(numba.njit(once)), indirect(numba.njit(doubled))),
        (through, module(worth=once), module(worth=doubled)),
        (through, module(worth=indirect(once)), module(worth=indirect(doubled))),
        (used, Small, Large),
    ],
)
def test_a_change_of_what_a_function_uses_is_a_change_of_the_function(
    function: Callable[..., Any], before: object, after: object
) -> None:
    assert with_thing(function, before) == with_thing(function, before)
    assert with_thing(function, before) != with_thing(function, after)


def test_what_a_function_does_not_use_does_not_matter() -> None:
    assert with_thing(through, module(worth=once, other=1)) == with_thing(
        through, module(worth=once, other=2)
    )
