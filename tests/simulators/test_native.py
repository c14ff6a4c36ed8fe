"""Native simulators: searched like the same world in Python or arrays; mistakes are named."""

import math
import signal
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
import pytest

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
from mcts_core.exact import backward_induction
from mcts_core.native import AddressSimulator
from mcts_core.result import CHANCE, OUTCOME, SearchTree
from simulators import PythonSimulator, TabularModel
from simulators.dense import tabulate
from simulators.games import ConnectFour
from simulators.native import Actions, Rng, State, below, compile_simulator, uniform
from simulators.native_games import connect_four, constant_tree

COUNT = np.dtype([("n", np.int32)])


@pytest.fixture(scope="module", autouse=True)
def _cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Nothing is written to the user's folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HARNESS_ROUTER_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


def legal(state: State, actions: Actions) -> int:
    for i in range(2):
        actions[i] = i
    return 2


def step(state: State, action: int, rng: Rng) -> tuple[float, bool]:
    state.n += 1 + action
    return 1.0, state.n >= 10


def make(dtype: Any = COUNT, **changes: Any) -> AddressSimulator:
    """A world that counts to ten, with some of its parts replaced."""
    parts: dict[str, Any] = {"legal": legal, "step": step, "max_actions": 2}
    return compile_simulator(dtype, **parts | changes)


def tree_of(simulator: Any, root: object, config: SearchConfig) -> SearchTree:
    run = Search(simulator, root, config)
    run.run()
    return run.tree()


def assert_same(left: SearchTree, right: SearchTree) -> None:
    assert left.visits.tolist() == right.visits.tolist()
    assert left.value.tobytes() == right.value.tobytes()
    assert left.action.tolist() == right.action.tolist()


# --- the same search as in Python and over arrays -----------------------------------------------


@pytest.fixture(scope="module")
def four() -> AddressSimulator:
    return connect_four()


@pytest.mark.parametrize("selection", ["puct", "ucb1"])
@pytest.mark.parametrize(("seed", "simulations"), [(0, 700), (1, 150), (2**63 + 5, 41)])
def test_connect_four_with_rollouts_is_searched_as_its_python_rules(
    four: AddressSimulator, selection: Any, seed: int, simulations: int
) -> None:
    config = SearchConfig(
        simulations=simulations, selection=selection, seed=seed, evaluation="rollout"
    )
    assert_same(
        tree_of(four, None, config), tree_of(PythonSimulator(ConnectFour()), (0, 0), config)
    )


@pytest.mark.parametrize("branching", [2, 9])
@pytest.mark.parametrize("selection", ["puct", "ucb1"])
def test_a_constant_tree_is_searched_as_its_arrays(branching: int, selection: Any) -> None:
    arrays = TabularModel(
        [0, branching], range(branching + 1), [0] * branching, [0.0] * branching, value=[0.5]
    )
    config = SearchConfig(simulations=5000, max_depth=20, selection=selection)
    assert_same(tree_of(constant_tree(branching), None, config), tree_of(arrays, 0, config))


def test_a_player_function_says_what_alternate_says() -> None:
    turns = [("n", np.int32), ("turn", np.int8)]

    def in_turn(state: State, action: int, rng: Rng) -> tuple[float, bool]:
        state.n += 1 + action
        state.turn = 1 - state.turn
        return 1.0 if state.n == 10 else 0.0, state.n >= 10

    config = SearchConfig(simulations=3000, max_depth=20, evaluation="rollout")
    alternate = make(turns, step=in_turn, player="alternate")
    by_state = make(turns, step=in_turn, player=lambda state: state.turn)
    assert_same(tree_of(alternate, (2, 0), config), tree_of(by_state, (2, 0), config))
    assert search(alternate, (8, 0), config).action == 1


def test_a_prior_orders_the_first_tries() -> None:
    def weigh(state: State, weights: Any) -> None:
        weights[0] = 1.0
        weights[1] = 3.0

    weighed = make(prior=weigh)
    assert search(weighed, None, SearchConfig(simulations=1)).visits.tolist() == [0, 1]
    assert search(weighed, None, SearchConfig(simulations=2)).visits.tolist() == [1, 1]
    assert search(weighed, None, SearchConfig()).priors == pytest.approx([0.25, 0.75])


# --- chance -------------------------------------------------------------------------------------

WALK = [("position", np.int32), ("left", np.int32)]
UP = 0.6


def walk_step(state: State, action: int, rng: Rng) -> tuple[float, bool]:
    state.left -= 1
    if action == 0:
        return float(state.position), True
    state.position += 1 if uniform(rng) < 0.6 else -1
    return -0.1, False


def walk_legal(state: State, actions: Actions) -> int:
    actions[0] = 0
    actions[1] = 1
    return 2 if state.left > 0 else 0


@dataclass
class Walk:
    """The same in Python: stop with what was reached, or pay for one more step."""

    def actions(self, state: tuple[int, int]) -> list[int]:
        return [0, 1] if state[1] > 0 else []

    def outcomes(self, state: tuple[int, int], action: int) -> list[Outcome[tuple[int, int]]]:
        position, left = state
        if action == 0:
            return [Outcome(1.0, SimulatedStep((position, left - 1), float(position), True))]
        return [
            Outcome(UP, SimulatedStep((position + 1, left - 1), -0.1)),
            Outcome(1 - UP, SimulatedStep((position - 1, left - 1), -0.1)),
        ]

    def evaluate(self, state: tuple[int, int]) -> float:
        return 0.0


WALK_ARRAYS = tabulate(Walk(), (1, 5)).model()


@pytest.fixture(scope="module")
def walker() -> AddressSimulator:
    return compile_simulator(
        WALK, legal=walk_legal, step=walk_step, max_actions=2, stochastic=True, initial=(1, 5)
    )


@pytest.mark.parametrize("evaluation", ["forced", "rollout"])
def test_a_world_with_chance_is_searched_as_the_same_distribution_in_arrays(
    walker: AddressSimulator, evaluation: Any
) -> None:
    # The native world does not list its outcomes, so they count by their means in both.
    config = SearchConfig(simulations=20_000, seed=3, evaluation=evaluation, chance="mean")
    native, arrays = search(walker, None, config), search(WALK_ARRAYS, 0, config)
    assert native.visits.tolist() == arrays.visits.tolist()  # they draw the same numbers
    assert native.values.tobytes() == arrays.values.tobytes()


def test_a_world_with_chance_is_worth_what_backward_induction_says(
    walker: AddressSimulator,
) -> None:
    exact = backward_induction(WALK_ARRAYS, 0, horizon=5)
    result = search(walker, None, SearchConfig(simulations=200_000, exploration=0.2))
    assert result.action == exact.action
    assert result.values == pytest.approx(exact.values, abs=0.03)


@pytest.fixture(scope="module")
def walk(walker: AddressSimulator) -> Search:
    run = Search(walker, None, SearchConfig(simulations=50_000))
    run.run()
    return run


def test_outcomes_are_told_apart_and_numbered_as_they_occur(walk: Search) -> None:
    tree, states = walk.tree(), walk.tree_states()
    chance = np.flatnonzero(tree.kind == CHANCE)
    assert (tree.kind == OUTCOME).any()
    for node in chance.tolist():
        children = np.flatnonzero(tree.parent == node)
        assert (tree.kind[children] == OUTCOME).all()
        assert tree.action[children].tolist() == list(range(len(children)))
        assert tree.visits[children].sum() == tree.visits[node]
        assert len({states[child] for child in children.tolist()}) == len(children) <= 2
        assert states[node] is None
    walked = int(np.flatnonzero((tree.parent == 0) & (tree.action == 1))[0])
    up = [c for c in np.flatnonzero(tree.parent == walked).tolist() if states[c] == (2, 4)]
    assert tree.visits[up[0]] / tree.visits[walked] == pytest.approx(UP, abs=0.01)


def test_reward_and_end_tell_outcomes_apart_too_and_padding_does_not() -> None:
    padded = np.dtype([("small", np.int8), ("n", np.int64)], align=True)

    def dice(state: State, action: int, rng: Rng) -> tuple[float, bool]:
        side = below(rng, 6)
        return float(side // 2), side % 2 == 0

    run = Search(make(padded, step=dice, stochastic=True), (7, 1), SearchConfig(max_depth=1))
    run.run()
    tree = run.tree()
    seen = {
        (float(tree.reward[i]), int(tree.parent[i])) for i in np.flatnonzero(tree.kind == OUTCOME)
    }
    assert len(seen) == 2 * 3
    assert np.count_nonzero(tree.kind == OUTCOME) == 2 * 6


# --- roots --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def counter() -> AddressSimulator:
    return make(initial=(4,))


@pytest.mark.parametrize(
    "root",
    [(7,), np.array([(7,)], COUNT)[0], np.rec.array([(7,)], COUNT)[0], np.array((7,), COUNT)],
)
def test_a_root_is_a_tuple_a_record_or_an_array_of_one(
    counter: AddressSimulator, root: object
) -> None:
    assert Search(counter, root, SearchConfig()).tree_states() == [(7,)]


def test_none_stands_for_the_initial_state_else_for_zeros(counter: AddressSimulator) -> None:
    assert Search(counter, None, SearchConfig()).tree_states() == [(4,)]
    assert Search(make(check=False), None, SearchConfig()).tree_states() == [(0,)]


@pytest.mark.parametrize(
    "root", [7, "7", [7], (1, 2), (), ("seven",), (2**31,), np.zeros(2, COUNT), {"n": 7}]
)
def test_a_root_that_does_not_fit_is_refused(counter: AddressSimulator, root: object) -> None:
    with pytest.raises(SimulatorError, match=r"state: got .*wanted a tuple or record"):
        Search(counter, root, SearchConfig())
    with pytest.raises(SimulatorError, match=r"state: got .*wanted a tuple or record"):
        make(initial=root)


# --- what authors get wrong ---------------------------------------------------------------------


def too_many(state: State, actions: Actions) -> int:
    return 3


def writes_past_the_end(state: State, actions: Actions) -> int:
    for i in range(3):
        actions[i] = i
    return 3


def twice(state: State, actions: Actions) -> int:
    actions[0] = actions[1] = 1
    return 2


def not_an_int(state: State, actions: Actions) -> float:
    actions[0] = 0
    return 1.0


def one_value(state: State, action: int, rng: Rng) -> float:
    return 1.0


def past_the_table(state: State, action: int, rng: Rng) -> tuple[float, bool]:
    state.n += 1
    return (0.0, 1.0, 2.0)[state.n], False


def draws(state: State, action: int, rng: Rng) -> tuple[float, bool]:
    return 1.0 if uniform(rng) < 2.0 else 0.0, True  # whatever it draws, the outcome is the same


def two_arguments(state: State, action: int) -> tuple[float, bool]:
    return 1.0, True


def changes_its_state(state: State) -> float:
    state.n = 3
    return 0.0


PRICES = {"call": [1.0]}


def uses_a_dict(state: State) -> float:
    return PRICES["call"][0]


def formats(state: State) -> float:
    return float(len("{:>3d}".format(state.n)))  # noqa: UP032


def plain_helper(x: float) -> float:
    return x


def calls_plain_python(state: State) -> float:
    return plain_helper(state.n)


@pytest.mark.parametrize(
    ("part", "function", "message"),
    [
        ("legal", too_many, r"^legal: got 3 at state \(0,\), wanted a count from 0 to 2"),
        ("legal", writes_past_the_end, r"^legal raised IndexError: .* at state \(0,\)"),
        ("legal", twice, r"^legal: got \[1, 1\] at state \(0,\), wanted distinct actions"),
        ("legal", not_an_int, r"^legal: got 1.0 at state \(0,\), wanted a count"),
        ("step", one_value, r"^step: got 1.0 at state \(0,\), wanted a pair"),
        ("step", past_the_table, r"^step raised IndexError: .* at state \(2,\)"),
        ("step", draws, r"^step: got a draw from rng at state \(0,\), wanted stochastic=True"),
        ("step", two_arguments, r"^step raised TypeError: .*2 positional arguments"),
        ("step", "step", r"^step: got 'step', wanted a function"),
        ("evaluate", lambda state: math.nan, r"^evaluate: got nan at state \(0,\)"),
        ("evaluate", changes_its_state, r"^evaluate: got a changed state at state \(0,\), wanted"),
        ("evaluate", lambda state: 1.0 / state.n, r"^evaluate raised \w+: .* at state \(0,\)"),
        ("evaluate", uses_a_dict, r"^evaluate: does not compile: .*PRICES.*wanted evaluate\("),
        ("evaluate", formats, r"^evaluate: does not compile: .*format.*wanted evaluate\("),
        ("evaluate", calls_plain_python, r"^evaluate: does not compile: .*plain_helper"),
        ("evaluate", math.sqrt, r"^evaluate: got <built-in function sqrt>, wanted a function"),
        ("prior", lambda state, weights: None, r"^prior: got \[nan, nan\].*2 finite weights"),
        ("player", lambda state: 2, r"^player: got 2 at state \(0,\), wanted 0 or 1"),
        ("player", "alternates", r"^player: got 'alternates', wanted a function"),
        ("max_actions", 0, r"^max_actions: got 0, wanted an integer from 1"),
        ("max_actions", 2**31, r"^max_actions: got 2147483648, wanted an integer from 1"),
        ("dtype", np.int32, r"^state: got dtype int32, wanted a structured dtype"),
        ("dtype", "nonsense", r"^state: got dtype nonsense.*wanted a structured dtype"),
        ("dtype", [("n", object)], r"^state: got dtype .*wanted a structured dtype"),
        ("dtype", [("n", ">i4")], r"^state: got dtype .*native byte order"),
    ],
)
def test_a_mistake_is_named_with_its_function_before_anything_runs(
    part: str, function: Any, message: str
) -> None:
    with pytest.raises(SimulatorError, match=message):
        make(**{part: function})


def test_the_value_of_a_state_where_the_world_ends_is_tried_too() -> None:
    def undefined_at_the_end(state: State) -> float:
        return math.inf if state.n >= 10 else 0.0

    with pytest.raises(SimulatorError, match=r"^evaluate: got inf at state \(1[01],\)"):
        make(evaluate=undefined_at_the_end)


def test_the_wrong_number_of_arguments_is_named_without_the_check_too() -> None:
    with pytest.raises(SimulatorError, match=r"^step: does not compile: .*wanted step\(state, ac"):
        make(step=two_arguments, check=False)


# --- what only compiled code meets --------------------------------------------------------------


def at_three(what: Callable[[], float]) -> Any:
    """A step whose second action fails in the state 3."""
    happens: Any = numba.njit(what)

    def failing(state: State, action: int, rng: Rng) -> tuple[float, bool]:
        state.n += 1
        return happens() if state.n == 4 and action == 1 else 1.0, False

    return failing


def raises() -> float:
    raise ValueError("boom")


@pytest.mark.parametrize(
    ("what", "error", "message"),
    [
        (lambda: math.nan, NonFiniteError, r"reward .*of action 1 in state \(3,\): got nan"),
        (lambda: -math.inf, NonFiniteError, r"reward .*of action 1 in state \(3,\): got -inf"),
        (raises, SimulatorCallError, "a compiled function of the simulator raised"),
    ],
)
def test_a_failure_at_run_time_surfaces_and_leaves_the_search_usable(
    what: Callable[[], float], error: type[SimulatorError], message: str
) -> None:
    simulator = make(step=at_three(what), check=False)
    run = Search(simulator, None, SearchConfig(simulations=500, max_depth=8))
    for _ in range(2):  # it can be run on, and fails there again
        with pytest.raises(error, match=message):
            run.run()
        assert 0 < run.simulations == run.result().visits.sum() < 500
    assert search(simulator, (4,), SearchConfig(simulations=50)).visits.sum() == 50


@pytest.mark.parametrize("count", [-2, 3])
def test_a_count_that_cannot_be_is_an_error_at_run_time_too(count: int) -> None:
    def miscounts(state: State, actions: Actions) -> int:
        actions[0] = 0
        return count if state.n >= 3 else 1

    run = Search(make(legal=miscounts, check=False), None, SearchConfig(max_depth=8))
    with pytest.raises(SimulatorCallError):
        run.run()


def test_a_search_lets_other_threads_run() -> None:
    config = SearchConfig(simulations=2**31 - 2, time_limit_ms=10_000, max_depth=3)
    run = Search(constant_tree(2), None, config)
    main = threading.main_thread().ident
    assert main is not None

    def look_on() -> None:
        while run.simulations == 0:
            pass
        signal.pthread_kill(main, signal.SIGINT)

    thread = threading.Thread(target=look_on)
    thread.start()
    with pytest.raises(KeyboardInterrupt):  # sent by a thread that saw simulations done
        run.run()
    thread.join()
