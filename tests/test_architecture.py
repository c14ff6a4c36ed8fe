"""Imports run one way, down the floors, without circles; each file says what lives in it."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

# A package may import itself and what stands before it here.
FLOORS = ("mcts_core", "simulators", "router", "harness_router", "experiments", "benchmarks")

# Within `router`, likewise: a module may import only what stands before it.
ROUTER = (
    "router.errors",
    "router.models",
    "router.config",
    "router.settings",
    "router.words",
    "router.catalog",
    "router.loop_guard",
    "router.policy",
    "router.providers",
    "router.selectors",
    "router.gate",
    "router.cache_file",
    "router.cache",
    "router.tool_router",
    "router.decisions",
    "router.session",
    "router.runner",
    "router.prior",
    "router.worlds",
    "router.mcts_result",
    "router.mcts_router",
    "router.cli",
)

IMPORT = re.compile(
    r"^\s*(?:from\s+([\w.]+)\s+c?import\s+(\(?[\w\s,*]+)|c?import\s+([\w.]+))", re.M
)


def sources() -> list[Path]:
    return [
        path
        for package in FLOORS
        for suffix in ("py", "pyx", "pxd")
        for path in sorted((ROOT / package).rglob(f"*.{suffix}"))
    ]


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(path) for path in sources()}


def imports_of(path: Path) -> Iterator[str]:
    """The modules of ours that a file imports: lazily, for types only, or as cimports too."""
    for from_, names, plain in IMPORT.findall(path.read_text()):
        target = plain or from_
        if target.split(".")[0] not in FLOORS:
            continue
        inner = [f"{target}.{name}" for name in re.findall(r"\w+", names)]
        found = [name for name in inner if name in MODULES]
        yield from found or [target]


def graph() -> dict[str, set[str]]:
    edges: dict[str, set[str]] = {name: set() for name in MODULES}
    for path in sources():
        edges[module_of(path)] |= set(imports_of(path)) - {module_of(path)}
    return edges


def test_packages_import_only_what_stands_below_them() -> None:
    upward = [
        f"{module} imports {target}"
        for module, targets in graph().items()
        for target in targets
        if FLOORS.index(target.split(".")[0]) > FLOORS.index(module.split(".")[0])
    ]
    assert upward == []


def floor_in_router(module: str) -> int | None:
    found = [i for i, name in enumerate(ROUTER) if f"{module}.".startswith(f"{name}.")]
    return found[0] if found else None


def test_the_router_has_floors_too() -> None:
    modules = [m for m in MODULES if m.startswith("router.")]
    assert [m for m in modules if floor_in_router(m) is None] == []
    upward = [
        f"{module} imports {target}"
        for module in modules
        for target in graph()[module]
        if target.startswith("router.") and floor_in_router(target) > floor_in_router(module)  # type: ignore[operator]
    ]
    assert upward == []


def test_no_imports_run_in_a_circle() -> None:
    edges, done = graph(), set()

    def visit(module: str, path: tuple[str, ...]) -> None:
        assert module not in path, " -> ".join((*path, module))
        if module not in done:
            for target in edges.get(module, ()):
                visit(target, (*path, module))
            done.add(module)

    for module in edges:
        visit(module, ())


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(ROOT)))
def test_the_first_line_says_what_lives_in_the_file(path: Path) -> None:
    assert re.match(r'r?"""[\w`]', path.read_text()), "wanted a docstring on the first line"


def loaded_by(statement: str) -> set[str]:
    code = f"import sys; {statement}; print(*sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return {name.split(".")[0] for name in run.stdout.split()}


@pytest.mark.parametrize(
    "statement",
    [
        "import mcts_core",
        "import router",
        "import harness_router",
        "from router.cli import main; main(['--help'], standalone_mode=False)",
        "import router.cli.route_mcts",
    ],
)
def test_imports_stay_light(statement: str) -> None:
    assert loaded_by(statement).isdisjoint({"numba", "hydra", "mcp", "httpx"})


def test_help_loads_no_numpy_and_route_mcts_no_asyncio() -> None:
    statement = "from router.cli import main; main(['--help'], standalone_mode=False)"
    assert "numpy" not in loaded_by(statement)
    assert "asyncio" not in loaded_by("import router.cli.route_mcts")


@pytest.mark.parametrize("package", ["mcts_core", "simulators", "harness_router"])
def test_every_public_name_is_there(package: str) -> None:
    module = __import__(package)
    assert sorted(module.__all__) == sorted(set(module.__all__))
    assert all(hasattr(module, name) for name in module.__all__)


def test_the_compiled_modules_all_have_stubs() -> None:
    for path in sources():
        if path.suffix == ".pyx":
            assert path.with_suffix(".pyi").exists(), path.name
