"""Python simulators of which only some methods are coroutines, and answers of many types."""

import asyncio
import signal
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from mcts_core import (
    Outcome,
    Search,
    SearchConfig,
    SearchResult,
    SimulatedStep,
    SimulatorError,
    search,
)
from simulators import PythonSimulator, search_async


class Tree:
    """States 0 to 62, each with two actions, down to the fifth level."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def actions(self, state: int) -> Sequence[int]:
        return [0, 1] if state < 31 else []

    def step(self, state: int, action: int) -> SimulatedStep[Any]:
        return SimulatedStep(2 * state + action + 1, float(action))

    def evaluate(self, state: int) -> Any:
        self.asked.append(state)
        return self.value(state)

    def value(self, state: int) -> float:
        return float(state * 7919 % 11)


class Values(Tree):
    """Steps are known at once, values are awaited."""

    async def evaluate(self, state: int) -> float:
        self.asked.append(state)
        await asyncio.sleep(0)
        return self.value(state)


class Delegated(Tree):
    """The same without ``async def``: nobody can know before the first value is asked for."""

    def evaluate(self, state: int) -> Any:
        return Values.evaluate(self, state)  # type: ignore[arg-type]


class Chance(Tree):
    """Outcomes are known at once."""

    def outcomes(self, state: int, action: int) -> list[Outcome[int]]:
        return [
            Outcome(0.75, Tree.step(self, state, action)),
            Outcome(0.25, Tree.step(self, state, 1 - action)),
        ]


class ChanceValues(Chance, Values):
    """Outcomes are known at once, values are awaited."""


def found(world: Tree, evaluation: Any) -> SearchResult:
    config = SearchConfig(simulations=60, max_depth=8, evaluation=evaluation, seed=3)
    return asyncio.run(search_async(PythonSimulator(world), 0, config))


@pytest.mark.parametrize("evaluation", ["simulator", "rollout"])
@pytest.mark.parametrize(
    ("mixed", "sync"), [(Values, Tree), (Delegated, Tree), (ChanceValues, Chance)]
)
def test_awaited_values_of_sync_steps_give_the_same_search(
    mixed: type[Tree], sync: type[Tree], evaluation: str
) -> None:
    got, expected = found(mixed(), evaluation), found(sync(), evaluation)
    assert got.simulations == expected.simulations
    assert got.visits.tolist() == expected.visits.tolist()
    assert got.values.tobytes() == expected.values.tobytes()


@pytest.mark.parametrize("evaluation", ["simulator", "rollout"])
def test_awaited_values_of_sync_steps_are_asked_once(evaluation: str) -> None:
    world = Values()
    found(world, evaluation)
    assert len(world.asked) == len(set(world.asked)) > 20


def test_only_the_first_of_values_that_nobody_could_foresee_is_asked_twice() -> None:
    world = Delegated()
    found(world, "rollout")
    assert len(world.asked) <= len(set(world.asked)) + 1


class Unusual(Tree):
    """Answers as people write them: no floats, no bools, no lists, no SimulatedStep."""

    def actions(self, state: int) -> Any:
        return range(len(super().actions(state)))

    def step(self, state: int, action: int) -> Any:
        class Answer:
            reward = np.float32(action)
            terminal = np.bool_(False)

        Answer.state = 2 * state + action + 1  # type: ignore[attr-defined]
        return Answer

    def evaluate(self, state: int) -> Any:
        return int(self.value(state))


class Integers(Tree):
    """Whole rewards and values."""

    def step(self, state: int, action: int) -> SimulatedStep[int]:
        return SimulatedStep(2 * state + action + 1, action)

    def evaluate(self, state: int) -> Any:
        return int(self.value(state))


@pytest.mark.parametrize("kind", [Unusual, Integers])
def test_answers_of_other_types_give_the_same_search(kind: type[Tree]) -> None:
    config = SearchConfig(simulations=60, max_depth=8, evaluation="rollout")
    runs = [Search(PythonSimulator(world()), 0, config) for world in (Tree, kind)]
    for run in runs:
        run.run()
    assert runs[0].tree().visits.tolist() == runs[1].tree().visits.tolist()
    assert runs[0].tree().value.tobytes() == runs[1].tree().value.tobytes()


def test_methods_may_be_any_callables() -> None:
    world: Any = Tree()
    world.evaluate = lambda state: 0.0
    world.actions = [(0, 1)].__getitem__  # of one state, 0
    world.step = max
    with pytest.raises(SimulatorError, match="wanted a SimulatedStep"):
        search(PythonSimulator(world), 0, SearchConfig(simulations=4))
    world.step = lambda state, action: SimulatedStep(0, float(action))
    assert search(PythonSimulator(world), 0, SearchConfig(simulations=40)).action == 1


def test_ctrl_c_interrupts_a_search_of_a_python_simulator_and_leaves_it_usable() -> None:
    class Endless(Tree):
        def actions(self, state: int) -> Sequence[int]:
            return [0, 1]

        def evaluate(self, state: int) -> float:
            self.asked.append(state)
            if len(self.asked) == 501:
                signal.raise_signal(signal.SIGINT)
            return 0.0

    run = Search(PythonSimulator(Endless()), 0, SearchConfig(simulations=2_000, max_depth=30))
    with pytest.raises(KeyboardInterrupt):
        run.run()
    assert run.result().visits.sum() == run.simulations == 500
    run.run()
    assert run.simulations == 2_000
