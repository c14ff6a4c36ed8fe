"""The one-player worlds keep their rules, and have the values that are known of them."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcts_core.errors import ConfigError
from mcts_core.simulator import Outcome, SimulatedStep
from simulators.puzzles import LAKE_4X4, LAKE_8X8, Bandit, Chain, FrozenLake

LEFT, DOWN, RIGHT, UP = range(4)
CHANCE: dict[str, tuple[Any, int]] = {
    "bandit": (Bandit((0.1, 0.9), 0.25), 2),
    "certain bandit": (Bandit((0.1, 0.9), 0.0), 2),
    "slippery 4x4": (FrozenLake(), 16),
    "slippery 8x8": (FrozenLake(LAKE_8X8), 64),
    "firm 4x4": (FrozenLake(slippery=False), 16),
}
every_chance = pytest.mark.parametrize(("world", "size"), CHANCE.values(), ids=CHANCE.keys())
rewards = st.floats(-10, 10)


class TestChain:
    def by_backward_induction(self, chain: Chain, discount: float) -> float:
        value = 0.0
        for link in reversed(range(chain.length)):
            steps = [chain.step(link, action) for action in chain.actions(link)]
            value = max(s.reward + discount * (0.0 if s.terminal else value) for s in steps)
        return value

    @given(st.integers(1, 12), rewards, rewards, st.floats(0, 1))
    def test_the_closed_form_is_the_value(
        self, length: int, early: float, final: float, discount: float
    ) -> None:
        chain = Chain(length, early, final)
        expected = self.by_backward_induction(chain, discount)
        assert chain.known_value(0, discount) == pytest.approx(expected, abs=1e-12)

    def test_going_on_to_the_end_pays_the_final_reward_once(self) -> None:
        steps = [Chain(4, 0.3, 1.0).step(link, "go on") for link in range(4)]
        assert [step.state for step in steps] == [1, 2, 3, 4]
        assert [step.reward for step in steps] == [0.0, 0.0, 0.0, 1.0]
        assert [step.terminal for step in steps] == [False, False, False, True]

    @pytest.mark.parametrize("link", range(4))
    def test_stopping_pays_the_early_reward_at_every_link(self, link: int) -> None:
        assert Chain(4, 0.3, 1.0).step(link, "stop") == SimulatedStep(4, 0.3, True)

    def test_impatience_makes_stopping_best(self) -> None:
        chain = Chain(10, 0.3, 1.0)
        assert chain.known_value(0, 1.0) == 1.0
        assert chain.known_value(0, 0.5) == 0.3
        assert chain.known_value(9, 0.5) == 1.0

    def test_the_end_offers_nothing_and_is_worth_nothing(self) -> None:
        chain = Chain(2)
        assert (chain.actions(2), chain.evaluate(2), chain.known_value(2)) == ((), 0.0, 0.0)
        with pytest.raises(ValueError, match="no action 'stop' at link 2"):
            chain.step(2, "stop")

    def test_an_unknown_action_is_refused(self) -> None:
        with pytest.raises(ValueError, match="no action 'wait'"):
            Chain(2).step(0, "wait")  # type: ignore[arg-type]

    @pytest.mark.parametrize(
        ("settings", "name"),
        [((0,), "length"), ((2, math.nan), "early_reward"), ((2, 0.1, math.inf), "final_reward")],
    )
    def test_a_setting_out_of_range_is_named(self, settings: Any, name: str) -> None:
        with pytest.raises(ConfigError, match=name):
            Chain(*settings)


class TestBandit:
    @given(st.lists(rewards, min_size=1, max_size=6), st.floats(0, 5))
    def test_the_best_arm_has_the_greatest_expectation(
        self, means: list[float], spread: float
    ) -> None:
        bandit = Bandit(means, spread)
        expected = [
            sum(o.probability * o.step.reward for o in bandit.outcomes(0, arm))
            for arm in bandit.actions(0)
        ]
        assert expected == pytest.approx(means, abs=1e-9)
        assert expected[bandit.best_arm()] == pytest.approx(bandit.known_value(), abs=1e-9)

    def test_an_arm_pays_its_mean_plus_or_minus_the_spread(self) -> None:
        low, high = Bandit((1.0, 2.0), 0.5).outcomes(0, 1)
        assert low == Outcome(0.5, SimulatedStep(1, 1.5, True))
        assert high == Outcome(0.5, SimulatedStep(1, 2.5, True))

    def test_without_spread_a_reward_is_certain(self) -> None:
        assert Bandit((1.0,), 0.0).outcomes(0, 0) == (Outcome(1.0, SimulatedStep(1, 1.0, True)),)

    def test_there_is_one_pull_only(self) -> None:
        bandit = Bandit()
        assert bandit.actions(1) == ()
        with pytest.raises(ValueError, match="no arm 0 in state 1"):
            bandit.outcomes(1, 0)

    @pytest.mark.parametrize(
        ("settings", "name"),
        [(((),), "means"), (((math.nan,),), "means"), (((1.0,), -1), "spread")],
    )
    def test_a_setting_out_of_range_is_named(self, settings: Any, name: str) -> None:
        with pytest.raises(ConfigError, match=name):
            Bandit(*settings)


class TestFrozenLake:
    def test_the_small_lake_is_crossed_within_100_steps_with_chance_0_74419(self) -> None:
        assert FrozenLake().solve(100) == pytest.approx(0.74419, abs=5e-6)

    def test_the_small_lake_is_crossed_in_the_end_with_chance_14_of_17(self) -> None:
        assert FrozenLake().solve(3000) == pytest.approx(14 / 17, abs=1e-9)

    def test_the_large_lake_is_crossed_within_200_steps_with_chance_0_91322(self) -> None:
        assert FrozenLake(LAKE_8X8).solve(200) == pytest.approx(0.91322, abs=5e-6)

    @pytest.mark.parametrize(("lake", "steps"), [(LAKE_4X4, 6), (LAKE_8X8, 14)], ids=["4x4", "8x8"])
    def test_firm_ice_is_crossed_in_as_many_steps_as_the_way_is_long(
        self, lake: tuple[str, ...], steps: int
    ) -> None:
        firm = FrozenLake(lake, slippery=False)
        assert (firm.solve(steps - 1), firm.solve(steps)) == (0.0, 1.0)

    def test_discount_counts_each_step_before_the_last(self) -> None:
        assert FrozenLake(slippery=False).solve(10, discount=0.9) == pytest.approx(0.9**5)

    def test_a_step_slips_to_either_side_but_never_back(self) -> None:
        reached = {o.step.state: o.probability for o in FrozenLake().outcomes(9, RIGHT)}
        assert reached == pytest.approx({5: 1 / 3, 10: 1 / 3, 13: 1 / 3})

    def test_at_the_border_the_steps_that_stay_are_one_outcome(self) -> None:
        reached = {o.step.state: o.probability for o in FrozenLake().outcomes(0, LEFT)}
        assert reached == pytest.approx({0: 2 / 3, 4: 1 / 3})

    def test_rows_do_not_run_into_each_other(self) -> None:
        firm = FrozenLake(slippery=False)
        assert firm.outcomes(3, RIGHT)[0].step.state == 3
        assert firm.outcomes(4, LEFT)[0].step.state == 4

    def test_only_the_goal_pays_and_holes_and_goal_end_the_walk(self) -> None:
        firm = FrozenLake(slippery=False)
        assert firm.outcomes(14, RIGHT) == (Outcome(1.0, SimulatedStep(15, 1.0, True)),)
        assert firm.outcomes(4, RIGHT) == (Outcome(1.0, SimulatedStep(5, 0.0, True)),)
        assert firm.outcomes(0, DOWN) == (Outcome(1.0, SimulatedStep(4, 0.0, False)),)
        assert (firm.actions(5), firm.actions(15)) == ((), ())

    def test_a_step_out_of_a_hole_is_refused(self) -> None:
        with pytest.raises(ValueError, match="no action 3 in cell 5"):
            FrozenLake().outcomes(5, UP)

    @pytest.mark.parametrize(
        "rows", [(), ("SF", "G"), ("SX",), ("FG",), ("SS", "FG"), ("",)], ids=str
    )
    def test_a_map_that_is_not_a_lake_is_refused(self, rows: tuple[str, ...]) -> None:
        with pytest.raises(ConfigError, match="rows"):
            FrozenLake(rows)


class TestEveryWorldWithChance:
    @every_chance
    def test_probabilities_are_positive_and_sum_to_1(self, world: Any, size: int) -> None:
        for state in range(size):
            for action in world.actions(state):
                chances = [o.probability for o in world.outcomes(state, action)]
                assert min(chances) > 0.0
                assert math.fsum(chances) == pytest.approx(1.0, abs=1e-12)

    @every_chance
    def test_outcomes_are_distinct_and_the_same_when_asked_again(
        self, world: Any, size: int
    ) -> None:
        for state in range(size):
            for action in world.actions(state):
                outcomes = world.outcomes(state, action)
                assert world.outcomes(state, action) == outcomes
                assert len({o.step for o in outcomes}) == len(outcomes)

    @every_chance
    def test_terminal_steps_lead_exactly_to_where_nothing_is_offered(
        self, world: Any, size: int
    ) -> None:
        for state in range(size):
            assert world.evaluate(state) == 0.0
            for action in world.actions(state):
                for outcome in world.outcomes(state, action):
                    assert outcome.step.terminal == (not world.actions(outcome.step.state))
