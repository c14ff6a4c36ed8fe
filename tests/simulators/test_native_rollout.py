"""The rollout function of a simulator: the search that it gives is the one without it."""

import ctypes
import math
from collections.abc import Callable, Iterator
from typing import Any

import numba
import numpy as np
import pytest

from mcts_core import ConfigError, NonFiniteError, Search, SearchConfig, SimulatorCallError
from mcts_core.errors import SimulatorError
from mcts_core.native import AddressSimulator
from simulators import PythonSimulator, native_games, native_wrappers
from simulators.games import ConnectFour
from simulators.native import Actions, Rng, State, below, pack, uniform
from simulators.native_cache import Built, build

COUNT = np.dtype([("n", np.int32), ("turn", np.int32)])


@pytest.fixture(scope="module", autouse=True)
def _cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Nothing is written to the user's folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HARNESS_ROUTER_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


def legal(state: State, actions: Actions) -> int:
    """None, one or several, by the state."""
    count = state.n % 4 if state.n < 40 else 0
    for i in range(count):
        actions[i] = 10 + i
    return int(count)


def step(state: State, action: int, rng: Rng) -> tuple[float, bool]:
    state.n += action - 8
    state.turn ^= action & 1
    return 0.1 * action - 1.0, state.n % 13 == 0


def drawn_step(state: State, action: int, rng: Rng) -> tuple[float, bool]:
    state.n += 1 + below(rng, 3)
    return uniform(rng), uniform(rng) < 0.1


def evaluate(state: State) -> float:
    return 0.3 * float(state.n)  # where the world ends too


def turn(state: State) -> int:
    return int(state.turn)


def both(
    dtype: Any, max_actions: int, functions: dict[str, Any], **how: Any
) -> tuple[AddressSimulator, AddressSimulator]:
    """The same simulator with its rollout function and without."""
    stochastic = how.pop("stochastic", False)
    built = build(np.dtype(dtype), max_actions, functions, **how)
    assert "rollout" in built.addresses
    without = {name: where for name, where in built.addresses.items() if name != "rollout"}
    return (
        simulator_of(dtype, built, built.addresses, stochastic),
        simulator_of(dtype, built, without, stochastic),
    )


def simulator_of(
    dtype: Any, built: Built, addresses: dict[str, int], stochastic: bool = False
) -> AddressSimulator:
    return AddressSimulator(
        np.dtype(dtype).itemsize,
        lambda root: pack(np.dtype(dtype), root, None),
        lambda data: np.frombuffer(data, dtype)[0].item(),
        stochastic=stochastic,
        keep=built,
        **addresses,
    )


def grown(simulator: Any, root: object, config: SearchConfig) -> tuple[bytes, bytes, bytes]:
    run = Search(simulator, root, config)
    run.run()
    tree = run.tree()
    return tree.visits.tobytes(), tree.value.tobytes(), tree.action.tobytes()


WORLDS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "one player": ({"legal": legal, "step": step}, {}),
    "valued states": ({"legal": legal, "step": step, "evaluate": evaluate}, {}),
    "in turn": ({"legal": legal, "step": step, "evaluate": evaluate}, {"alternate": True}),
    "turns by state": ({"legal": legal, "step": step, "player": turn, "evaluate": evaluate}, {}),
    "chance": (
        {"legal": legal, "step": drawn_step, "player": turn, "evaluate": evaluate},
        {"stochastic": True},
    ),
}


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize(("discount", "max_depth"), [(1.0, 64), (0.9, 7), (0.9, 2)])
def test_the_tree_is_the_same_bit_for_bit_with_and_without_it(
    world: str, discount: float, max_depth: int
) -> None:
    functions, how = WORLDS[world]
    with_it, without = both(COUNT, 3, functions, **how)
    for seed in range(20):
        config = SearchConfig(
            simulations=100 + seed,
            max_depth=max_depth,
            discount=discount,
            evaluation="rollout",
            seed=seed * (2**64 // 20),
        )
        for root in ((2, 0), (3, 1)):
            assert grown(with_it, root, config) == grown(without, root, config)


@pytest.mark.parametrize("world", ["one player", "valued states", "in turn", "turns by state"])
def test_decisive_rollouts_are_the_same_with_and_without_it(world: str) -> None:
    functions, how = WORLDS[world]
    with_it, without = both(COUNT, 3, functions, **how)
    differs = False
    for seed in range(30):
        config = SearchConfig(
            simulations=200,
            value_range=(-1.0, 0.1),  # what action 11 pays: it wins where it ends the world
            evaluation="decisive",
            solver=seed % 2 == 1,
            seed=seed,
        )
        assert grown(with_it, (2, 0), config) == grown(without, (2, 0), config)
        random = config.replace(evaluation="rollout")
        differs |= grown(with_it, (2, 0), random) != grown(with_it, (2, 0), config)
    assert differs


def test_decisive_connect_four_is_searched_as_its_python_rules() -> None:
    four, python = native_games.connect_four(), PythonSimulator(ConnectFour())
    for seed in range(3):
        config = SearchConfig(
            simulations=200,
            value_range=(-1.0, 1.0),
            selection="ucb1",
            evaluation="decisive",
            solver=seed == 1,
            seed=seed,
        )
        assert grown(four, None, config) == grown(python, (0, 0), config)


def line(state: State, actions: Actions) -> int:
    """Nine squares of which each player marks one in turn: who marks 0 or 8 wins."""
    for i in range(9):
        actions[i] = i
    return 9


def mark(state: State, action: int, rng: Rng) -> tuple[float, bool]:
    state.n |= 1 << action
    return (1.0, True) if action in (0, 8) and state.n & 1 << 4 else (0.0, False)


def test_a_player_wins_at_once_where_it_can_and_else_does_not_let_the_other() -> None:
    simulator, _ = both(COUNT, 9, {"legal": line, "step": mark}, alternate=True)
    config = SearchConfig(
        simulations=9, max_depth=9, value_range=(-1.0, 1.0), evaluation="decisive"
    )
    for seed in range(20):
        run = Search(simulator, (0, 0), config.replace(seed=seed))
        run.run()
        # After 4 the other player wins at once. After any other nobody should play 4: a draw.
        assert run.result().values.tolist() == [0.0] * 4 + [-1.0] + [0.0] * 4


def test_a_world_with_chance_refuses_decisive_rollouts() -> None:
    functions, how = WORLDS["chance"]
    simulator, _ = both(COUNT, 3, functions, **how)
    config = SearchConfig(evaluation="decisive", value_range=(0.0, 1.0))
    with pytest.raises(ConfigError, match=r"^evaluation: got 'decisive', wanted .*chance"):
        Search(simulator, (2, 0), config)


# --- when something goes wrong --------------------------------------------------------------------


def failing(what: Callable[[], float]) -> Any:
    """A step that does something in the state 30."""
    happens: Any = numba.njit(what)

    def failing_step(state: State, action: int, rng: Rng) -> tuple[float, bool]:
        state.n += 1
        return happens() if state.n == 31 else 0.0, False

    return failing_step


def two(state: State, actions: Actions) -> int:
    actions[0], actions[1] = 10, 11
    return 2


def nothing() -> float:
    return 0.0


def raises() -> float:
    raise ValueError("boom")


@pytest.mark.parametrize("evaluation", ["rollout", "decisive"])
@pytest.mark.parametrize(
    ("what", "error", "message"),
    [
        (lambda: math.nan, NonFiniteError, r"reward .*of action 1[01] in state \(30, 0\): got nan"),
        (lambda: -math.inf, NonFiniteError, r"reward .* in state \(30, 0\): got -inf"),
        (lambda: 1e151, NonFiniteError, r"reward .* in state \(30, 0\): got 1e\+151"),
        (raises, SimulatorCallError, "a compiled function of the simulator raised"),
    ],
)
def test_what_fails_in_a_rollout_is_named_as_without_it_and_can_be_run_on(
    evaluation: Any, what: Callable[[], float], error: type[SimulatorError], message: str
) -> None:
    config = SearchConfig(evaluation=evaluation, value_range=(-1.0, 1.0))
    said = []
    for simulator in both(COUNT, 2, {"legal": two, "step": failing(what)}):
        run = Search(simulator, (0, 0), config)
        for _ in range(2):
            with pytest.raises(error, match=message) as caught:
                run.run()
            assert run.simulations == 0
        said.append(str(caught.value))
        assert Search(simulator, (31, 0), config).run() == "simulations"
    assert said[0] == said[1]


def test_a_value_that_is_not_finite_is_named_with_its_state() -> None:
    def endless(state: State) -> float:
        return math.inf if state.n >= 30 else 0.0

    said = []
    for simulator in both(COUNT, 2, {"legal": two, "step": failing(nothing), "evaluate": endless}):
        run = Search(simulator, (0, 0), SearchConfig(evaluation="rollout", max_depth=35))
        with pytest.raises(NonFiniteError, match=r"value of state \(35, 0\): got inf") as caught:
            run.run()
        said.append(str(caught.value))
    assert said[0] == said[1]


@pytest.mark.parametrize("count", [-2, 3])
def test_a_count_that_cannot_be_is_an_error_in_a_rollout_too(count: int) -> None:
    def miscounts(state: State, actions: Actions) -> int:
        actions[0], actions[1] = 10, 11
        return count if state.n >= 30 else 2

    simulator, _ = both(COUNT, 2, {"legal": miscounts, "step": failing(nothing)})
    with pytest.raises(SimulatorCallError):
        Search(simulator, (0, 0), SearchConfig(evaluation="rollout")).run()


# --- who has one ----------------------------------------------------------------------------------


def test_large_states_and_many_actions_are_rolled_out_by_the_engine() -> None:
    large = np.dtype([("n", np.int32), ("turn", np.int32), ("rest", np.uint8, 1024)])
    functions: dict[str, Any] = {"legal": legal, "step": step}
    for dtype, most, root in ((large, 3, (2, 0, 0)), (COUNT, 1025, (2, 0))):
        built = build(dtype, most, functions)
        assert "rollout" not in built.addresses
        simulator = simulator_of(dtype, built, built.addresses)
        config = SearchConfig(simulations=50, evaluation="rollout")
        usual, _ = both(COUNT, 3, functions)
        assert grown(simulator, root, config) == grown(usual, (2, 0), config)


def test_a_rollout_that_numba_refuses_leaves_the_simulator_without(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    refused = "\n@numba.cfunc(types.int32(VOID))\ndef c_rollout(context):\n    return {}['a']\n"
    monkeypatch.setitem(native_wrappers.WRAPPERS, "rollout", refused)
    built = build(COUNT, 3, {"legal": legal, "step": step})
    assert sorted(built.addresses) == ["legal", "step"]


ROLLOUT = ctypes.CFUNCTYPE(
    ctypes.c_int32,
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_int32,
    ctypes.c_double,
    ctypes.c_double,
    ctypes.POINTER(ctypes.c_uint64),
    ctypes.POINTER(ctypes.c_double),
)


def test_a_rollout_given_by_its_address_is_asked_with_what_is_left_and_may_decline() -> None:
    asked = []

    def rollout(*arguments: Any) -> int:
        depth_left, discount, win, rng, value = arguments[2:]
        asked.append((depth_left, discount, win))
        rng[0] = 12345  # what a rollout that declines leaves behind does not count
        value[0] = 0.25
        return 0 if accepts else -1

    function = ROLLOUT(rollout)
    built = build(COUNT, 2, {"legal": two, "step": failing(nothing)})
    address = ctypes.cast(function, ctypes.c_void_p).value
    assert address is not None
    simulator = simulator_of(COUNT, built, built.addresses | {"rollout": address})
    config = SearchConfig(simulations=2, max_depth=9, discount=0.5, evaluation="rollout", seed=3)
    accepts = True
    run = Search(simulator, (40, 0), config)
    run.run()
    assert asked[0] == (8, 0.5, math.inf)
    assert run.result().value == 0.5 * 0.25
    decisive = config.replace(evaluation="decisive", value_range=(0.0, 2.0))
    Search(simulator, (40, 0), decisive).run()
    assert asked[-1][2] == 2.0
    accepts = False
    usual = simulator_of(COUNT, built, built.addresses)
    assert grown(simulator, (40, 0), config) == grown(usual, (40, 0), config)
    asked.clear()
    Search(simulator, (40, 0), config.replace(evaluation="forced")).run()
    assert asked == []
