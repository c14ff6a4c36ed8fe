"""What a search promises: its budget, its bounds, its choice, its limits."""

import math
import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcts_core import ConfigError, ModelError, Search, SearchConfig, SearchInUseError, search
from mcts_core.exact import backward_induction
from simulators import TabularModel
from tests.models import arms, chain, configs, models


def best_and_worst_return(model: TabularModel, config: SearchConfig) -> tuple[float, float]:
    """Bounds of any return from any state: the extremes of reward and value, discounted."""
    rewards = model.reward.tolist()
    values = model.value.tolist()
    most = max(abs(x) for x in [*rewards, *values, 0.0])
    span = sum(config.discount**i for i in range(config.max_depth + 1))
    return -most * span, most * span


@settings(max_examples=200, deadline=None)
@given(models(root_has_actions=True), configs)
def test_visits_sum_to_the_budget_and_values_stay_within_the_returns(
    model: TabularModel, config: SearchConfig
) -> None:
    result = search(model, 0, config)
    assert result.visits.sum() == result.simulations
    assert result.simulations == config.simulations or result.proven
    low, high = best_and_worst_return(model, config)
    tried = result.values[result.visits > 0]
    assert ((tried >= low - 1e-9) & (tried <= high + 1e-9)).all()
    assert np.isnan(result.values[result.visits == 0]).all()
    assert math.isclose(result.priors.sum(), 1.0, rel_tol=1e-5)
    assert result.action in result.actions
    assert result.principal_variation[0] == result.action
    assert len(result.principal_variation) <= config.max_depth
    assert result.stop_reason == ("proven" if result.proven else "simulations")


@settings(max_examples=200, deadline=None)
@given(models(root_has_actions=True), configs)
def test_every_node_accounts_for_the_visits_below_it(
    model: TabularModel, config: SearchConfig
) -> None:
    run = Search(model, 0, config.replace(solver=False))  # visits end at a proven node
    run.run()
    tree = run.tree()
    below = np.zeros(len(tree), dtype=int)
    np.add.at(below, tree.parent[1:], tree.visits[1:])
    inner = below > 0
    missing = tree.visits[inner] - below[inner]
    chance_or_root = (tree.kind[inner] == 1) | (tree.parent[inner] < 0)
    assert (missing[chance_or_root] == 0).all()
    assert (missing[~chance_or_root] == 1).all()  # the visit in which the node was evaluated
    assert tree.depth.max() <= config.max_depth
    assert run.nodes == len(tree)


@settings(max_examples=100, deadline=None)
@given(models(root_has_actions=True), configs, st.integers(-40, 40))
def test_the_scale_of_rewards_changes_nothing(
    model: TabularModel, config: SearchConfig, power: int
) -> None:
    if config.value_range is not None:
        config = config.replace(value_range=None)
    scaled = TabularModel(
        model.action_offsets,
        model.outcome_offsets,
        model.next_state,
        model.reward * 2.0**power,
        probability=model.probability,
        terminal=model.terminal,
        value=model.value * 2.0**power,
        player=model.player,
    )
    plain, other = search(model, 0, config), search(scaled, 0, config)
    assert plain.visits.tolist() == other.visits.tolist()
    assert (plain.values * 2.0**power).tobytes() == other.values.tobytes()


@settings(max_examples=100, deadline=None)
@given(models(root_has_actions=True), configs)
def test_the_same_seed_gives_the_same_search_and_the_config_is_kept(
    model: TabularModel, config: SearchConfig
) -> None:
    first, second = Search(model, 0, config), Search(model, 0, config)
    first.run()
    second.run()
    assert first.tree().value.tobytes() == second.tree().value.tobytes()
    assert first.tree().visits.tobytes() == second.tree().visits.tobytes()
    assert first.result().seed == config.seed


def random_model(rng: np.random.Generator, outcomes: int) -> TabularModel:
    states, actions = 40, 4
    choices = states * actions
    weights = rng.random((choices, outcomes)) + 0.05
    return TabularModel(
        np.arange(states + 1) * actions,
        np.arange(choices + 1) * outcomes,
        rng.integers(0, states, choices * outcomes),
        rng.normal(size=choices * outcomes),
        probability=(weights / weights.sum(1, keepdims=True)).ravel(),
    )


@pytest.mark.parametrize("selection", ["puct", "ucb1"])
@pytest.mark.parametrize("evaluation", ["simulator", "rollout"])
@pytest.mark.parametrize("outcomes", [1, 3])
@pytest.mark.parametrize("solver", [False, True])
def test_mean_regret_against_exact_falls_with_the_budget(
    selection: str, evaluation: str, outcomes: int, solver: bool
) -> None:
    rng = np.random.default_rng(1)
    regrets = np.zeros((40, 3))
    for i in range(len(regrets)):
        model = random_model(rng, outcomes)
        exact = backward_induction(model, 0, horizon=4, discount=0.95)
        for j, simulations in enumerate((8, 128, 4096)):
            config = SearchConfig(
                simulations=simulations,
                max_depth=4,
                discount=0.95,
                selection=selection,
                evaluation=evaluation,  # type: ignore[arg-type]
                exploration=1.5,
                solver=solver,
                seed=i,
            )
            chosen = search(model, 0, config).action
            assert isinstance(chosen, int)
            regrets[i, j] = exact.value - exact.values[chosen]
    assert (regrets >= -1e-9).all()
    means = regrets.mean(0)
    assert means[0] > means[1] > means[2]
    assert means[2] < 0.35 * means[0]


# --- edges ----------------------------------------------------------------------------------


def test_a_root_without_actions_gives_no_action() -> None:
    result = search(TabularModel([0, 0], [0], [], []), 0, SearchConfig(simulations=10))
    assert result.action is None
    assert result.stop_reason == "no_action"
    assert result.visits.tolist() == []
    assert math.isnan(result.value)
    assert result.principal_variation == ()
    assert result.simulations == 0


def test_a_single_action_gets_the_whole_budget() -> None:
    result = search(chain(3), 0, SearchConfig(simulations=10))
    assert result.visits.tolist() == [10]
    assert result.values.tolist() == [1.0]
    assert result.principal_variation == (0, 0, 0)


def test_a_self_loop_runs_to_the_horizon_and_no_further() -> None:
    loop = TabularModel([0, 1], [0, 1], [0], [1.0])
    for depth in (1, 7):
        result = search(loop, 0, SearchConfig(simulations=50, max_depth=depth))
        assert result.values.tolist() == [float(depth)]
        assert len(result.principal_variation) <= depth


def test_a_chain_of_ten_thousand_steps_is_followed_to_its_end() -> None:
    model = chain(10_000)
    result = search(model, 0, SearchConfig(simulations=20, max_depth=10_000))
    assert result.values.tolist() == [1.0]
    deep = search(
        model, 0, SearchConfig(simulations=10_500, max_depth=10_000, evaluation="simulator")
    )
    assert len(deep.principal_variation) == 10_000
    exact = backward_induction(model, 0, horizon=10_000)
    assert exact.value == 1.0
    assert len(exact.principal_variation) == 10_000


@pytest.mark.parametrize("selection", ["puct", "ucb1"])
def test_the_best_of_five_thousand_actions_is_found_when_each_can_be_tried(selection: str) -> None:
    rewards = [float((i * 7919) % 5003) for i in range(5000)]
    config = SearchConfig(simulations=6000, selection=selection)
    result = search(arms(rewards), 0, config)
    assert result.action == rewards.index(max(rewards))
    assert result.visits.sum() == 6000


def test_with_fewer_simulations_than_actions_the_prior_says_which_are_tried() -> None:
    prior = np.zeros(5000)
    prior[[17, 4000, 900]] = [3.0, 2.0, 1.0]
    result = search(arms([0.0] * 5000), 0, SearchConfig(simulations=3), prior=prior.tolist())
    assert np.flatnonzero(result.visits).tolist() == [17, 900, 4000]
    assert result.action == 17


def test_ties_go_to_the_higher_prior_and_then_to_the_first_offered() -> None:
    model = arms([1.0] * 6)
    assert search(model, 0, SearchConfig(simulations=6)).action == 0
    config = SearchConfig(simulations=6, exploration=0.0, prior_mix=0.0)
    assert search(model, 0, config, prior=[1, 1, 1, 2, 1, 1]).action == 3


def test_discount_zero_sees_one_step_and_discount_one_sees_all() -> None:
    # Action 0 pays now, action 1 pays more later.
    model = TabularModel([0, 2, 3, 3], [0, 1, 2, 3], [2, 1, 2], [1.0, 0.0, 5.0], terminal=[1, 0, 1])
    assert search(model, 0, SearchConfig(simulations=20, discount=0.0)).action == 0
    assert search(model, 0, SearchConfig(simulations=20, discount=1.0)).action == 1


def test_the_opponent_minimises() -> None:
    # Action 0 leads to a state where the opponent may take 10; action 1 ends with 1.
    model = TabularModel(
        [0, 2, 4, 4],
        [0, 1, 2, 3, 4],
        [1, 2, 2, 2],
        [0.0, 1.0, 10.0, -5.0],
        terminal=[0, 1, 1, 1],
        player=[0, 1, 0],
    )
    result = search(model, 0, SearchConfig(simulations=200, selection="ucb1"))
    assert result.action == 1
    exact = backward_induction(model, 0, horizon=2)
    assert exact.values.tolist() == [-10.0, 1.0]


# --- budgets, threads, errors ------------------------------------------------------------------


def test_the_time_limit_ends_a_search_that_would_go_on() -> None:
    result = search(
        TabularModel([0, 4], range(5), [0] * 4, [0.0, 1.0, 0.5, 0.2]),
        0,
        SearchConfig(simulations=2**31 - 2, max_depth=30, time_limit_ms=20.0),
    )
    assert result.stop_reason == "time"
    assert 0 < result.simulations < 2**31 - 2
    assert result.visits.sum() == result.simulations


def test_the_smallest_time_limit_still_decides() -> None:
    result = search(arms([0.0, 1.0]), 0, SearchConfig(time_limit_ms=1e-6))
    assert result.simulations >= 1
    assert result.action is not None


def test_other_threads_run_while_an_explicit_model_is_searched() -> None:
    run = Search(
        TabularModel([0, 4], range(5), [0] * 4, [0.0, 1.0, 0.5, 0.2]),
        0,
        SearchConfig(simulations=2**31 - 2, max_depth=30, time_limit_ms=400.0),
    )
    worker = threading.Thread(target=run.run)
    worker.start()
    counted = 0
    while worker.is_alive():
        counted += 1
    # With the GIL held throughout, this thread would get a turn or two at most.
    assert counted > 1000


def test_a_search_that_is_running_refuses_a_second_caller() -> None:
    run = Search(
        TabularModel([0, 4], range(5), [0] * 4, [0.0, 1.0, 0.5, 0.2]),
        0,
        SearchConfig(simulations=2**31 - 2, max_depth=30, time_limit_ms=300.0),
    )
    worker = threading.Thread(target=run.run)
    worker.start()
    refused = 0
    while worker.is_alive():
        try:
            run.run(simulations=1)
        except SearchInUseError:
            refused += 1
        time.sleep(0)
    assert refused > 0


@pytest.mark.parametrize(
    ("prior", "field"),
    [([1.0], "prior"), ([1.0, -1.0], r"prior\[1\]"), ([math.nan, 1.0], r"prior\[0\]")],
)
def test_a_bad_prior_is_refused_by_name(prior: list[float], field: str) -> None:
    with pytest.raises(ConfigError, match=field):
        search(arms([0.0, 1.0]), 0, SearchConfig(), prior=prior)


@pytest.mark.parametrize("prior", ["ab", [[0.5, 0.5]], ["x", 1.0], 3])
def test_a_prior_that_is_no_row_of_numbers_is_refused(prior: object) -> None:
    with pytest.raises(ConfigError, match=r"^prior: got"):
        search(arms([0.0, 1.0]), 0, SearchConfig(), prior=prior)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("simulations", 0),
        ("simulations", -3),
        ("simulations", 2**31),
        ("simulations", 1.5),
        ("time_limit_ms", 0.0),
        ("time_limit_ms", -1.0),
        ("time_limit_ms", math.nan),
    ],
)
def test_a_run_refuses_a_budget_out_of_range(argument: str, value: object) -> None:
    run = Search(arms([0.0, 1.0]), 0, SearchConfig(simulations=4))
    with pytest.raises(ConfigError, match=f"^{argument}: got"):
        run.run(**{argument: value})  # type: ignore[arg-type]
    assert run.run() == "simulations"


@pytest.mark.parametrize("root", [-1, 2, 0.5, "a", True, None])
def test_a_bad_root_is_refused(root: object) -> None:
    with pytest.raises(ModelError, match="root_state: got"):
        search(arms([0.0, 1.0]), root, SearchConfig())


def test_the_arena_takes_no_more_than_48_bytes_a_node_without_states() -> None:
    run = Search(arms([0.0] * 8), 0, SearchConfig(simulations=8))
    run.run()
    nodes, states, state_bytes = 9, 9, 8
    assert run.nbytes <= nodes * 48 + states * state_bytes
    assert run.nodes == nodes
