"""Compiling functions to C function pointers with numba, once for each content; kept on disk.

numba keeps compiled code beside a source file, but cannot tell whether functions that a wrapper
refers to have changed. So the wrappers are written to a file whose name is a digest of all that
they depend on (the functions' byte code, constants and globals, the wrappers, the versions), in the
user's cache folder: ``$HARNESS_ROUTER_CACHE``, else ``$XDG_CACHE_HOME/harness-router``, else
``~/.cache/harness-router``. Where that cannot be written, each process compiles for itself.

Importing this module imports numba.
"""

import hashlib
import os
import sys
import tempfile
import types
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from enum import EnumMeta
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numba.core.errors import NumbaError

from mcts_core.errors import MCTSError

__all__ = ["cache_folder", "code_of", "compile_module", "fingerprint"]

# Modules whose content the versions of Python and of numpy and numba fix.
FIXED = frozenset({*sys.stdlib_module_names, "numba", "numpy"})


def compile_module(
    kind: str,
    common: str,
    pieces: Mapping[str, str],
    functions: Mapping[str, Callable[..., Any]],
    *,
    constants: Mapping[str, object],
    refuse: Callable[[str, str], MCTSError],
    depends: Iterable[object] = (),
    options: Mapping[str, Any] | None = None,
    optional: Container[str] = (),
) -> types.ModuleType:
    """A module made of ``common`` and then ``pieces``, compiled or loaded from the cache.

    Args:
        kind: the first word of the file's name, and what messages call it.
        common: source of what all pieces use.
        pieces: name -> source that defines one ``numba.cfunc`` with ``cache=CACHE``.
        functions: name in the sources -> what an author wrote; compiled by ``numba.njit``, with
            ``options``, unless it is compiled already.
        constants: name in the sources -> a value that ``depends`` tells apart.
        refuse: (piece, reason) -> the error to raise where numba refuses a piece.
        depends: what the code depends on besides sources and functions, told apart by ``repr``.
        options: of ``numba.njit``.
        optional: pieces that are left out where numba refuses them.
    """
    fixed = [common, *pieces.items(), *depends, sorted((options or {}).items())]
    path = _source_file(kind, fixed, functions)
    module = types.ModuleType(path.stem if path else f"{kind}_{id(functions)}")
    if path:
        sys.modules[module.__name__] = module  # where numba looks when it loads what it kept
    module.__dict__.update(constants)
    for name, function in functions.items():
        is_compiled = hasattr(function, "py_func")
        made = function if is_compiled else numba.njit(**(options or {}))(function)
        module.__dict__[name] = made
    module.__dict__["CACHE"] = path is not None
    module.__dict__["__file__"] = filename = str(path or f"<{kind}>")
    exec(compile(common, filename, "exec"), module.__dict__)
    longest = max(len(source.splitlines()) for source in pieces.values())
    for i, (name, source) in enumerate(pieces.items()):
        # Padded, so that numba, which identifies a function by its first line, tells them apart.
        text = "\n" * (len(common.splitlines()) + (1 + longest) * i) + source
        try:
            _define(compile(text, filename, "exec"), module)
        except NumbaError as error:
            if name in optional:
                continue
            raise refuse(name, _reason(error)) from error
    return module


def _define(code: types.CodeType, module: types.ModuleType) -> None:
    """Execute a piece. What was kept and cannot be loaded is deleted and made anew; where
    nothing can be kept, it is compiled for this process."""
    try:
        exec(code, module.__dict__)
    except NumbaError:
        raise
    except Exception:
        if not module.__dict__["CACHE"]:
            raise
        module.__dict__["CACHE"] = _forget(Path(module.__dict__["__file__"]))
        _define(code, module)


def _forget(source: Path) -> bool:
    """Delete what numba kept for a source file. True if there was something and it is gone."""
    kept = list(source.parent.glob(f"__pycache__/{source.stem}.*"))
    try:
        for file in kept:
            file.unlink(missing_ok=True)
    except OSError:
        return False
    return bool(kept)


def _reason(error: Exception) -> str:
    """The first line of why numba refused."""
    reasons = [line.strip() for line in str(error).splitlines() if line.strip()]
    useful = [line for line in reasons if not line.startswith(("Failed in", "-", "File", "During"))]
    return (useful or reasons)[0][:200]


def cache_folder() -> Path:
    """Where compiled code is kept."""
    own = os.environ.get("HARNESS_ROUTER_CACHE")
    base = os.environ.get("XDG_CACHE_HOME") or str(Path("~/.cache").expanduser())
    return Path(own) if own else Path(base) / "harness-router"


def _source_file(
    kind: str, fixed: list[object], functions: Mapping[str, Callable[..., Any]]
) -> Path | None:
    """The file beside which numba keeps the code, or None where nothing can be kept."""
    digest = hashlib.sha256()
    try:
        for part in (*fixed, numba.__version__, np.__version__):
            digest.update(repr(part).encode())
        for name, function in sorted(functions.items()):
            for item in fingerprint(function, set()):
                digest.update(f"{name} {item}\n".encode())
    except TypeError:
        return None  # depends on something whose content we cannot name
    path = cache_folder() / f"{kind}_{digest.hexdigest()[:40]}.py"
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        compiled = path.parent / "__pycache__"
        compiled.mkdir(exist_ok=True)
        tempfile.TemporaryFile(dir=compiled).close()  # else numba would write somewhere else
        if not path.exists():
            path.write_text("# Compiled code of harness-router is kept beside this file.\n")
    except OSError:
        return None
    return path


def fingerprint(thing: object, seen: set[object]) -> Iterator[str]:
    """All that the meaning of a function, or of a value that it uses, depends on.

    Raises:
        TypeError: it depends on an object whose content cannot be named.
    """
    if hasattr(thing, "py_func"):
        yield repr(sorted(getattr(thing, "targetoptions", {}).items()))
        thing = thing.py_func
    if isinstance(thing, types.FunctionType):
        yield from _function(thing, seen)
    elif isinstance(thing, np.ndarray):
        yield f"{thing.dtype} {thing.shape} {hashlib.sha256(thing.tobytes()).hexdigest()}"
    elif isinstance(thing, (int, float, complex, bool, str, bytes, type(None), np.generic)):
        yield repr(thing)
    elif isinstance(thing, tuple):
        yield str(len(thing))
        for item in thing:
            yield from fingerprint(item, seen)
    elif isinstance(thing, EnumMeta):
        yield repr(list(thing.__members__.items()))
    elif isinstance(thing, (type, types.BuiltinFunctionType)):
        yield f"{thing.__module__}.{thing.__qualname__}"
    else:
        raise TypeError(type(thing).__name__)


def _function(function: types.FunctionType, seen: set[object]) -> Iterator[str]:
    if id(function) in seen:
        return
    seen.add(id(function))
    yield from code_of(function.__code__)
    yield repr((function.__defaults__, function.__kwdefaults__))
    names = tuple(_names(function.__code__))
    for name in names:
        if name in function.__globals__:
            yield name
            yield from _global(function.__globals__[name], names, seen)
    for cell in function.__closure__ or ():
        yield from _global(cell.cell_contents, names, seen)


def _global(thing: object, names: tuple[str, ...], seen: set[object]) -> Iterator[str]:
    """A global or a cell. Of an author's own module, whatever the code names (``names``)."""
    if not isinstance(thing, types.ModuleType):
        yield from fingerprint(thing, seen)
    elif thing.__name__.split(".")[0] in FIXED:
        yield f"{thing.__name__} {getattr(thing, '__version__', '')}"
    else:
        for name in names:
            if hasattr(thing, name) and (id(thing), name) not in seen:
                seen.add((id(thing), name))
                yield f"{thing.__name__}.{name}"
                yield from _global(getattr(thing, name), names, seen)


def code_of(code: types.CodeType) -> Iterator[str]:
    """What a code object does, in texts that do not depend on the process."""
    yield code.co_code.hex()
    yield repr(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from code_of(constant)
        else:
            yield repr(constant)


def _names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)
