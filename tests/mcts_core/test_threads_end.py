"""How threads end: by a budget, a proof, an error, Ctrl-C; and what misuse is told."""

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal

import numba
import numpy as np
import pytest

from mcts_core import (
    ConfigError,
    NonFiniteError,
    Search,
    SearchConfig,
    SearchInUseError,
    SimulatorCallError,
    SimulatorError,
    search_parallel,
)
from mcts_core.native import AddressSimulator
from mcts_core.shared import SharedSearch
from simulators import PythonSimulator, TabularModel
from simulators.native import Actions, Rng, State, compile_simulator
from simulators.puzzles import Chain
from tests.models import arms

MOST = 2**31 - 2
LOOP = TabularModel([0, 3], range(4), [0] * 3, [0.0, 1.0, 0.5])
CONFIG = SearchConfig(simulations=4000, max_depth=12, evaluation="rollout", seed=4)


@pytest.fixture(scope="module", autouse=True)
def _cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Nothing is written to the user's folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HARNESS_ROUTER_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


# --- how it ends ----------------------------------------------------------------------------------


def test_a_time_limit_ends_all_threads_of_a_shared_tree() -> None:
    config = CONFIG.replace(simulations=MOST, time_limit_ms=20.0, max_depth=3)
    result = search_parallel(LOOP, 0, config, threads=4, tree="shared")
    assert result.stop_reason == "time"
    assert 0 < result.simulations == result.visits.sum()


@pytest.mark.parametrize("tree", ["own", "shared"])
def test_an_early_stop_and_a_memory_limit_are_what_ended_it(
    tree: Literal["own", "shared"],
) -> None:
    config = CONFIG.replace(simulations=100_000, max_depth=60)
    wide = TabularModel([0, 9], range(10), [0] * 9, [0.0] * 8 + [1.0])
    decided = search_parallel(wide, 0, config.replace(early_stop=True), threads=3, tree=tree)
    assert decided.stop_reason == "decided"
    assert decided.simulations < 100_000
    full = search_parallel(wide, 0, config.replace(memory_limit_mb=0.3), threads=3, tree=tree)
    assert full.stop_reason == "memory"
    assert 0 < full.simulations == full.visits.sum() < 100_000


def test_the_solver_ends_all_threads() -> None:
    result = search_parallel(
        arms([0.2, 0.9, 0.4]), 0, CONFIG.replace(solver=True), threads=4, tree="shared"
    )
    assert (result.action, result.stop_reason) == (1, "proven")


def test_a_root_without_actions_is_no_action_for_threads_too() -> None:
    empty = TabularModel([0, 0], [0], [], [])
    result = search_parallel(empty, 0, CONFIG, threads=2, tree="shared")
    assert (result.action, result.stop_reason) == (None, "no_action")


COUNT = np.dtype([("n", np.int32)])


def both(state: State, actions: Actions) -> int:
    for i in range(2):
        actions[i] = i
    return 2


def fails_at_four(what: Callable[[], float]) -> AddressSimulator:
    happens: Any = numba.njit(what)

    def step(state: State, action: int, rng: Rng) -> tuple[float, bool]:
        state.n += 1 + action
        return happens() if state.n == 5 and action == 1 else 1.0, state.n >= 10

    return compile_simulator(COUNT, legal=both, step=step, max_actions=2, check=False)


def nan() -> float:
    return math.nan


def raises() -> float:
    raise ValueError("boom")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # numba's own
@pytest.mark.parametrize("evaluation", ["simulator", "rollout"])
@pytest.mark.parametrize("tree", ["own", "shared"])
@pytest.mark.parametrize(
    ("what", "error", "message"),
    [
        (nan, NonFiniteError, r"reward .*of action 1 in state \(3,\): got nan"),
        (raises, SimulatorCallError, "a compiled function of the simulator raised"),
    ],
)
def test_what_fails_in_a_thread_reaches_the_caller_and_leaves_nothing_running(
    tree: Any, evaluation: Any, what: Callable[[], float], error: Any, message: str
) -> None:
    before = threading.active_count()
    config = CONFIG.replace(simulations=MOST, max_depth=8, evaluation=evaluation)
    simulator = fails_at_four(what)
    for _ in range(5):
        with pytest.raises(error, match=message):
            search_parallel(simulator, (0,), config, threads=6, tree=tree)
        assert threading.active_count() == before


def test_what_failed_is_no_longer_under_way_and_the_search_can_be_run_on() -> None:
    run = Search(fails_at_four(nan), (0,), CONFIG.replace(max_depth=8), share=True)
    for _ in range(3):
        shared = SharedSearch(run)
        with ThreadPoolExecutor(6) as pool:
            list(pool.map(shared.work, [None, *range(5)]))
        with pytest.raises(NonFiniteError, match=r"action 1 in state \(3,\)"):
            shared.finish()
        assert not shared.under_way().any()
        assert run.simulations == run.result().visits.sum()


@pytest.mark.parametrize("tree", ["own", "shared"])
def test_ctrl_c_ends_the_threads(tree: Any) -> None:
    before, main = set(threading.enumerate()), threading.main_thread().ident
    assert main is not None
    limit = 60.0
    deadline = time.perf_counter() + limit

    def interrupt() -> None:
        started = 0
        while started < len(before) + 3:  # this one and two that search
            started = sum(thread.is_alive() for thread in threading.enumerate())
        signal.pthread_kill(main, signal.SIGINT)

    config = CONFIG.replace(simulations=MOST, max_depth=3, time_limit_ms=limit * 1e3)
    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        search_parallel(LOOP, 0, config, threads=2, tree=tree)
    for left in set(threading.enumerate()) - before:
        left.join()
    assert time.perf_counter() < deadline, "the search went on to its time limit"


# --- misuse ---------------------------------------------------------------------------------------


def test_a_second_thread_is_told_that_the_search_runs() -> None:
    run = Search(LOOP, 0, CONFIG.replace(simulations=MOST, max_depth=3, time_limit_ms=60_000.0))
    main = threading.main_thread().ident
    told: list[str] = []
    assert main is not None

    def intrude() -> None:
        while run.simulations == 0:
            pass
        for call in (run.run, run.result, run.tree, run.tree_states, run.tree_actions):
            try:
                call()
            except SearchInUseError as error:
                told.append(str(error))
        signal.pthread_kill(main, signal.SIGINT)

    thread = threading.Thread(target=intrude)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        run.run()
    thread.join()
    assert len(told) == 5
    assert all(message.startswith("this search is running") for message in told)
    assert run.result().simulations == run.simulations


def test_a_search_that_threads_share_belongs_to_them_until_they_have_finished() -> None:
    run = Search(LOOP, 0, CONFIG, share=True)
    shared = SharedSearch(run)
    for call in (run.run, run.result, run.tree, shared.under_way, lambda: SharedSearch(run)):
        with pytest.raises(SearchInUseError):
            call()
    shared.work()
    shared.finish()
    for late in (shared.work, shared.finish):
        with pytest.raises(SearchInUseError, match="finished"):
            late()
    assert run.run(10) == "simulations"


def test_a_shared_search_that_is_given_up_frees_the_search() -> None:
    run = Search(LOOP, 0, CONFIG, share=True)
    shared = SharedSearch(run)
    del shared
    assert run.run(10) == "simulations"


def test_it_is_not_finished_while_a_thread_works() -> None:
    config = CONFIG.replace(simulations=MOST, max_depth=3)
    run = Search(LOOP, 0, config, share=True)
    shared = SharedSearch(run)
    thread = threading.Thread(target=shared.work)
    thread.start()
    while run.simulations == 0:
        pass
    with pytest.raises(SearchInUseError, match="in use by 1 thread"):
        shared.finish()
    shared.stop()
    thread.join()
    result = shared.finish()
    assert 0 < result.simulations == result.visits.sum() < MOST


def test_what_threads_cannot_share_is_refused() -> None:
    chain = Chain(4)
    alone = PythonSimulator(chain)
    with pytest.raises(SimulatorError, match="needs the GIL"):
        SharedSearch(Search(alone, chain.initial(), CONFIG, share=True))
    with pytest.raises(ConfigError, match="share=True"):
        SharedSearch(Search(LOOP, 0, CONFIG))
    with pytest.raises(ConfigError, match="tree"):
        search_parallel(LOOP, 0, CONFIG, threads=2, tree="none")  # type: ignore[arg-type]
