"""Root parallelism: the same result for the same seed and number of threads, budgets kept."""

import pytest

from mcts_core import ConfigError, SearchConfig, SimulatorError, search, search_parallel
from simulators import PythonSimulator, TabularModel
from simulators.puzzles import Chain

MODEL = TabularModel(
    [0, 4, 8],
    range(9),
    [1, 0, 1, 0, 0, 1, 1, 0],
    [0.0, 1.0, 0.5, 0.2, -1.0, 2.0, 0.1, 0.3],
)
CONFIG = SearchConfig(simulations=3001, max_depth=10, evaluation="rollout", seed=9)


def test_one_thread_is_the_plain_search() -> None:
    plain, one = search(MODEL, 0, CONFIG), search_parallel(MODEL, 0, CONFIG, threads=1)
    assert plain.visits.tolist() == one.visits.tolist()
    assert plain.values.tolist() == pytest.approx(one.values.tolist())
    assert plain.principal_variation == one.principal_variation


@pytest.mark.parametrize("threads", [2, 3, 7])
def test_threads_share_the_budget_and_repeat_themselves(threads: int) -> None:
    first, second = (search_parallel(MODEL, 0, CONFIG, threads=threads) for _ in range(2))
    assert first.visits.sum() == first.simulations == 3001
    assert first.visits.tolist() == second.visits.tolist()
    assert first.values.tobytes() == second.values.tobytes()
    assert first.principal_variation == second.principal_variation
    assert first.principal_variation[0] == first.action


def test_other_threads_draw_otherwise() -> None:
    one = search(MODEL, 0, CONFIG.replace(simulations=1500))
    two = search_parallel(MODEL, 0, CONFIG.replace(simulations=3000), threads=2)
    assert two.visits.tolist() != (2 * one.visits).tolist()


def test_no_more_threads_run_than_there_are_simulations() -> None:
    result = search_parallel(MODEL, 0, CONFIG.replace(simulations=3), threads=64)
    assert result.simulations == 3


def test_a_root_without_actions_is_no_action() -> None:
    empty = TabularModel([0, 0], [0], [], [])
    assert search_parallel(empty, 0, CONFIG, threads=2).action is None


def test_a_time_limit_ends_all_threads() -> None:
    config = CONFIG.replace(simulations=2**31 - 2, time_limit_ms=20.0)
    assert search_parallel(MODEL, 0, config, threads=2).stop_reason == "time"


def test_what_one_thread_proves_decides() -> None:
    # Each end is proven at its first visit; the others are visited no more than once either.
    rewards = [0.2, 0.9, 0.4, 0.1]
    ends = TabularModel([0, 4, 4], range(5), [1] * 4, rewards, terminal=[1] * 4)
    config = SearchConfig(simulations=40, solver=True)
    result = search_parallel(ends, 0, config, threads=3)
    assert result.proven
    assert result.stop_reason == "proven"
    assert result.action == 1
    assert result.values.tolist() == rewards
    # The proven action is worth more than those that got all the visits.
    loop = TabularModel(
        [0, 3, 6],
        range(7),
        [0, 2 - 1, 0, 0, 0, 1],
        [0.0, 5.0, 0.1, 0.0, 0.1, 0.2],
        terminal=[0, 1, 0, 0, 0, 0],
    )
    deep = SearchConfig(
        simulations=500, max_depth=25, discount=0.5, solver=True, evaluation="rollout", seed=4
    )
    alone = search(loop, 0, deep)
    assert int(alone.visits.argmax()) != 1
    both = search_parallel(loop, 0, deep, threads=2)
    assert alone.action == both.action == 1
    assert both.value == 5.0
    assert both.proven_actions.tolist() == [False, True, False]


def test_simulators_that_need_the_gil_are_refused() -> None:
    chain = Chain(4)
    with pytest.raises(SimulatorError, match="needs the GIL"):
        search_parallel(PythonSimulator(chain), chain.initial(), CONFIG, threads=2)
    with pytest.raises(ConfigError, match="threads"):
        search_parallel(MODEL, 0, CONFIG, threads=0)
