"""The cache of compiled code: where it is, and what the meaning of a function depends on."""

import types
from collections.abc import Callable
from enum import IntEnum
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

from mcts_core.numba_cache import cache_folder, fingerprint


def test_the_folder_is_the_users_cache_unless_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARNESS_ROUTER_CACHE", "/named")
    assert cache_folder() == Path("/named")
    monkeypatch.delenv("HARNESS_ROUTER_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/xdg")
    assert cache_folder() == Path("/xdg/harness-router")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/home/someone")
    assert cache_folder() == Path("/home/someone/.cache/harness-router")


def test_what_depends_on_something_that_cannot_be_named_is_not_kept() -> None:
    names = numba.typed.List(["a"])

    def nameless(state: Any) -> float:
        return 1.0 if state.n < 100 else float(len(names))

    with pytest.raises(TypeError):
        list(fingerprint(nameless, set()))


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
