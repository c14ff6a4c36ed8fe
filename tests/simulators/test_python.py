"""Python simulators, sync and async, are searched like the same world as arrays."""

import asyncio
import gc
import math
import signal
import threading
import weakref
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings

from mcts_core import (
    NonFiniteError,
    Outcome,
    Search,
    SearchConfig,
    SimulatedStep,
    SimulatorCallError,
    SimulatorError,
    search,
)
from simulators import PythonSimulator, TabularModel, search_async
from simulators.asynchronous import drive
from tests.models import configs, models


class FromArrays:
    """A model's world as a Python simulator: outcomes for chance."""

    def __init__(self, model: TabularModel) -> None:
        self.model = model

    def actions(self, state: int) -> range | list[int]:
        first, last = self.model.action_offsets[state : state + 2].tolist()
        return list(range(last - first))

    def outcomes(self, state: int, action: int) -> list[Outcome[int]]:
        model = self.model
        choice = int(model.action_offsets[state]) + action
        first, last = model.outcome_offsets[choice : choice + 2].tolist()
        return [
            Outcome(
                float(model.probability[edge]),
                SimulatedStep(
                    int(model.next_state[edge]),
                    float(model.reward[edge]),
                    bool(model.terminal[edge]),
                ),
            )
            for edge in range(first, last)
        ]

    def evaluate(self, state: int) -> float:
        return float(self.model.value[state])

    def player(self, state: int) -> int:
        return int(self.model.player[state])


class Deterministic(FromArrays):
    """The same without chance: step instead of outcomes."""

    outcomes = None  # type: ignore[assignment]

    def step(self, state: int, action: int) -> SimulatedStep[int]:
        return FromArrays.outcomes(self, state, action)[0].step


class Waiting(Deterministic):
    """The same with coroutines, some of which wait; counts how often each thing is asked."""

    def __init__(self, model: TabularModel) -> None:
        super().__init__(model)
        self.calls = 0

    async def actions(self, state: int) -> list[int]:  # type: ignore[override]
        await self.sometimes()
        return list(super().actions(state))

    async def step(self, state: int, action: int) -> SimulatedStep[int]:  # type: ignore[override]
        await self.sometimes()
        return super().step(state, action)

    async def evaluate(self, state: int) -> float:  # type: ignore[override]
        await self.sometimes()
        return super().evaluate(state)

    async def sometimes(self) -> None:
        self.calls += 1
        if self.calls % 3 == 0:
            await asyncio.sleep(0)
        if self.calls % 50 == 0:
            await asyncio.get_running_loop().run_in_executor(None, lambda: None)


@settings(max_examples=60, deadline=None)
@given(models(), configs)
def test_a_stochastic_python_world_gives_the_search_of_its_arrays(
    model: TabularModel, config: SearchConfig
) -> None:
    expected, got = Search(model, 0, config), Search(PythonSimulator(FromArrays(model)), 0, config)
    expected.run()
    got.run()
    assert expected.tree().visits.tolist() == got.tree().visits.tolist()
    assert expected.tree().value.tolist() == got.tree().value.tolist()


@settings(max_examples=40, deadline=None)
@given(models(most_outcomes=1), configs)
def test_sync_and_async_simulators_give_the_same_search(
    model: TabularModel, config: SearchConfig
) -> None:
    expected = search(model, 0, config)
    sync = search(PythonSimulator(Deterministic(model)), 0, config)
    waiting = asyncio.run(search_async(PythonSimulator(Waiting(model)), 0, config))
    for result in (sync, waiting):
        assert result.visits.tolist() == expected.visits.tolist()
        assert result.values.tobytes() == expected.values.tobytes()
        assert result.principal_variation == expected.principal_variation


def counter(limit: int = 6) -> Any:
    """A world that counts to ``limit``; action 2 doubles."""

    class Counter:
        def actions(self, state: int) -> Sequence[str]:
            return () if state >= limit else ("one", "two")

        def step(self, state: int, action: str) -> SimulatedStep[int]:
            after = state + 1 if action == "one" else state * 2
            return SimulatedStep(after, reward=-1.0, terminal=after >= limit)

        def evaluate(self, state: int) -> float:
            return 0.0

    return Counter()


def test_actions_are_named_as_the_simulator_names_them() -> None:
    result = search(PythonSimulator(counter()), 1, SearchConfig(simulations=300, max_depth=10))
    assert result.actions == ("one", "two")
    assert result.value == pytest.approx(-3.0, abs=0.5)


def test_nothing_awaited_is_asked_twice() -> None:
    asked: list[tuple[str, Any]] = []

    class Careful:
        async def actions(self, state: int) -> list[int]:
            asked.append(("actions", state))
            await asyncio.sleep(0)
            return [0, 1] if state < 15 else []

        async def step(self, state: int, action: int) -> SimulatedStep[int]:
            asked.append(("step", (state, action)))
            await asyncio.sleep(0)
            return SimulatedStep(2 * state + action + 1)

        async def evaluate(self, state: int) -> float:
            asked.append(("evaluate", state))
            await asyncio.sleep(0)
            return float(state % 3)

    config = SearchConfig(simulations=200, max_depth=6, evaluation="rollout")
    asyncio.run(search_async(PythonSimulator(Careful()), 0, config))
    assert len(asked) == len(set(asked))


def test_an_async_search_lets_other_tasks_run_and_can_be_cancelled() -> None:
    async def scenario() -> int:
        config = SearchConfig(simulations=2**31 - 2, max_depth=10)
        task = asyncio.create_task(search_async(PythonSimulator(counter()), 1, config))
        turns = 0
        while turns < 5:
            await asyncio.sleep(0.001)
            turns += 1
        assert not task.done()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return turns

    assert asyncio.run(scenario()) == 5


def test_without_waiting_no_event_loop_is_needed() -> None:
    config = SearchConfig(simulations=20_000, max_depth=10)
    result = drive(search_async(PythonSimulator(counter()), 1, config))
    assert result.simulations == 20_000

    class Unanswered(Deterministic):
        async def evaluate(self, state: int) -> float:  # type: ignore[override]
            return float(await asyncio.to_thread(lambda: 1))

    async def scenario() -> None:
        world = PythonSimulator(Unanswered(TabularModel([0, 1], [0, 1], [0], [1.0])))
        with pytest.raises(SimulatorError, match="event loop"):
            drive(search_async(world, 0, SearchConfig(simulations=50, max_depth=3)))

    asyncio.run(scenario())


def test_a_waiting_simulator_needs_an_event_loop() -> None:
    model = TabularModel([0, 1], [0, 1], [0], [1.0])
    with pytest.raises(SimulatorError, match="search_async"):
        search(PythonSimulator(Waiting(model)), 0, SearchConfig(simulations=50, max_depth=3))


# --- what simulators get wrong ----------------------------------------------------------------


class Broken:
    """Does what its keyword arguments say, at state 2."""

    def __init__(self, **what: Any) -> None:
        self.what = what

    def actions(self, state: int) -> Any:
        return self.at(state, "actions", ["a", "b"])

    def step(self, state: int, action: str) -> Any:
        return self.at(state, "step", SimulatedStep(state + 1))

    def evaluate(self, state: int) -> Any:
        return self.at(state, "evaluate", 0.0)

    def priors(self, state: int, actions: Sequence[str]) -> Any:
        return self.at(state, "priors", None)

    def at(self, state: int, method: str, usual: Any) -> Any:
        if state != 2 or method not in self.what:
            return usual
        if isinstance(self.what[method], BaseException):
            raise self.what[method]
        return self.what[method]


@pytest.mark.parametrize(
    ("method", "answer", "error", "message"),
    [
        ("actions", ValueError("boom"), SimulatorCallError, "actions of state 2 raised ValueError"),
        ("actions", 5, SimulatorCallError, "actions of state 2"),
        ("step", KeyError("boom"), SimulatorCallError, "step of action '.' in state 2 raised KeyE"),
        ("step", None, SimulatorError, "step of action '.' in state 2: got None"),
        ("step", SimulatedStep(3, math.nan), NonFiniteError, "reward of action '.' in state 2"),
        ("step", SimulatedStep(3, math.inf), NonFiniteError, "reward of action '.' in state 2"),
        ("step", SimulatedStep(3, 1e151), NonFiniteError, "reward of action '.' in state 2"),
        ("step", SimulatedStep(3, "1"), SimulatorError, "reward of action '.' in state 2: got '1'"),  # type: ignore[arg-type]
        ("evaluate", math.nan, NonFiniteError, "value of state 2: got nan"),
        ("evaluate", None, SimulatorError, "value of state 2: got None"),
        ("evaluate", OSError("no"), SimulatorCallError, "evaluate of state 2 raised OSError"),
        ("priors", [1.0], SimulatorError, "priors of state 2: got 1 weights, wanted 2"),
        ("priors", [1.0, -1.0], NonFiniteError, "prior of action 'b' in state 2: got -1.0"),
        ("priors", [1.0, math.nan], NonFiniteError, "prior of action 'b' in state 2"),
        ("priors", RuntimeError("x"), SimulatorCallError, "priors of state 2 raised RuntimeError"),
    ],
)
def test_a_broken_simulator_is_named_with_state_and_action_and_leaves_the_search_usable(
    method: str, answer: object, error: type[Exception], message: str
) -> None:
    simulator = Broken(**{method: answer})
    run = Search(PythonSimulator(simulator), 0, SearchConfig(simulations=100, max_depth=8))
    with pytest.raises(error, match=message) as caught:
        run.run()
    if isinstance(answer, Exception):
        assert caught.value.__cause__ is answer
    done = run.simulations
    assert run.result().visits.sum() == done
    simulator.what = {}
    run.run()
    assert run.simulations == 100
    assert run.result().visits.sum() == 100


def test_probabilities_that_do_not_sum_to_one_are_refused() -> None:
    class Lossy:
        def actions(self, state: int) -> list[str]:
            return ["go"]

        def outcomes(self, state: int, action: str) -> list[Outcome[int]]:
            return [Outcome(0.5, SimulatedStep(1)), Outcome(0.4, SimulatedStep(2))]

        def evaluate(self, state: int) -> float:
            return 0.0

    with pytest.raises(SimulatorError, match=r"outcomes of action 'go' in state 0.*sum to 0\.9"):
        search(PythonSimulator(Lossy()), 0, SearchConfig(simulations=5))


@pytest.mark.parametrize("missing", ["actions", "step", "evaluate"])
def test_a_missing_method_is_named(missing: str) -> None:
    class Partial:
        pass

    for name in {"actions", "step", "evaluate"} - {missing}:
        setattr(Partial, name, lambda self, *_: None)
    with pytest.raises(SimulatorError, match=f"without {missing}"):
        PythonSimulator(Partial())


def test_states_are_let_go_when_the_search_is() -> None:
    class State:
        pass

    alive: list[weakref.ref[State]] = []

    def made() -> State:
        state = State()
        alive.append(weakref.ref(state))
        return state

    class World:
        def actions(self, state: State) -> list[int]:
            return [0, 1]

        def step(self, state: State, action: int) -> SimulatedStep[State]:
            return SimulatedStep(made())

        def evaluate(self, state: State) -> float:
            return 0.5

    config = SearchConfig(simulations=200, max_depth=5, evaluation="rollout")
    run = Search(PythonSimulator(World()), made(), config)
    run.run()
    gc.collect()
    assert sum(ref() is not None for ref in alive) == run.nodes  # rollouts keep nothing
    del run
    gc.collect()
    assert not any(ref() for ref in alive)


def test_random_moves_of_a_stochastic_world_keep_no_more_than_the_tree_does() -> None:
    class State:
        pass

    alive: list[weakref.ref[State]] = []

    def made() -> State:
        state = State()
        alive.append(weakref.ref(state))
        return state

    class World:
        def actions(self, state: State) -> list[int]:
            return [0, 1]

        def outcomes(self, state: State, action: int) -> list[Outcome[State]]:
            return [Outcome(0.5, SimulatedStep(made())) for _ in range(2)]

        def evaluate(self, state: State) -> float:
            return 0.5

    config = SearchConfig(simulations=200, max_depth=60, evaluation="rollout")
    run = Search(PythonSimulator(World()), made(), config)
    run.run()
    gc.collect()
    assert len(alive) > 200 * 50  # rollouts are long
    outcomes_of_a_node = 2 * 2
    assert sum(ref() is not None for ref in alive) <= run.nodes * (1 + outcomes_of_a_node)
    del run
    gc.collect()
    assert not any(ref() for ref in alive)


def test_ctrl_c_interrupts_a_search_and_leaves_it_readable() -> None:
    run = Search(
        TabularModel([0, 4], range(5), [0] * 4, [0.0, 1.0, 0.5, 0.2]),
        0,
        SearchConfig(simulations=2**31 - 2, max_depth=30),
    )
    main = threading.main_thread().ident
    assert main is not None
    timer = threading.Timer(0.1, signal.pthread_kill, [main, signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        run.run()
    timer.join()
    assert run.result().visits.sum() == run.simulations > 0
