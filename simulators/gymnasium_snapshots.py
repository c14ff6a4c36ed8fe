"""How states of a Gymnasium environment are kept: by its own state setting, or by copies.

And what an environment says of itself: its actions, its time limit, the wrappers around it. The
simulators over this stand in ``gymnasium.py``.
"""

import copy
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final, NamedTuple, Protocol

from mcts_core.errors import SimulatorError
from simulators.awaiting import short

__all__ = [
    "Env",
    "Way",
    "checked",
    "elapsed_steps",
    "legal_actions",
    "require_reset",
    "second",
    "step_limit",
    "working_way",
]

Env = Any
"""A ``gymnasium.Env``; untyped here, since the package need not be installed."""

WATCHING: Final = frozenset(
    {"HumanRendering", "OrderEnforcing", "PassiveEnvChecker", "RecordEpisodeStatistics"}
    | {"RecordVideo", "RenderCollection"}
)
"""Wrappers that leave actions, steps and rewards as they are; a search needs none of them."""
SETTERS: Final = (("clone_state", "restore_state"), ("get_state", "set_state"))
CHECKED_EPISODES: Final = 4
CHECKED_STEPS: Final = 16


class Way(Protocol):
    """How the states of an environment are kept and come back."""

    def save(self, env: Env) -> Any:
        """A snapshot of ``env``, which stays as it is."""

    def load(self, saved: Any) -> Env:
        """An environment in that state, to be stepped before the next ``load``."""

    def keep(self, env: Env) -> Any:
        """A snapshot of an environment from ``load``, which is not used further."""


@dataclass(frozen=True, slots=True)
class _Copies:
    """Deep copies, random generator included; ``shared``: all share the spaces and the spec."""

    shared: bool

    def save(self, env: Env) -> Env:
        base = env.unwrapped
        kept = (base.action_space, base.observation_space, base.spec) if self.shared else ()
        return copy.deepcopy(env, {id(thing): thing for thing in kept})

    load = save

    def keep(self, env: Env) -> Env:
        return env


class _StateSetting:
    """States from ``getter``, put by ``setter`` into a second environment."""

    def __init__(self, core: Env, getter: str, setter: str) -> None:
        self._second = second(core)
        self._getter, self._setter = getter, setter
        takes_rng = "include_rng" in inspect.signature(getattr(core, getter)).parameters
        self._options = {"include_rng": True} if takes_rng else {}

    def save(self, env: Env) -> Any:
        return getattr(env, self._getter)(**self._options)

    keep = save

    def load(self, saved: Any) -> Env:
        getattr(self._second, self._setter)(saved)
        return self._second


def working_way(core: Env) -> Way:
    """The first way whose snapshots agree; ``SimulatorError`` that tells of all if none does."""
    tried = []
    for name, make in _ways(core):
        try:
            way = make()
            fault = _disagreement(way, core)
        except Exception as error:  # an environment may raise anything; the message hands it on
            fault = f"{type(error).__name__}: {short(str(error))}"
        if fault is None:
            return way
        tried.append(f"{name}: {fault}")
    raise SimulatorError(
        f"{short(core)}: no way to take snapshots; tried {'; '.join(tried)}; wanted an environment "
        "made without render_mode that copy.deepcopy copies, with all randomness in np_random, or "
        "methods clone_state() and restore_state(state)"
    )


def _ways(core: Env) -> Iterator[tuple[str, Callable[[], Way]]]:
    """What can be tried, by name, the cheapest first."""
    for getter, setter in SETTERS:
        if core is core.unwrapped and hasattr(core, getter) and hasattr(core, setter):
            yield f"{getter} and {setter}", lambda g=getter, s=setter: _StateSetting(core, g, s)  # type: ignore[misc]
    yield "copy.deepcopy with shared spaces", lambda: _Copies(True)
    yield "copy.deepcopy", lambda: _Copies(False)


def _disagreement(way: Way, core: Env) -> str | None:
    """Where walks with the same actions part, on end and by snapshots; None if they never do."""
    for episode in range(CHECKED_EPISODES):
        env = way.load(way.save(core))
        legal = _begin(env, episode, core)
        saved = way.save(env)
        walks = [list(_walk(env, legal, core, lambda env: env))]
        for _ in range(2):
            again = _walk(way.load(saved), legal, core, lambda env: way.load(way.keep(env)))
            walks.append(list(again))
        for step, (straight, *copied) in enumerate(zip(*walks, strict=False)):
            if not all(_alike(straight, other) for other in copied):
                return f"copies disagree after {step + 1} steps with the same actions"
    return None


def _begin(env: Env, seed: int, core: Env) -> tuple[int, ...]:
    """Begin an episode, two steps into it if it is as long; what is legal there."""
    info = env.reset(seed=seed)[1]
    for _ in range(2):
        legal = legal_actions(core, info)
        *_, terminated, truncated, info = env.step(legal[0])
        if terminated or truncated or not legal_actions(core, info):
            info = env.reset(seed=seed)[1]
            break
    return legal_actions(core, info)


def _walk(
    env: Env, legal: tuple[int, ...], core: Env, after_step: Callable[[Env], Env]
) -> Iterator[tuple[Any, ...]]:
    """What some steps return, to the end of the episode at most."""
    for i in range(CHECKED_STEPS):
        observation, reward, terminated, truncated, info = env.step(legal[i % len(legal)])
        yield copy.deepcopy(observation), reward, terminated, truncated
        legal = legal_actions(core, info)
        if terminated or truncated or not legal:
            return
        env = after_step(env)


def _alike(one: Any, other: Any) -> bool:
    """Whether two observations are equal: arrays inside dicts and tuples too, NaN equal to NaN."""
    from numpy.testing import assert_equal

    try:
        assert_equal(one, other)
    except AssertionError:
        return False
    return True


# --- what an environment says of itself -----------------------------------------------------------


class _Peeled(NamedTuple):
    """An environment without the wrappers that only watch, and its ``TimeLimit`` if it has one."""

    core: Env
    clock: Env | None


def _gymnasium() -> Any:
    try:
        return import_module("gymnasium")
    except ImportError as error:
        raise ImportError(
            "gymnasium: not installed, wanted: pip install 'harness-router[gymnasium]'"
        ) from error


def checked(env: Env) -> _Peeled:
    """The parts of ``env``; ``SimulatorError`` if it is none, or not with discrete actions."""
    gymnasium = _gymnasium()
    if not isinstance(env, gymnasium.Env):
        raise SimulatorError(f"env: got {short(env)}, wanted a gymnasium.Env")
    if not isinstance(env.action_space, gymnasium.spaces.Discrete):
        raise SimulatorError(
            f"action space of {short(env)}: got {short(env.action_space)}, wanted Discrete: a "
            "search tries each action (gymnasium.wrappers.DiscretizeAction makes them few)"
        )
    return _peel(env)


def _peel(env: Env) -> _Peeled:
    clock = None
    while type(env).__module__.startswith("gymnasium.wrappers"):
        name = type(env).__name__
        if name == "TimeLimit" and clock is None:
            clock = env
        elif name not in WATCHING:
            break
        env = env.env
    return _Peeled(env, clock)


def step_limit(clock: Env | None) -> int | None:
    """Steps in an episode by its ``TimeLimit``; None without one."""
    return None if clock is None else int(clock._max_episode_steps)


def elapsed_steps(clock: Env | None) -> int:
    """Steps taken in this episode, as far as its ``TimeLimit`` has counted them."""
    return 0 if clock is None else int(clock._elapsed_steps or 0)


def require_reset(env: Env) -> None:
    """``SimulatorError`` if ``env`` knows that it was never reset."""
    while env is not env.unwrapped:
        if getattr(env, "has_reset", True) is False:
            raise SimulatorError(f"{short(env)}: no episode has begun, wanted reset() before")
        env = env.env


def legal_actions(core: Env, info: Mapping[str, Any]) -> tuple[int, ...]:
    """The actions of the space, or those of them that ``info["action_mask"]`` admits."""
    first, count = int(core.action_space.start), int(core.action_space.n)
    mask = info.get("action_mask")
    return tuple(first + i for i in range(count) if mask is None or mask[i])


def second(core: Env) -> Env:
    """Another environment like ``core``: a copy, or where that fails one made from its spec."""
    try:
        return copy.deepcopy(core)
    except Exception:
        if core.spec is None:
            raise
    options = {name: option for name, option in core.spec.kwargs.items() if name != "render_mode"}
    return _gymnasium().make(core.spec.id, **options).unwrapped
