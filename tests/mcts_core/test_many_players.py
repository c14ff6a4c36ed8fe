"""Worlds of three players and more: each moves for the most of their own (max^n)."""

import asyncio
from collections.abc import Iterator
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcts_core import (
    ConfigError,
    ManyPlayerStep,
    NonFiniteError,
    Outcome,
    Search,
    SearchConfig,
    SimulatorError,
    search,
    search_parallel,
)
from mcts_core.native import AddressSimulator
from mcts_core.result import SearchTree
from simulators import PythonSimulator, TabularModel, search_async
from tests.many_player_worlds import (
    MOVER,
    RULES,
    WORTH,
    RandomTree,
    max_n,
    native_tree,
)
from tests.models import configs, models

ROOTS = [next(node for node in range(13) if MOVER[node] == player) for player in range(3)]


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AddressSimulator]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HARNESS_ROUTER_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield native_tree()


def tree_of(run: Search) -> SearchTree:
    run.run()
    return run.tree()


def assert_same(left: SearchTree, right: SearchTree) -> None:
    assert left.visits.tolist() == right.visits.tolist()
    assert left.value.tolist() == right.value.tolist()
    assert left.reward.tolist() == right.reward.tolist()
    assert left.action.tolist() == right.action.tolist()
    assert left.ended.tolist() == right.ended.tolist()


def by_path(run: Search) -> dict[tuple[object, ...], tuple[int, float]]:
    """Actions from the root on -> (visits, value) of what was visited there."""
    tree, names = run.tree(), run.tree_actions()
    paths: list[tuple[object, ...]] = [()]
    for parent, name in zip(tree.parent[1:].tolist(), names[1:], strict=True):
        paths.append((*paths[parent], name))
    return {p: (int(n), float(q)) for p, n, q in zip(paths, tree.visits, tree.value, strict=True)}


@pytest.mark.parametrize("selection", ["ucb1", "puct"])
@pytest.mark.parametrize("root", ROOTS)
def test_whoever_moves_at_the_root_a_growing_budget_finds_the_solution_for_them(
    native: AddressSimulator, root: int, selection: str
) -> None:
    solution, worths = max_n(root)
    off = []
    for simulations in (100, 3_000, 100_000):
        config = SearchConfig(simulations, selection=selection, exploration=0.5)
        result = search(native, (root,), config)
        off.append(abs(result.value - solution[MOVER[root]]))
    assert result.action == int(np.argmax(worths))
    assert off[-1] < 0.04
    assert off[-1] < off[0]


@pytest.mark.parametrize("config", RULES, ids=lambda config: config.selection)
@pytest.mark.parametrize("root", ROOTS)
def test_python_and_native_simulators_grow_the_same_tree(
    native: AddressSimulator, root: int, config: SearchConfig
) -> None:
    python = tree_of(Search(PythonSimulator(RandomTree()), root, config))
    compiled = tree_of(Search(native, (root,), config))
    assert_same(python, compiled)
    assert python.visits[0] == 500


class Rivals:
    """An explicit model of two rivals in Python: rewards and values are the mover's."""

    def __init__(self, model: TabularModel) -> None:
        self.model = model

    def player(self, state: int) -> int:
        return int(self.model.player[state])

    def actions(self, state: int) -> list[int]:
        first, last = self.model.action_offsets[state : state + 2].tolist()
        return list(range(last - first))

    def outcomes(self, state: int, action: int) -> list[Outcome[int]]:
        model = self.model
        choice = int(model.action_offsets[state]) + action
        return [
            Outcome(
                float(model.probability[edge]),
                ManyPlayerStep(
                    int(model.next_state[edge]),
                    self.of(state, float(model.reward[edge])),
                    bool(model.terminal[edge]),
                ),
            )
            for edge in range(*model.outcome_offsets[choice : choice + 2].tolist())
        ]

    def evaluate(self, state: int) -> Any:
        return self.of(state, float(self.model.value[state]))

    def of(self, state: int, mine: float) -> Any:
        return mine


class RivalsAndAThird(Rivals):
    """The same as a world of three: what one gains the other loses, the third looks on."""

    players = 3

    def of(self, state: int, mine: float) -> Any:
        return (mine, -mine, 0.0) if self.player(state) == 0 else (-mine, mine, 0.0)


def suited(config: SearchConfig) -> SearchConfig:
    """Without what is for one player or two only."""
    evaluation = "rollout" if config.evaluation == "decisive" else config.evaluation
    return config.replace(solver=False, transpositions=False, evaluation=evaluation, chance="mean")


@settings(max_examples=300, deadline=None)
@given(models(), configs)
def test_two_rivals_and_one_who_looks_on_grow_the_tree_of_two_rivals(
    model: TabularModel, config: SearchConfig
) -> None:
    config = suited(config)
    two = Search(PythonSimulator(Rivals(model)), 0, config)
    three = Search(PythonSimulator(RivalsAndAThird(model)), 0, config)
    assert_same(tree_of(two), tree_of(three))


@settings(max_examples=100, deadline=None)
@given(models(), configs, st.data())
def test_after_real_steps_they_still_do(
    model: TabularModel, config: SearchConfig, data: st.DataObject
) -> None:
    config = suited(config).replace(simulations=30)
    two = Search(PythonSimulator(Rivals(model)), 0, config)
    three = Search(PythonSimulator(RivalsAndAThird(model)), 0, config)
    state = 0
    for _ in range(3):
        assert_same(tree_of(two), tree_of(three))
        if two.run(1) == three.run(1) == "no_action":
            return
        action = data.draw(st.sampled_from(Rivals(model).actions(state)))
        state = data.draw(st.sampled_from(Rivals(model).outcomes(state, action))).step.state
        two.advance(action, state)
        three.advance(action, state)


class Gift:
    """Player 2 moves once: either a sure reward for everyone or a coin; then player 0 moves on."""

    players = 3

    def player(self, state: str) -> int:
        return 2 if state == "begin" else 0

    def actions(self, state: str) -> tuple[str, ...]:
        return ("sure", "coin") if state == "begin" else ("end",) if state != "ended" else ()

    def outcomes(self, state: str, action: str) -> list[Outcome[str]]:
        if action == "end":
            return [Outcome(1.0, ManyPlayerStep("ended", (0.0, 5.0, 0.0), True))]
        if action == "sure":
            return [Outcome(1.0, ManyPlayerStep("on", (4.0, 0.0, 1.0)))]
        heads = ManyPlayerStep("on", (0.0, 0.0, 4.0))
        tails = ManyPlayerStep("on", (9.0, 0.0, 0.0))
        return [Outcome(0.5, heads), Outcome(0.5, tails)]

    def evaluate(self, state: str) -> tuple[float, ...]:
        return (0.0, 0.0, 0.0)


def test_chance_is_worth_its_mean_to_the_one_who_takes_it() -> None:
    result = search(PythonSimulator(Gift()), "begin", SearchConfig(20_000, selection="ucb1"))
    assert result.action == "coin"
    assert result.values.tolist() == pytest.approx([1.0, 2.0], abs=0.05)


def evaluate_batch(states: Any) -> tuple[None, Any]:
    return None, WORTH[states["node"]]


@pytest.mark.parametrize("config", [RULES[0], RULES[3], RULES[4]], ids=["puct", "gumbel", "node"])
def test_batches_of_one_grow_the_tree_of_the_simulators_own_values(
    native: AddressSimulator, config: SearchConfig
) -> None:
    plain = Search(native, (0,), config.replace(evaluation="simulator"))
    batches = Search(native, (0,), config, evaluate_batch=evaluate_batch)
    assert plain.run() == batches.run() == "simulations"
    assert by_path(plain) == by_path(batches)


def test_batches_find_the_solution(native: AddressSimulator) -> None:
    for root in ROOTS:
        solution, worths = max_n(root)
        config = SearchConfig(30_000, exploration=0.5, batch_size=16)
        result = search(native, (root,), config, evaluate_batch=evaluate_batch)
        assert result.action == int(np.argmax(worths))
        assert result.value == pytest.approx(solution[MOVER[root]], abs=0.05)


@pytest.mark.parametrize("shape", [(3,), (3, 2), (3, 4), (2, 3)])
def test_batches_of_values_of_another_shape_are_refused(
    native: AddressSimulator, shape: tuple[int, ...]
) -> None:
    def wrong(states: Any) -> tuple[None, Any]:
        return None, np.zeros((1, 3) if len(states) == 1 else shape)  # right for the root

    run = Search(native, (0,), SearchConfig(50, batch_size=4), evaluate_batch=wrong)
    with pytest.raises(SimulatorError, match=r"got values of shape .*, wanted \(3, 3\)"):
        run.run()
    with pytest.raises(SimulatorError, match="got values of shape"):
        run.run()


def test_threads_find_the_solution_in_trees_of_their_own_and_in_one(
    native: AddressSimulator,
) -> None:
    for root in ROOTS:
        solution, worths = max_n(root)
        config = SearchConfig(40_000, exploration=0.5, evaluation="simulator")
        for tree in ("own", "shared"):
            result = search_parallel(native, (root,), config, threads=2, tree=tree)
            assert result.action == int(np.argmax(worths)), tree
            assert result.value == pytest.approx(solution[MOVER[root]], abs=0.05)
            assert result.simulations == 40_000


def test_a_tree_that_goes_on_after_a_real_step_is_searched_as_the_same_tree_grown_there(
    native: AddressSimulator,
) -> None:
    config = SearchConfig(4, evaluation="simulator", max_depth=3)
    run = Search(native, (0,), config)
    run.run()
    action = run.result().visits.tolist().index(1)
    run.advance(action)
    run.run(400)
    fresh = Search(native, (1 + action,), config)
    fresh.run(400)
    assert by_path(run) == by_path(fresh)
    assert run.tree().depth.max() == 3


def test_a_tree_with_the_horizon_moved_along_finds_the_solution(native: AddressSimulator) -> None:
    run = Search(native, (0,), SearchConfig(500, exploration=0.5, max_depth=2))
    for _ in range(3):
        run.run(500)
        run.advance(run.result().action)
    kept = int(run.tree().visits[0])
    run.run(20_000)
    state = int(cast(tuple[int], run.tree_states()[0])[0])
    solution, worths = max_n(state)
    assert 0 < kept == run.tree().visits[0] - 20_000
    assert run.result().action == int(np.argmax(worths))
    assert run.result().value == pytest.approx(solution[MOVER[state]], abs=0.05)


def test_a_memory_limit_counts_what_each_player_is_given(native: AddressSimulator) -> None:
    run = Search(native, (0,), SearchConfig(5_000, memory_limit_mb=0.05))
    assert run.run() == "memory"
    assert run.nbytes <= 50_000
    assert run.nbytes / run.tree().visits.size > 45 + 2 * 3 * 8


class Awaited(RandomTree):
    """The same with coroutines that wait."""

    async def step(self, state: int, action: int) -> ManyPlayerStep[int]:  # type: ignore[override]
        await asyncio.sleep(0)
        return RandomTree.step(self, state, action)

    async def evaluate(self, state: int) -> tuple[float, ...]:  # type: ignore[override]
        await asyncio.sleep(0)
        return RandomTree.evaluate(self, state)


def test_what_is_awaited_makes_no_difference() -> None:
    config = SearchConfig(200, selection="ucb1", evaluation="rollout")
    waited = asyncio.run(search_async(PythonSimulator(Awaited()), 0, config))
    plain = search(PythonSimulator(RandomTree()), 0, config)
    assert waited.visits.tolist() == plain.visits.tolist()
    assert waited.values.tolist() == plain.values.tolist()


def changed(**members: Any) -> PythonSimulator:
    return PythonSimulator(type("Changed", (RandomTree,), members)())


@pytest.mark.parametrize(
    ("setting", "wanted"),
    [
        ({"solver": True}, "solver: got True, wanted False in a world of 3 players"),
        (
            {"transpositions": True},
            "transpositions: got True, wanted False in a world of 3 players",
        ),
        (
            {"evaluation": "decisive", "value_range": (0.0, 1.0)},
            "evaluation: got .decisive., wanted another in a world of 3",
        ),
    ],
)
def test_what_is_for_one_player_or_two_is_refused(
    native: AddressSimulator, setting: Any, wanted: str
) -> None:
    with pytest.raises(ConfigError, match=wanted):
        Search(native, (0,), SearchConfig(**setting))


def refused(error: type[Exception], message: str, **members: Any) -> None:
    with pytest.raises(error, match=message):
        search(changed(**members), 0, SearchConfig(50, selection="ucb1"))


@pytest.mark.parametrize("players", [2.0, 0, 256, -3, True, "three", None])
def test_a_number_of_players_that_cannot_be_is_refused(players: object) -> None:
    with pytest.raises(SimulatorError, match=f"players: got {players!r}, wanted an integer from 1"):
        changed(players=players)


def test_two_players_may_be_said_to_be_two() -> None:
    class Two(Rivals):
        players = 2

    model = TabularModel([0, 2, 2], [0, 1, 2], [1, 1], [0.5, 1.0], terminal=[1, 1])
    assert search(PythonSimulator(Two(model)), 0, SearchConfig(9)).action == 1


def test_many_players_of_whom_none_is_said_to_move_are_refused() -> None:
    with pytest.raises(SimulatorError, match=r"without player\(\)"):
        changed(player=None)


def test_rewards_that_are_not_one_for_each_player_are_refused() -> None:
    def gives(reward: Any) -> Any:
        return lambda self, state, action: ManyPlayerStep(state + 1, reward)

    place = "reward of action 2 in state 0"  # the one with the largest prior
    wanted = "wanted 3 numbers, one for each player"
    refused(SimulatorError, f"{place}: got 1.0, {wanted}", step=gives(1.0))
    refused(SimulatorError, rf"{place}: got \(1.0, 2.0\), {wanted}", step=gives((1.0, 2.0)))
    refused(SimulatorError, rf"{place}: got \[\], {wanted}", step=gives([]))
    refused(SimulatorError, f"{place}: got 'b', wanted a number", step=gives((0.0, "b", 0.0)))
    refused(NonFiniteError, f"{place}: got nan", step=gives((0.0, 0.0, float("nan"))))


def test_values_that_are_not_one_for_each_player_are_refused() -> None:
    def gives(value: Any) -> Any:
        return lambda self, state: value

    for wrong in (1.0, (1.0, 2.0), None):
        refused(SimulatorError, "value of state .*wanted 3 numbers", evaluate=gives(wrong))
    refused(NonFiniteError, "value of state .*got inf", evaluate=gives((0.0, 0.0, 1e999)))


def test_a_player_who_is_none_of_them_is_refused() -> None:
    def says(player: Any, state: int) -> Any:
        return lambda self, at: player if at == state else 0

    for wrong in (3, -1, 1.0, None):
        message = f"player of state 0: got {wrong}, wanted an integer from 0 to 2"
        refused(SimulatorError, message, player=says(wrong, 0))
    refused(SimulatorError, "player of state 3: got 7", player=says(7, 3))


def test_after_an_error_the_search_goes_on_as_if_there_had_been_none() -> None:
    class Sometimes(RandomTree):
        broken = False

        def evaluate(self, state: int) -> tuple[float, ...]:
            return (0.0,) if self.broken else RandomTree.evaluate(self, state)

    world, config = Sometimes(), SearchConfig(400, selection="ucb1", evaluation="rollout")
    run = Search(PythonSimulator(world), 0, config)
    run.run(57)
    world.broken = True
    with pytest.raises(SimulatorError, match=r"got \(0.0,\), wanted 3"):
        run.run()
    world.broken = False
    assert_same(tree_of(run), tree_of(Search(PythonSimulator(RandomTree()), 0, config)))
