"""Threads that share one tree: alone as ``search``; together nothing is lost; all ends soon."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcts_core import (
    Search,
    SearchConfig,
    search,
    search_parallel,
)
from mcts_core.native import AddressSimulator
from mcts_core.result import CHANCE, COLUMNS, DECISION, SearchTree
from mcts_core.shared import SharedSearch
from simulators import TabularModel
from simulators.native import Actions, Rng, State, compile_simulator
from simulators.native_games import connect_four
from tests.models import configs, decisive_configs, models

MOST = 2**31 - 2
LOOP = TabularModel([0, 3], range(4), [0] * 3, [0.0, 1.0, 0.5])
CONFIG = SearchConfig(simulations=4000, max_depth=12, evaluation="rollout", seed=4)

VARIANTS: tuple[dict[str, Any], ...] = (
    {},
    {"selection": "ucb1_tuned"},
    {"selection": "gumbel"},
    {"selection": "gumbel", "root": "gumbel"},
    {"root": "gumbel", "considered_actions": 3},
    {"transpositions": True},
    {"widening": (1.0, 0.5)},
    {"normalisation": "node"},
    {"noise_fraction": 0.25},
    {"exploration_base": 19652.0},
    {"early_stop": True},
)


@pytest.fixture(scope="module", autouse=True)
def _cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Nothing is written to the user's folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HARNESS_ROUTER_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


def varied(config: SearchConfig, variant: dict[str, Any]) -> SearchConfig:
    return config.replace(**variant)


def grown(
    simulator: Any, root: object, config: SearchConfig, threads: int
) -> tuple[Search, SharedSearch]:
    """A search that threads have run and finished."""
    run = Search(simulator, root, config, share=True)
    shared = SharedSearch(run)
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(shared.work, [None, *range(1, threads)]))
    shared.finish()
    return run, shared


def assert_adds_up(tree: SearchTree) -> None:
    """Each simulation through a node ended there (its first) or went on through a child."""
    through = np.bincount(tree.parent[1:], weights=tree.visits[1:], minlength=len(tree))
    inner = ~tree.ended & (np.arange(len(tree)) > 0)
    leaves = inner & (np.bincount(tree.parent[1:], minlength=len(tree)) == 0)
    ended_here = np.where(tree.kind == CHANCE, 0, 1)
    wanted = through + ended_here
    inner &= ~(leaves & (tree.kind == DECISION))  # no legal action: each visit ends here
    assert tree.visits[0] == through[0]
    assert tree.visits[inner].tolist() == wanted[inner].tolist()


COUNT = np.dtype([("n", np.int32)])


def both(state: State, actions: Actions) -> int:
    for i in range(2):
        actions[i] = i
    return 2


def dice() -> AddressSimulator:
    def step(state: State, action: int, rng: Rng) -> tuple[float, bool]:
        state.n = state.n * 7 + 1 + int((rng[0] >> np.uint64(60)) % np.uint64(5))
        rng[0] = rng[0] * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
        return float(state.n % 3) - action, False

    return compile_simulator(
        COUNT, legal=both, step=step, max_actions=2, stochastic=True, check=False
    )


# --- one thread -----------------------------------------------------------------------------------


@settings(max_examples=150, deadline=None)
@given(models(), configs.flatmap(lambda c: st.sampled_from(VARIANTS).map(lambda v: varied(c, v))))
def test_one_thread_grows_the_tree_of_the_plain_search(
    model: TabularModel, config: SearchConfig
) -> None:
    plain = Search(model, 0, config)
    plain.run()
    run, _ = grown(model, 0, config, 1)
    left, right = run.result(), plain.result()
    for name in COLUMNS:
        assert getattr(run.tree(), name).tobytes() == getattr(plain.tree(), name).tobytes(), name
    assert (left.action, left.stop_reason) == (right.action, right.stop_reason)
    assert left.policy.tobytes() == right.policy.tobytes()


@settings(max_examples=50, deadline=None)
@given(models(most_outcomes=1), decisive_configs)
def test_one_thread_plays_decisive_rollouts_as_the_plain_search(
    model: TabularModel, config: SearchConfig
) -> None:
    plain = search(model, 0, config)
    shared = search_parallel(model, 0, config, threads=1, tree="shared")
    assert shared.visits.tolist() == plain.visits.tolist()
    assert shared.values.tobytes() == plain.values.tobytes()


def test_chance_that_is_not_listed_draws_as_in_the_plain_search() -> None:
    config = CONFIG.replace(chance_widening=(2.0, 0.4), max_depth=6)
    plain = search(dice(), None, config)
    shared = search_parallel(dice(), None, config, threads=1, tree="shared")
    assert shared.visits.tolist() == plain.visits.tolist()
    assert shared.values.tobytes() == plain.values.tobytes()


def test_a_search_can_be_run_on_alone_after_threads_have_run_it() -> None:
    half = CONFIG.replace(simulations=CONFIG.simulations // 2)
    run, _ = grown(LOOP, 0, half, 1)
    run.run(CONFIG.simulations // 2)
    assert run.result().visits.tolist() == search(LOOP, 0, CONFIG).visits.tolist()
    run, _ = grown(LOOP, 0, half, 4)
    run.run(CONFIG.simulations // 2)
    assert_adds_up(run.tree())
    assert run.simulations == run.result().visits.sum() == CONFIG.simulations


# --- many threads -----------------------------------------------------------------------------


@settings(max_examples=120, deadline=None)
@given(
    models(root_has_actions=True),
    configs.flatmap(lambda c: st.sampled_from(VARIANTS).map(lambda v: varied(c, v))),
    st.integers(2, 8),
    st.sampled_from([1, 3]),
)
def test_many_threads_lose_no_simulation(
    model: TabularModel, config: SearchConfig, threads: int, loss: int
) -> None:
    run, shared = grown(model, 0, config.replace(virtual_loss=loss), threads)
    result, tree = run.result(), run.tree()
    assert result.visits.sum() == result.simulations == tree.visits[0]
    assert result.stop_reason in ("simulations", "proven", "decided")
    if result.stop_reason == "simulations":
        assert result.simulations == config.simulations
    assert not shared.under_way().any()
    assert np.isfinite(tree.value).all()
    if not config.solver and not config.transpositions:
        assert_adds_up(tree)


@settings(max_examples=60, deadline=None)
@given(models(most_outcomes=1, root_has_actions=True), configs, st.integers(2, 8))
def test_many_threads_prove_nothing_that_is_not_so(
    model: TabularModel, config: SearchConfig, threads: int
) -> None:
    bounded = config.replace(solver=True, simulations=2000, max_depth=4, value_range=(-20.0, 20.0))
    alone = search(model, 0, bounded)
    together = search_parallel(model, 0, bounded, threads=threads, tree="shared")
    both = alone.proven_actions & together.proven_actions
    assert together.values[both] == pytest.approx(alone.values[both], abs=1e-9)
    if alone.proven and together.proven:
        assert together.value == pytest.approx(alone.value, abs=1e-9)


def test_eight_threads_of_short_searches_lose_nothing_either() -> None:
    for seed in range(150):
        run, shared = grown(LOOP, 0, CONFIG.replace(simulations=1 + seed, seed=seed), 8)
        assert run.simulations == run.result().visits.sum() == 1 + seed
        assert not shared.under_way().any()


def test_threads_that_all_wait_for_the_only_leaf_go_on() -> None:
    one_way = TabularModel([0, 1], [0, 1], [0], [0.5])
    config = CONFIG.replace(simulations=300, max_depth=200)
    result = search_parallel(one_way, 0, config, threads=8, tree="shared")
    assert result.visits.tolist() == [300]


@pytest.mark.parametrize("threads", [2, 8])
@pytest.mark.parametrize("selection", ["puct", "ucb1"])
def test_threads_find_the_winning_column_together(threads: int, selection: Any) -> None:
    # Three of the mover's stones at the bottom of columns 2 to 4, the other's on top of them.
    root = (sum(1 << 7 * c for c in (2, 3, 4)), sum(2 << 7 * c for c in (2, 3, 4)))
    config = CONFIG.replace(selection=selection, max_depth=42, value_range=(-1.0, 1.0))
    result = search_parallel(connect_four(), root, config, threads=threads, tree="shared")
    assert result.action in (1, 5)
    assert result.value > 0.9
