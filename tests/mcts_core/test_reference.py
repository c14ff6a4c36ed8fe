"""The compiled search and the reference in plain Python are one algorithm."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcts_core import Search, SearchConfig
from mcts_core.reference import ReferenceNode, SplitMix64, best_child
from mcts_core.reference import search as reference_search
from mcts_core.rng import SplitMix64 as CompiledSplitMix64
from simulators import TabularModel
from tests.models import configs, decisive_configs, models


def assert_same_tree(run: Search, root: ReferenceNode) -> None:
    """Every visited node agrees in action, visits, value, prior and reward, bit for bit."""
    tree = run.tree()
    children: dict[int, list[int]] = {}
    for node, parent in enumerate(tree.parent.tolist()):
        children.setdefault(parent, []).append(node)
    pairs = [(0, root)]
    for node, reference in pairs:
        assert tree.visits[node] == reference.visits
        assert tree.value[node] == reference.value
        assert tree.reward[node] == reference.reward
        assert tree.prior[node] == reference.prior
        assert tree.ended[node] == reference.settled
        assert tree.proven[node] == reference.proven
        visited = [child for child in reference.children or [] if child.visits > 0]
        assert [tree.action[child] for child in children.get(node, [])] == [
            child.action for child in visited
        ]
        pairs += zip(children.get(node, []), visited, strict=True)
    assert len(pairs) == len(tree)


@settings(max_examples=400, deadline=None)
@given(models(), configs, st.lists(st.floats(0.0, 9.0), min_size=5, max_size=5))
def test_the_engine_grows_the_reference_tree_bit_for_bit(
    model: TabularModel, config: SearchConfig, weights_of_five: list[float]
) -> None:
    count = int(model.action_offsets[1])
    for weights in (None, weights_of_five[:count]):
        run = Search(model, 0, config, weights)
        run.run()
        root = reference_search(model, 0, config, weights)
        assert_same_tree(run, root)
        if count:
            assert run.result().action == best_child(root).action


@settings(max_examples=400, deadline=None)
@given(models(most_outcomes=1, most_actions=4), decisive_configs)
def test_decisive_rollouts_grow_the_reference_tree_bit_for_bit(
    model: TabularModel, config: SearchConfig
) -> None:
    run = Search(model, 0, config)
    run.run()
    assert_same_tree(run, reference_search(model, 0, config))


@settings(max_examples=60, deadline=None)
@given(models(root_has_actions=True), configs, st.integers(1, 40))
def test_a_search_run_in_parts_is_the_same_search(
    model: TabularModel, config: SearchConfig, part: int
) -> None:
    whole, parts = Search(model, 0, config), Search(model, 0, config)
    whole.run()
    stop = "simulations"
    while parts.simulations < config.simulations and stop != "proven":
        stop = parts.run(simulations=min(part, config.simulations - parts.simulations))
    assert whole.result().visits.tolist() == parts.result().visits.tolist()
    assert whole.tree().value.tolist() == parts.tree().value.tolist()


def test_a_larger_model_agrees_after_thousands_of_simulations() -> None:
    random = SplitMix64(7)
    states = 200
    model = TabularModel(
        range(0, 4 * states + 1, 4),
        range(4 * states + 1),
        [random.below(states) for _ in range(4 * states)],
        [random.uniform() for _ in range(4 * states)],
    )
    for selection in ("puct", "ucb1"):
        for evaluation in ("forced", "rollout"):
            config = SearchConfig(
                simulations=3000,
                max_depth=10,
                discount=0.95,
                selection=selection,
                evaluation=evaluation,
                seed=11,
            )
            run = Search(model, 0, config)
            run.run()
            assert_same_tree(run, reference_search(model, 0, config))


@pytest.mark.parametrize("selection", ["puct", "ucb1"])
@pytest.mark.parametrize("actions", [3, 16, 19, 64, 95, 96, 97, 130])
def test_wide_nodes_and_their_ties_agree(selection: str, actions: int) -> None:
    random = SplitMix64(actions)
    rewards = [random.below(3) / 2 for _ in range(2 * actions)]
    model = TabularModel(
        [0, actions, 2 * actions], range(2 * actions + 1), [1] * (2 * actions), rewards
    )
    for solver in (False, True):
        for exploration in (0.0, 0.3, 2.0):
            config = SearchConfig(
                simulations=8 * actions,
                max_depth=3,
                exploration=exploration,
                selection=selection,  # type: ignore[arg-type]
                solver=solver,
            )
            run = Search(model, 0, config)
            run.run()
            assert_same_tree(run, reference_search(model, 0, config))


@pytest.mark.parametrize("selection", ["puct", "ucb1"])
@pytest.mark.parametrize("actions", [3, 100])
def test_more_visits_than_the_tables_hold_agree(selection: str, actions: int) -> None:
    model = TabularModel(
        [0, actions, actions],
        range(actions + 1),
        [1] * actions,
        [1.0, 0.875, *[0.5] * (actions - 2)],
    )
    config = SearchConfig(
        simulations=20_000,
        max_depth=1,
        exploration=0.01,
        selection=selection,  # type: ignore[arg-type]
    )
    run = Search(model, 0, config)
    run.run()
    root = reference_search(model, 0, config)
    assert root.children is not None
    assert root.children[0].visits > 2**14
    assert_same_tree(run, root)


@pytest.mark.parametrize("seed", [0, 1, 2**63, 2**64 - 1])
def test_both_generators_give_one_stream(seed: int) -> None:
    ours, reference = CompiledSplitMix64(seed), SplitMix64(seed)
    for n in (1, 2, 3, 10, 1000, 2**31 - 1):
        assert ours.next_u64() == reference.next_u64()
        assert ours.uniform() == reference.uniform()
        assert ours.below(n) == reference.below(n)


def test_the_generator_is_splitmix64_as_published() -> None:
    # The first outputs for seed 0, from the algorithm's definition (Steele, Lea & Flood 2014).
    stream = CompiledSplitMix64(0)
    assert [stream.next_u64() for _ in range(3)] == [
        0xE220A8397B1DCDAF,
        0x6E789E6AA1B965F4,
        0x06C45D188009454F,
    ]


@pytest.mark.parametrize("seed", [-1, 2**64, 1.5, True])
def test_the_generator_refuses_a_bad_seed(seed: object) -> None:
    with pytest.raises(ValueError, match="seed: got"):
        CompiledSplitMix64(seed)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="wanted at least 1"):
        CompiledSplitMix64(0).below(0)
