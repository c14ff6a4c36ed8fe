"""What the settings of the search promise beyond the two default rules."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcts_core import ConfigError, Search, SearchConfig, SimulatedStep, SimulatorError, search
from simulators.native import below, compile_simulator
from simulators.native_games import connect_four, constant_tree
from simulators.python import PythonSimulator
from simulators.tabular import TabularModel
from tests.models import configs, models


def bandits(values: np.ndarray, priors: np.ndarray, base: float = 0.0) -> TabularModel:
    """One step, then the end: action a pays values[a]; priors[a] says how good it looked, ``base``
    how good the whole."""
    count = len(values)
    return TabularModel(
        [0, count, count], range(count + 1), [1] * count, values,
        terminal=[1] * count, value=[base, 0.0], prior=priors,
    )  # fmt: skip


# --- Gumbel --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("simulations", "chosen_gain", "policy_gain"),
    [(2, 0.163, 0.104), (4, 0.276, 0.112), (16, 0.314, 0.192), (64, 0.348, 0.248)],
)
def test_gumbel_never_makes_the_policy_worse(
    simulations: int, chosen_gain: float, policy_gain: float
) -> None:
    """Danihelka et al. 2022, on 256 bandits of 82 actions with known value of the prior policy: the
    action is never worse than the one that the same noise takes by the prior, nor is the improved
    policy worse than the prior. The mean gains are those of mctx within the error of 256."""
    rng = np.random.default_rng(42)
    chosen, improved = [], []
    for bandit in range(256):
        logits, values = rng.normal(size=82), rng.uniform(size=82)
        prior = np.exp(logits) / np.exp(logits).sum()
        base = float(prior @ values)
        model = bandits(values, prior, base)
        config = SearchConfig(
            simulations=simulations, selection="gumbel", root="gumbel", evaluation="simulator",
            mixed_value=False, seed=bandit,
        )  # fmt: skip
        result = search(model, 0, config)
        by_prior = search(model, 0, config.replace(simulations=1)).action
        chosen.append(values[result.action] - values[by_prior])
        improved.append(float(result.policy @ values) - base)
    assert min(chosen) >= 0.0
    assert min(improved) >= 0.0
    assert np.mean(chosen) == pytest.approx(chosen_gain, abs=0.05)
    assert np.mean(improved) == pytest.approx(policy_gain, abs=0.02)


def test_without_noise_a_gumbel_root_never_chooses_worse_than_the_prior_of_those_considered() -> None:
    rng = np.random.default_rng(7)
    for _ in range(256):
        logits, values = rng.normal(size=82), rng.uniform(size=82)
        prior = np.exp(logits) / np.exp(logits).sum()
        config = SearchConfig(
            simulations=16, selection="gumbel", root="gumbel", evaluation="simulator",
            gumbel_scale=0.0, considered_actions=16, visit_scale=1e6,
        )  # fmt: skip
        result = search(bandits(values, prior), 0, config)
        considered = np.argsort(-prior)[:16]
        assert set(np.flatnonzero(result.visits)) <= set(considered.tolist())
        assert values[result.action] == values[considered].max()


def test_sequential_halving_shares_out_its_simulations() -> None:
    config = SearchConfig(simulations=64, root="gumbel", considered_actions=8, gumbel_scale=0.0)
    visits = search(bandits(np.linspace(1, 0, 20), np.linspace(2, 1, 20)), 0, config).visits
    assert sorted(visits.tolist(), reverse=True)[:8] == [21, 21, 7, 7, 2, 2, 2, 2]
    assert visits.sum() == 64
    assert np.count_nonzero(visits) == 8


def test_a_gumbel_root_samples_actions_by_their_prior() -> None:
    prior = np.array([0.5, 0.3, 0.2])
    config = SearchConfig(simulations=1, root="gumbel", considered_actions=1)
    model = bandits(np.zeros(3), prior)
    counts = np.bincount(
        [search(model, 0, config.replace(seed=seed)).action for seed in range(3000)], minlength=3
    )
    assert counts / 3000 == pytest.approx(prior, abs=0.03)


# --- noise, temperature ----------------------------------------------------------------------------


def test_root_noise_has_the_mean_and_spread_of_its_dirichlet() -> None:
    model, alpha = bandits(np.zeros(4), np.ones(4)), 0.3
    config = SearchConfig(simulations=1, noise_fraction=1.0, noise_alpha=alpha)
    samples = np.array(
        [search(model, 0, config.replace(seed=seed)).priors for seed in range(4000)]
    )
    assert samples.sum(axis=1) == pytest.approx(1.0, abs=1e-6)
    assert samples.mean(axis=0) == pytest.approx(0.25, abs=0.015)
    variance = 0.25 * 0.75 / (4 * alpha + 1)
    assert samples.var(axis=0) == pytest.approx(variance, rel=0.1)


def test_noise_leaves_its_share_to_the_prior() -> None:
    config = SearchConfig(simulations=1, noise_fraction=0.25, noise_alpha=1.0, seed=3)
    priors = search(bandits(np.zeros(3), np.array([0.8, 0.15, 0.05])), 0, config).priors
    assert (priors >= 0.75 * np.array([0.8, 0.15, 0.05]) - 1e-6).all()
    assert priors.sum() == pytest.approx(1.0, abs=1e-6)


def test_temperature_makes_the_policy_and_what_is_sampled_from_it() -> None:
    config = SearchConfig(simulations=300, temperature=1.0, exploration=3.0)
    model = bandits(np.array([0.0, 0.5, 1.0]), np.ones(3))
    result = search(model, 0, config)
    assert result.policy == pytest.approx(result.visit_shares)
    half = search(model, 0, config.replace(temperature=0.5))
    squares = half.visits.astype(float) ** 2
    assert half.policy == pytest.approx(squares / squares.sum())
    drawn = np.bincount([int(result.sample(seed)) for seed in range(2000)], minlength=3)  # type: ignore[call-overload]
    assert drawn / 2000 == pytest.approx(result.policy, abs=0.04)
    sure = search(model, 0, config.replace(temperature=0.0))
    assert sure.policy.tolist() == [0.0, 0.0, 1.0]
    assert sure.sample(5) == sure.action == 2


# --- progressive widening --------------------------------------------------------------------------


@pytest.mark.parametrize(("k", "alpha"), [(1.0, 0.5), (2.0, 0.25), (0.5, 0.8)])
def test_widening_opens_as_many_actions_as_visits_allow(k: float, alpha: float) -> None:
    config = SearchConfig(
        simulations=5000, widening=(k, alpha), max_depth=3, evaluation="simulator"
    )
    run = Search(constant_tree(64), None, config)
    run.run()
    tree = run.tree()
    opened = np.bincount(tree.parent[1:], minlength=len(tree))
    root = tree.visits == tree.visits[0]
    for node in np.flatnonzero((opened > 0) & ~root):
        # The last time an action was opened the node had at most its visits of now.
        assert opened[node] <= max(1, math.floor(k * float(tree.visits[node]) ** alpha))
    assert opened[0] == max(1, math.floor(k * 5000**alpha)) or opened[0] == 64


def test_chance_widening_draws_from_the_outcomes_seen_as_often_as_they_were() -> None:
    def legal(state, actions):  # type: ignore[no-untyped-def]
        actions[0] = 0
        return 1 if state.spun == 0 else 0

    def step(state, action, rng):  # type: ignore[no-untyped-def]
        state.spun = 1 + below(rng, 1000)
        return float(state.spun), True

    simulator = compile_simulator(
        [("spun", np.int64)], legal=legal, step=step, max_actions=1, stochastic=True
    )
    config = SearchConfig(simulations=10_000, chance_widening=(1.0, 0.5))
    run = Search(simulator, None, config)
    run.run()
    tree = run.tree()
    outcomes = int((tree.kind == 2).sum())
    assert outcomes == math.floor(9_999**0.5)
    assert tree.visits[tree.kind == 2].sum() == 10_000
    assert run.result().value == pytest.approx(500.0, abs=120.0)
    plain = Search(simulator, None, config.replace(chance_widening=None))
    plain.run()
    assert int((plain.tree().kind == 2).sum()) > 900


# --- early stop, memory ---------------------------------------------------------------------------


@settings(max_examples=300, deadline=None)
@given(models(root_has_actions=True), configs, st.integers(1, 400))
def test_an_early_stop_names_what_the_whole_search_names_and_not_a_simulation_late(
    model: TabularModel, config: SearchConfig, simulations: int
) -> None:
    config = config.replace(solver=False, simulations=simulations)
    whole = search(model, 0, config)
    run = Search(model, 0, config.replace(early_stop=True))
    run.run()
    early = run.result()
    assert early.action == whole.action
    if early.stop_reason == "decided":
        ordered = np.sort(early.visits)[::-1].tolist() + [0]
        assert ordered[0] - ordered[1] > simulations - early.simulations or len(ordered) == 2
        before = Search(model, 0, config.replace(simulations=max(1, early.simulations - 1)))
        before.run()
        most = np.sort(before.result().visits)[::-1].tolist() + [0]
        left = simulations - before.simulations
        assert early.simulations == 1 or most[0] - most[1] <= left


@pytest.mark.parametrize("limit", [0.2, 1.0, 5.0])
def test_a_memory_limit_ends_the_search_with_what_it_has(limit: float) -> None:
    config = SearchConfig(simulations=1_000_000, evaluation="rollout", memory_limit_mb=limit)
    run = Search(connect_four(), None, config)
    assert run.run() == "memory"
    assert 0.4 * limit * 1e6 < run.nbytes <= limit * 1e6
    result = run.result()
    assert result.stop_reason == "memory"
    assert result.visits.sum() == result.simulations > 100
    assert run.run(10) == "memory"


def test_a_root_that_does_not_fit_the_limit_says_so() -> None:
    config = SearchConfig(memory_limit_mb=0.001)
    with pytest.raises(MemoryError, match=r"memory_limit_mb: got 0\.001"):
        Search(constant_tree(4096), None, config).run()


# --- batches --------------------------------------------------------------------------------------


def by_stones(states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """An evaluator of connect four: likes the middle, and more stones low down."""
    priors = np.tile(np.array([1.0, 2, 3, 4, 3, 2, 1]), (len(states), 1))
    return priors, (states["mine"] % 97 - states["theirs"] % 89).astype(float) / 100


@pytest.mark.parametrize("size", [1, 2, 8, 64])
@pytest.mark.parametrize("rule", ["puct", "ucb1", "ucb1_tuned", "gumbel"])
def test_batches_ask_for_each_leaf_once_and_never_for_too_many(size: int, rule: str) -> None:
    asked: list[int] = []
    seen: set[tuple[int, int]] = set()

    def evaluate(states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        asked.append(len(states))
        seen.update((int(s["mine"]), int(s["theirs"])) for s in states)
        return by_stones(states)

    config = SearchConfig(simulations=1500, batch_size=size, selection=rule)
    run = Search(connect_four(), None, config, evaluate_batch=evaluate)
    assert run.run() == "simulations"
    result = run.result()
    assert result.visits.sum() == result.simulations == 1500
    assert max(asked) <= size
    assert sum(asked) <= 1501
    if rule != "gumbel":  # whose choice below the root hardly depends on what is under way
        assert np.mean(asked) > size / 3
    assert result.priors == pytest.approx(np.array([1, 2, 3, 4, 3, 2, 1]) / 16, abs=1e-6)


@settings(max_examples=100, deadline=None)
@given(models(root_has_actions=True), configs)
def test_batches_of_one_grow_the_same_tree_as_the_simulator_s_own_values(
    model: TabularModel, config: SearchConfig
) -> None:
    config = config.replace(evaluation="simulator", solver=False, fpu="first")
    plain = Search(model, 0, config)
    plain.run()

    def evaluate(states: list[int]) -> tuple[None, np.ndarray]:
        return None, model.value[np.asarray(states)]

    run = Search(model, 0, config, evaluate_batch=evaluate)
    run.run()
    assert by_path(run) == by_path(plain)


def by_path(run: Search) -> dict[tuple[int, ...], tuple[int, float]]:
    """Actions from the root -> (visits, value)."""
    tree = run.tree()
    paths: list[tuple[int, ...]] = [()]
    for parent, action in zip(tree.parent[1:].tolist(), tree.action[1:].tolist(), strict=True):
        paths.append((*paths[parent], action))
    return {
        path: (int(n), float(q)) for path, n, q in zip(paths, tree.visits, tree.value, strict=True)
    }


def test_virtual_loss_keeps_the_leaves_of_a_batch_apart() -> None:
    sizes = []

    def evaluate(states: np.ndarray) -> tuple[None, np.ndarray]:
        sizes.append(len({bytes(s) for s in states}))
        return None, np.full(len(states), 0.5)

    config = SearchConfig(
        simulations=2000, batch_size=32, selection="ucb1", value_range=(0.0, 1.0), max_depth=6
    )
    search(constant_tree(8), None, config, evaluate_batch=evaluate)
    assert len(sizes) < 2000 / 32 * 1.5


class Broken(Exception):
    """What an evaluator raises."""


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda n: (None, np.full(n, np.nan)), "got a value of .*nan"),
        (lambda n: (None, np.zeros(n + 1)), r"got values of shape \(\d+,\), wanted \(\d+,\)"),
        (lambda n: (np.ones((n, 3)), np.zeros(n)), "got priors of 3 actions, wanted one for action"),
        (lambda n: (-np.ones((n, 7)), np.zeros(n)), "got a prior of -1.0"),
        (lambda n: (np.ones((n + 1, 7)), np.zeros(n)), "got priors of shape"),
        (lambda n: 5, "got an answer that is not"),
        (lambda n: (None, ["a"] * n), "got an answer that is not"),
    ],
)  # fmt: skip
def test_what_an_evaluator_must_not_answer_is_named_and_leaves_the_search_as_it_was(
    answer, message: str
) -> None:  # type: ignore[no-untyped-def]
    bad = False

    def evaluate(states: np.ndarray):  # type: ignore[no-untyped-def]
        return answer(len(states)) if bad else by_stones(states)

    config = SearchConfig(simulations=200, batch_size=8)
    run = Search(connect_four(), None, config, evaluate_batch=evaluate)
    run.run()
    before = run.result().visits.tolist()
    bad = True
    with pytest.raises(SimulatorError, match=message):
        run.run(50)
    assert run.result().visits.tolist() == before
    bad = False
    run.run(100)
    assert run.result().visits.sum() == 300


def test_an_evaluator_s_own_exception_comes_through() -> None:
    def evaluate(states: object) -> tuple[None, list[float]]:
        raise Broken("no network")

    with pytest.raises(Broken, match="no network"):
        search(connect_four(), None, SearchConfig(), evaluate_batch=evaluate)


def test_batches_of_python_states_are_lists() -> None:
    class Count:
        def actions(self, state: int) -> list[int]:
            return [1, 2] if state < 10 else []

        def step(self, state: int, action: int) -> SimulatedStep[int]:
            return SimulatedStep(state + action)

        def evaluate(self, state: int) -> float:
            return 1.0 if state == 10 else 0.0

    def evaluate(states: list[int]) -> tuple[None, list[float]]:
        assert type(states) is list and all(type(state) is int for state in states)
        return None, [0.5] * len(states)

    config = SearchConfig(simulations=300, batch_size=4)
    result = search(PythonSimulator(Count()), 0, config, evaluate_batch=evaluate)
    assert result.value > 0.6


# --- settings --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("selection", "best"), ("selection", "a b:c"), ("selection", ":x"), ("selection", 3),
        ("root", "noise"), ("normalisation", "none"), ("considered_actions", 0),
        ("gumbel_scale", -1.0), ("value_scale", math.nan), ("visit_scale", -1),
        ("noise_fraction", 1.5), ("noise_alpha", 0.0), ("temperature", -0.1),
        ("widening", (0.0, 0.5)), ("widening", (1.0, 2.0)), ("widening", 3), ("widening", (1.0,)),
        ("chance_widening", (math.inf, 0.5)), ("exploration_base", 0.0), ("early_stop", 1),
        ("memory_limit_mb", 0), ("batch_size", 0), ("batch_size", 70_000), ("virtual_loss", 0),
        ("transpositions", None), ("rescale_values", "no"),
    ],
)  # fmt: skip
def test_a_setting_out_of_range_is_named(field: str, value: object) -> None:
    with pytest.raises(ConfigError, match=f"^{field}"):
        SearchConfig(**{field: value})  # type: ignore[arg-type]
