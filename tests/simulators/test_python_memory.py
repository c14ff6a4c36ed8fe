"""What a search of a Python simulator keeps alive, and that it lets go of all of it."""

import asyncio
import gc
import sys
import weakref
from collections.abc import Sequence
from typing import Any

import pytest

from mcts_core import (
    Outcome,
    Search,
    SearchConfig,
    SimulatedStep,
    SimulatorCallError,
    SimulatorError,
    search,
)
from simulators import PythonSimulator, search_async


class State:
    """A state that can be watched; it refers to the simulator, as a person's states may."""

    def __init__(self, world: "World", number: int) -> None:
        self.world, self.number = world, number
        world.alive.append(weakref.ref(self))


class World:
    """A tree of two actions; each kind of object that it hands out can be counted."""

    def __init__(self) -> None:
        self.alive: list[weakref.ref[State]] = []
        self.names = ["left name", "right name"]
        self.reward, self.value = 0.25, 0.75
        self.fails_in = 0

    def actions(self, state: State) -> Sequence[str]:
        return list(self.names)

    def step(self, state: State, action: str) -> SimulatedStep[State]:
        self.fails_in -= 1
        if self.fails_in == 0:
            raise ValueError("wanted")
        after = 2 * state.number + self.names.index(action)
        return SimulatedStep(State(self, after), self.reward)

    def evaluate(self, state: State) -> float:
        return self.value

    def still_alive(self) -> int:
        gc.collect()
        return sum(ref() is not None for ref in self.alive)

    def counted(self) -> list[int]:
        """References to all that is not a state."""
        return [sys.getrefcount(thing) for thing in (*self.names, self.reward, self.value)]


class Drawn(World):
    """The same with chance."""

    def outcomes(self, state: State, action: str) -> list[Outcome[State]]:
        return [Outcome(0.5, World.step(self, state, name)) for name in self.names]


class Judged(World):
    """The same with players, priors, and answers of less usual types."""

    def actions(self, state: State) -> Any:
        return iter(self.names)

    def player(self, state: State) -> int:
        return state.number % 2

    def priors(self, state: State, actions: Sequence[str]) -> list[float]:
        return [0.5, 0.25]

    def evaluate(self, state: State) -> Any:
        return True


class Awaited(World):
    """The same with coroutines that wait now and then."""

    async def evaluate(self, state: State) -> float:  # type: ignore[override]
        if state.number % 3 == 0:
            await asyncio.sleep(0)
        return self.value


class Patient(Awaited):
    """All of it asynchronous."""

    async def actions(self, state: State) -> Sequence[str]:  # type: ignore[override]
        await asyncio.sleep(0)
        return World.actions(self, state)

    async def step(self, state: State, action: str) -> SimulatedStep[State]:  # type: ignore[override]
        await asyncio.sleep(0)
        return World.step(self, state, action)


class DrawnAwaited(Awaited, Drawn):
    """Chance known at once, values awaited."""


CONFIG = SearchConfig(simulations=300, max_depth=12, evaluation="rollout", value_range=(0.0, 4.0))


@pytest.mark.parametrize("kind", [World, Drawn, Judged, Awaited, Patient, DrawnAwaited])
def test_a_search_lets_go_of_everything_when_it_ends(kind: type[World]) -> None:
    world = kind()
    simulator = PythonSimulator(world)
    root = State(world, 1)

    def once() -> None:
        asyncio.run(search_async(simulator, root, CONFIG))

    once()
    assert world.still_alive() == 1
    before = world.counted()
    once()
    assert len(world.alive) > 400
    assert world.still_alive() == 1
    assert world.counted() == before


@pytest.mark.parametrize("kind", [World, Drawn, Judged])
def test_failed_simulations_keep_nothing_alive(kind: type[World]) -> None:
    world = kind()
    simulator = PythonSimulator(world)

    def fail_often() -> None:
        run = Search(simulator, State(world, 1), CONFIG)
        for steps in range(1, 30):
            world.fails_in = steps
            with pytest.raises(SimulatorCallError, match="ValueError"):
                run.run()

    fail_often()
    assert world.still_alive() == 0


def test_a_simulator_in_a_circle_with_its_states_is_collected() -> None:
    world: Any = World()
    world.handle = PythonSimulator(world)
    world.first = State(world, 1)
    search(world.handle, world.first, CONFIG)
    watched = weakref.ref(world)
    del world
    gc.collect()
    assert watched() is None


@pytest.mark.parametrize("awaited", [False, True])
def test_long_rollouts_are_let_go_without_deep_recursion(awaited: bool) -> None:
    class Chain:
        def actions(self, state: int) -> tuple[int, ...]:
            return (0, 1)

        def step(self, state: int, action: int) -> SimulatedStep[int]:
            return SimulatedStep(state + 1)

        def evaluate(self, state: int) -> Any:
            return self.later() if awaited else 0.0

        async def later(self) -> float:
            await asyncio.sleep(0)
            return 0.0

    config = SearchConfig(simulations=3, max_depth=200_000, evaluation="rollout")
    result = asyncio.run(search_async(PythonSimulator(Chain()), 0, config))
    assert result.simulations == 3


def test_a_list_of_actions_that_shrinks_later_is_an_error() -> None:
    class Reused:
        def __init__(self) -> None:
            self.list = [0, 1, 2]

        def actions(self, state: int) -> list[int]:
            return self.list

        def step(self, state: int, action: int) -> SimulatedStep[int]:
            del self.list[1:]
            return SimulatedStep(state + 1)

        def evaluate(self, state: int) -> float:
            return 0.0

    with pytest.raises(SimulatorError, match=r"actions of state 0: .*shortened to 1"):
        search(PythonSimulator(Reused()), 0, SearchConfig(simulations=10))
