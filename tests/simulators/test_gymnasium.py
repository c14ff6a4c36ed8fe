"""Gymnasium environments are searched as they are: by table, by state setting, by copies."""

import random
import re
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mcts_core import ConfigError, Search, SearchConfig, SimulatorError, search
from mcts_core.exact import backward_induction
from simulators import PythonSimulator
from simulators.dense import tabulate
from simulators.gymnasium import (
    SampledSimulator,
    SnapshotSimulator,
    TableSimulator,
    from_gymnasium,
    to_model,
)
from simulators.puzzles import LAKE_8X8, FrozenLake

gymnasium: Any = pytest.importorskip("gymnasium", reason="needs the extra gymnasium")
wrappers: Any = pytest.importorskip("gymnasium.wrappers", reason="needs the extra gymnasium")

Env = Any
TAXI = "Taxi-v4" if "Taxi-v4" in gymnasium.registry else "Taxi-v3"


def made(name: str, seed: int = 0, **options: Any) -> Env:
    """An environment in its first state."""
    env = gymnasium.make(name, **options)
    env.reset(seed=seed)
    return env


class Walk(gymnasium.Env):  # type: ignore[misc]
    """Counts to 5: action 1 steps and pays 1, action 0 stays; ``slips``: one more step or not."""

    action_space = gymnasium.spaces.Discrete(2)
    observation_space = gymnasium.spaces.Discrete(9)

    def __init__(self, slips: Callable[["Walk"], bool] = lambda env: False) -> None:
        self.place = 0
        self.slips = slips

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[int, dict[str, Any]]:
        super().reset(seed=seed)
        self.place = 0
        return 0, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        self.place += action + self.slips(self)
        return self.place, float(action), self.place >= 5, False, {}


class Locked(Walk):
    """Cannot be copied."""

    def __init__(self) -> None:
        super().__init__()
        self.lock = threading.Lock()


class Settable(Walk):
    """Cannot be copied either, but set to a state; copying it makes a fresh one."""

    def __deepcopy__(self, memo: Any) -> "Settable":
        return Settable()

    def clone_state(self, include_rng: bool = False) -> tuple[int, bool]:
        return self.place, include_rng

    def restore_state(self, state: tuple[int, bool]) -> None:
        self.place, rng_included = state
        assert rng_included


# --- transition tables ------------------------------------------------------------------------


def test_slippery_frozen_lake_has_the_value_of_our_own_and_of_value_iteration() -> None:
    env, ours = made("FrozenLake-v1"), FrozenLake()
    exact = backward_induction(to_model(env), int(env.unwrapped.s), horizon=100)
    assert exact.value == pytest.approx(0.74419, abs=1e-5)
    assert exact.value == pytest.approx(ours.solve(100), abs=1e-12)
    world = TableSimulator(env, time_limit=False)
    by_adapter = backward_induction(tabulate(world, world.snapshot()).model(), 0, horizon=100)
    assert by_adapter.value == pytest.approx(exact.value, abs=1e-12)


def test_the_time_limit_ends_the_world_by_itself() -> None:
    for name, expected in (
        ("FrozenLake-v1", FrozenLake().solve(100)),
        ("FrozenLake8x8-v1", FrozenLake(LAKE_8X8).solve(200)),
    ):
        world = TableSimulator(made(name))
        exact = backward_induction(tabulate(world, world.snapshot()).model(), 0, horizon=1000)
        assert exact.value == pytest.approx(expected, abs=1e-12)


def test_frozen_lake_by_adapter_grows_the_tree_of_our_own() -> None:
    world = from_gymnasium(made("FrozenLake-v1"), time_limit=False)
    config = SearchConfig(simulations=2000, max_depth=40, evaluation="rollout", seed=7)
    theirs = Search(PythonSimulator(world), world.snapshot(), config)
    ours = Search(PythonSimulator(FrozenLake()), FrozenLake().initial(), config)
    theirs.run()
    ours.run()
    assert theirs.tree().visits.tolist() == ours.tree().visits.tolist()
    assert theirs.tree().value == pytest.approx(ours.tree().value)


def test_a_search_begun_in_mid_episode_has_the_steps_left() -> None:
    env = made("FrozenLake-v1", is_slippery=False)
    for _ in range(97):
        env.step(0)
    world = TableSimulator(env)
    model = tabulate(world, world.snapshot()).model()
    assert world.snapshot().elapsed == 97
    assert (
        backward_induction(model, 0, horizon=50).value == 0.0
    )  # six steps to the goal, three left


def test_taxi_is_solved_by_its_table() -> None:
    env = made(TAXI, seed=3)
    world, before = from_gymnasium(env), env.unwrapped.s
    result = search(PythonSimulator(world), world.snapshot(), SearchConfig(simulations=300))
    assert isinstance(world, TableSimulator)
    assert (result.actions, env.unwrapped.s) == (tuple(range(6)), before)
    model, total, terminated = to_model(env), 0.0, False
    value = backward_induction(model, before, horizon=200).value
    while not terminated:
        best = backward_induction(model, int(env.unwrapped.s), horizon=200)
        _, reward, terminated, _, _ = env.step(best.action)
        total += reward
    assert total == value > 0


def test_a_table_that_the_environment_does_not_follow_is_not_used() -> None:
    env = made("FrozenLake-v1", is_slippery=False)
    env.unwrapped.step = lambda action: (5, 0.0, False, False, {})
    with pytest.raises(SimulatorError, match="does not follow P"):
        to_model(env)
    fickle = made(
        "Taxi-v4" if "Taxi-v4" in gymnasium.registry else "Taxi-v3", fickle_passenger=True
    )
    with pytest.raises(SimulatorError, match="fickle passenger"):
        TableSimulator(fickle)
    assert isinstance(from_gymnasium(fickle), SnapshotSimulator)
    with pytest.raises(SimulatorError, match="no transition table P"):
        to_model(made("CartPole-v1"))


def test_a_wrapper_that_changes_rewards_is_kept() -> None:
    env = wrappers.TransformReward(made("FrozenLake-v1", is_slippery=False), lambda r: r - 1.0)
    world = from_gymnasium(env)
    assert isinstance(world, SnapshotSimulator)
    assert world.step(world.snapshot(), 1).reward == -1.0


# --- copies -----------------------------------------------------------------------------------


def test_cart_pole_stands_longer_by_search_than_at_random() -> None:
    config, draw = SearchConfig(30, max_depth=12, evaluation="rollout"), random.Random(0)

    def steps(policy: Callable[[SnapshotSimulator], Any]) -> int:
        env = made("CartPole-v1", seed=1)
        world = SnapshotSimulator(env)
        return next((step for step in range(60) if env.step(policy(world))[2]), 60)

    searched = steps(lambda w: search(PythonSimulator(w), w.snapshot(), config).action)
    assert searched == 60 > steps(lambda w: draw.randrange(2))


def test_blackjack_by_sampled_futures_is_played_better_than_at_random() -> None:
    config = SearchConfig(80, max_depth=8, evaluation="rollout")

    def winnings(policy: Callable[[SampledSimulator], Any]) -> float:
        total = 0.0
        for hand in range(80):
            env, ended = made("Blackjack-v1", seed=hand), False
            world = from_gymnasium(env, samples=10)
            assert isinstance(world, SampledSimulator)
            while not ended:
                _, reward, ended, _, _ = env.step(policy(world))
                total += reward
        return total

    draw = random.Random(0)
    searched = winnings(lambda w: search(PythonSimulator(w), w.snapshot(), config).action)
    assert searched > winnings(lambda w: draw.randrange(2)) + 10


def test_a_search_foresees_what_the_environment_will_draw_only_if_told_to() -> None:
    foreseen = {None: 0, 0: 0}
    for seed in foreseen:
        for hand in range(30):
            env = made("Blackjack-v1", seed=hand)
            world = SnapshotSimulator(env, seed=seed, value=lambda observation: observation[0])
            after = world.step(world.snapshot(), 1).state
            foreseen[seed] += after.observation == env.step(1)[0]
    assert foreseen[None] == 30
    assert foreseen[0] < 15


def test_the_same_action_at_the_same_state_does_the_same() -> None:
    env = made("Blackjack-v1")
    world = SampledSimulator(env, 5, value=lambda observation: float(observation[0]))
    root = world.snapshot()
    first, again = ([o.step.state for o in world.outcomes(root, 1)] for _ in range(2))
    assert [s.observation for s in first] == [s.observation for s in again]
    assert len({s.observation for s in first}) > 1
    assert env.unwrapped.player == root.saved.player


def test_copies_and_table_give_the_same_search() -> None:
    env = made("FrozenLake-v1", is_slippery=False)
    config = SearchConfig(simulations=300, max_depth=12, evaluation="rollout", seed=3)
    copied, table = SnapshotSimulator(env), TableSimulator(env)
    by_copies = search(PythonSimulator(copied), copied.snapshot(), config)
    by_table = search(PythonSimulator(table), table.snapshot(), config)
    assert by_copies.visits.tolist() == by_table.visits.tolist()
    assert by_copies.values.tolist() == by_table.values.tolist()


def test_being_cut_off_is_terminal_and_keeps_its_value_but_the_end_is_worth_nothing() -> None:
    env = wrappers.TimeLimit(Walk(), 2)
    world = SnapshotSimulator(env, value=lambda observation: 10.0 + observation)
    second = world.step(world.step(world.snapshot(), 1).state, 1)
    assert (second.terminal, second.state.ended) == (True, False)
    assert world.evaluate(second.state) == 12.0
    unlimited = SnapshotSimulator(env, time_limit=False, value=lambda observation: 10.0)
    state = unlimited.snapshot()
    for _ in range(5):
        last = unlimited.step(state, 1)
        state = last.state
    assert (last.terminal, state.ended, unlimited.evaluate(state)) == (True, True, 0.0)
    assert unlimited.actions(state) == ()


def test_only_the_actions_that_the_mask_admits_are_offered() -> None:
    class Masked(Walk):
        def step(self, action: int) -> Any:
            return *super().step(action)[:4], {"action_mask": np.array([0, 1], np.int8)}

    world = SnapshotSimulator(Masked())
    root = world.snapshot({"action_mask": np.array([1, 0], np.int8)})
    assert world.actions(root) == (0,)
    assert world.actions(world.step(root, 0).state) == (1,)
    assert world.actions(world.snapshot()) == (0, 1)


def test_actions_are_numbered_as_the_space_numbers_them() -> None:
    env = Walk()
    env.action_space = gymnasium.spaces.Discrete(2, start=3)
    assert SnapshotSimulator(env).snapshot().actions == (3, 4)


def test_a_discretised_action_space_is_searched() -> None:
    env = wrappers.DiscretizeAction(made("Pendulum-v1"), bins=5)
    world = from_gymnasium(env)
    result = search(PythonSimulator(world), world.snapshot(), SearchConfig(50, max_depth=5))
    assert result.actions == (0, 1, 2, 3, 4)


# --- state setting, and what cannot be searched -----------------------------------------------


def test_an_environment_with_state_setting_is_set_and_not_stepped() -> None:
    env = Settable()
    env.step(1)
    world = from_gymnasium(env)
    assert isinstance(world, SnapshotSimulator)
    assert world.snapshot().saved == (1, True)
    result = search(PythonSimulator(world), world.snapshot(), SearchConfig(200, max_depth=6))
    assert result.action == 1
    assert result.value == pytest.approx(4.0, abs=0.5)
    assert env.place == 1


def test_state_setting_that_forgets_something_gives_way_to_copies() -> None:
    class Forgetful(Walk):
        def get_state(self) -> None:
            return None

        def set_state(self, state: None) -> None:
            pass

    assert isinstance(SnapshotSimulator(Forgetful()).snapshot().saved, Forgetful)


def test_an_environment_that_cannot_be_copied_is_refused_with_what_was_tried_and_what_helps() -> (
    None
):
    with pytest.raises(SimulatorError) as caught:
        from_gymnasium(Locked())
    message = str(caught.value)
    assert "Locked" in message
    assert "copy.deepcopy: TypeError: \"cannot pickle '_thread.lock' object\"" in message
    assert "methods clone_state() and restore_state(state)" in message
    assert "\n" not in message


def test_copies_that_do_not_go_the_way_of_the_original_are_refused() -> None:
    class Fresh(Walk):  # as gymnasium.utils.EzPickle does it
        def __deepcopy__(self, memo: Any) -> "Fresh":
            return Fresh()

    outside = random.Random(0)
    sharing = Walk(lambda env: outside.random() < 0.5)  # all copies draw from one generator
    for env in (Fresh(), sharing):
        with pytest.raises(SimulatorError, match=r"copies disagree after \d steps with the same"):
            from_gymnasium(env)


def test_action_spaces_other_than_discrete_are_refused_by_name() -> None:
    env = Walk()
    for space in (gymnasium.spaces.Box(-1.0, 1.0, (2,)), gymnasium.spaces.MultiBinary(3)):
        env.action_space = space
        named = re.escape(f"got {space}, wanted Discrete")
        with pytest.raises(SimulatorError, match=f"action space of .*: {named}"):
            from_gymnasium(env)


def test_what_is_no_environment_is_refused() -> None:
    with pytest.raises(SimulatorError, match=r"got 'CartPole-v1', wanted a gymnasium\.Env"):
        from_gymnasium("CartPole-v1")
    with pytest.raises(ConfigError, match="samples: got 0"):
        from_gymnasium(made("CartPole-v1"), samples=0)


def test_an_episode_that_has_not_begun_is_refused() -> None:
    for name in ("FrozenLake-v1", "CartPole-v1"):
        with pytest.raises(SimulatorError, match=r"wanted reset\(\) before"):
            from_gymnasium(gymnasium.make(name)).snapshot()


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    env = made("CartPole-v1")
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    with pytest.raises(ImportError, match=r"pip install 'harness-router\[gymnasium\]'"):
        from_gymnasium(env)
    with pytest.raises(ImportError, match="gymnasium: not installed"):
        to_model(env)
