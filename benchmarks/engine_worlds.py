"""The engine's and the floor's side of benchmarks.engine_speed: worlds to be timed."""

import gc
import time
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final

from benchmarks.contest import Timed
from benchmarks.floor import CONNECT_FOUR_EXPLORATION, floor_search
from benchmarks.peer_worlds import ROUTE_REWARDS, Board
from mcts_core import Search, SearchConfig
from mcts_core.native import SimulatorHandle
from mcts_core.simulator import EvaluateBatch, SimulatedStep
from simulators import PythonSimulator, TabularModel
from simulators.games import ConnectFour
from simulators.native_games import connect_four, constant_tree

__all__ = [
    "PYTHON_WORLDS",
    "TREES",
    "floor_connect_four",
    "floor_tree",
    "native_connect_four",
    "our_tree",
]
__all__ += ["native_tree", "one_node", "python_floor", "python_world", "timed_search"]

TREES: Final = ((8, 6), (64, 3), (256, 2), (1024, 2))
"""(branching, depth): the wider, the less deep."""


def timed_search(
    simulator: SimulatorHandle,
    root: object,
    config: SearchConfig,
    evaluate_batch: EvaluateBatch | None = None,
) -> Timed:
    """Making a Search and running it; its settings, which a user keeps too, are made before."""
    settings = cache(lambda simulations: config.replace(simulations=simulations))

    def run(simulations: int) -> tuple[float, int]:
        chosen = settings(simulations)
        start = time.perf_counter()
        search = Search(simulator, root, chosen, evaluate_batch=evaluate_batch)
        search.run()
        return time.perf_counter() - start, search.simulations

    return run


def our_tree(branching: int, depth: int, rule: str) -> Timed:
    """A model of one state whose every action leads back to it."""
    model = TabularModel(
        [0, branching], range(branching + 1), [0] * branching, [0.0] * branching, value=[0.5]
    )
    return timed_search(model, 0, _constant(depth, rule))


def native_tree(branching: int, depth: int, rule: str) -> Timed:
    """The same from a simulator in numba."""
    return timed_search(constant_tree(branching), None, _constant(depth, rule))


def one_node(rule: str) -> Timed:
    """A node with a child for every eighth simulation, where choosing one is most of the work."""

    @cache
    def timed(children: int) -> Timed:
        return timed_search(constant_tree(children), None, _constant(1, rule))

    return lambda simulations: timed(simulations // 8)(simulations)


def _constant(depth: int, rule: str) -> SearchConfig:
    return SearchConfig(max_depth=depth, selection=rule, evaluation="simulator")


def floor_tree(branching: int, depth: int, rule: str, ahead: bool) -> Timed:
    """The same tree by floor.c."""

    def run(simulations: int) -> tuple[float, int]:
        found = floor_search(
            rule,  # type: ignore[arg-type]
            simulations,
            branching=branching,
            depth=depth,
            ahead=ahead,
        )
        return found.seconds[0], simulations

    return run


def _rollouts(**changes: Any) -> SearchConfig:
    """UCB1 with sqrt(2) on returns of -1 to 1, unless changed."""
    settings: dict[str, Any] = {
        "exploration": CONNECT_FOUR_EXPLORATION,
        "value_range": (-1.0, 1.0),
        **changes,
    }
    return SearchConfig(selection="ucb1", evaluation="rollout", **settings)


def native_connect_four() -> Timed:
    """Connect four written in numba."""
    return timed_search(connect_four(), None, _rollouts())


def floor_connect_four(ahead: bool) -> Timed:
    """The same search by floor.c: for one seed it grows the same tree."""

    def run(simulations: int) -> tuple[float, int]:
        found = floor_search(
            "connect_four", simulations, exploration=CONNECT_FOUR_EXPLORATION, ahead=ahead
        )
        return found.seconds[0], simulations

    return run


class Route:
    """Eight tools, six steps, a reward for the whole way: as peer_worlds.Route, as ours is
    written."""

    TOOLS: Final = tuple(range(8))
    LAST: Final = 8**6

    def actions(self, state: int) -> Sequence[int]:
        return self.TOOLS if state < self.LAST else ()

    def step(self, state: int, action: int) -> SimulatedStep[int]:
        after = state * 8 + action
        if after < self.LAST:
            return SimulatedStep(after, 0.0, False)
        return SimulatedStep(after, ROUTE_REWARDS[after - self.LAST], True)

    def evaluate(self, state: int) -> float:
        return 0.0


class BoardGame:
    """Connect four over peer_worlds.Board, so that the peers' game and ours cost the same."""

    def actions(self, state: Board) -> Sequence[int]:
        return state.moves

    def step(self, state: Board, action: int) -> SimulatedStep[Board]:
        after = state.takeAction(action)
        return SimulatedStep(after, 1.0 if after.won else 0.0, after.ended)

    def evaluate(self, state: Board) -> float:
        return 0.0

    def player(self, state: Board) -> int:
        return state.side


PYTHON: Final[dict[str, tuple[Callable[[], Any], object, dict[str, Any]]]] = {
    "connect_four": (BoardGame, Board(), {}),
    "ConnectFour": (ConnectFour, ConnectFour().initial(), {}),
    "route": (Route, 1, {"exploration": 1.4, "value_range": (0.0, 1.0)}),
}
"""world -> (simulator, root state, settings that differ)."""

PYTHON_WORLDS: Final = {
    "connect_four": "connect four with ready moves",
    "ConnectFour": "simulators.games.ConnectFour",
    "route": "route of 8 tools x 6 steps",
}
"""world -> its name in the table; the second has no peers."""


def python_world(world: str) -> Timed:
    """A simulator written in Python, searched by us."""
    make, root, settings = PYTHON[world]
    return timed_search(PythonSimulator(make()), root, _rollouts(**settings))


@cache
def _calls(world: str, simulations: int) -> list[tuple[Callable[..., Any], list[Any]]]:
    """What our search asks of the simulator: (method, arguments of all calls) each."""
    make, root, settings = PYTHON[world]
    simulator = make()
    asked: dict[str, list[Any]] = {}

    class Recorder:
        def __getattr__(self, name: str) -> Any:
            method = getattr(simulator, name)  # AttributeError where there is no such method

            def call(*arguments: Any) -> Any:
                asked.setdefault(name, []).append(arguments)
                return method(*arguments)

            return call

    config = _rollouts(simulations=simulations, **settings)
    Search(PythonSimulator(Recorder()), root, config).run()
    gc.collect()
    gc.freeze()  # what was recorded is no work for the collector in what is timed
    return [(getattr(simulator, name), calls) for name, calls in asked.items()]


def python_floor(world: str) -> Timed:
    """A loop that makes the same calls of the simulator and does nothing else."""

    def run(simulations: int) -> tuple[float, int]:
        recorded = _calls(world, simulations)
        start = time.perf_counter()
        for method, calls in recorded:
            if calls and len(calls[0]) == 1:
                for (state,) in calls:
                    method(state)
            else:
                for state, action in calls:
                    method(state, action)
        return time.perf_counter() - start, simulations

    return run
