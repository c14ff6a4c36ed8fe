"""Enumerated worlds say what their simulators say, and dense matrices become the same arrays."""

import math
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcts_core import errors
from mcts_core.exact import backward_induction
from mcts_core.simulator import Outcome, SimulatedStep
from simulators.dense import Enumerated, from_dense, tabulate
from simulators.games import Nim, PGame, TicTacToe
from simulators.puzzles import Bandit, Chain, FrozenLake

Floats = npt.NDArray[np.float64]
WORLDS: dict[str, Any] = {
    "tic-tac-toe": TicTacToe(),
    "nim": Nim((2, 3, 1)),
    "P-game": PGame(3, 5, seed=1),
    "chain": Chain(6),
    "bandit": Bandit(),
    "slippery lake": FrozenLake(),
}
every_world = pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS.keys())


def solve(table: Enumerated[Any, Any], horizon: int, discount: float = 1.0) -> Floats:
    """[S] exact values within ``horizon`` steps, from the arrays alone."""
    choice_owner = np.repeat(np.arange(len(table.states)), np.diff(table.action_offsets))
    owner = np.repeat(choice_owner, np.diff(table.outcome_offsets))
    same = table.player[owner] == table.player[table.next_state]
    values = table.value
    for _ in range(horizon):
        ahead = np.where(table.terminal, table.value[table.next_state], values[table.next_state])
        worth = table.probability * (table.reward + discount * np.where(same, ahead, -ahead))
        best = np.full(len(values), -np.inf)
        np.maximum.at(best, choice_owner, np.add.reduceat(worth, table.outcome_offsets[:-1]))
        values = np.where(np.diff(table.action_offsets) > 0, best, table.value)
    return values


class Listed:
    """A world that is given as {state: {action: outcomes}}."""

    def __init__(
        self,
        choices: dict[Any, dict[Hashable, Sequence[Outcome[Any]]]],
        values: dict[Any, float] | None = None,
    ) -> None:
        self.choices, self.values = choices, values or {}
        self.asked: list[Any] = []

    def actions(self, state: Any) -> Sequence[Hashable]:
        self.asked.append(state)
        return list(self.choices.get(state, ()))

    def outcomes(self, state: Any, action: Hashable) -> Sequence[Outcome[Any]]:
        return self.choices[state][action]

    def evaluate(self, state: Any) -> float:
        return self.values.get(state, 0.0)


def sure(state: Any, reward: float = 0.0, terminal: bool = False) -> list[Outcome[Any]]:
    return [Outcome(1.0, SimulatedStep(state, reward, terminal))]


class TestTabulate:
    @every_world
    def test_the_arrays_repeat_what_the_simulator_says(self, world: Any) -> None:
        table = tabulate(world, world.initial())
        columns = (table.next_state, table.reward, table.probability, table.terminal)
        edges = zip(*columns, strict=True)
        ask = getattr(world, "outcomes", None)
        for number, (state, actions) in enumerate(zip(table.states, table.actions, strict=True)):
            first, last = table.action_offsets[number : number + 2]
            assert actions == tuple(world.actions(state))
            assert len(actions) == last - first
            assert table.value[number] == world.evaluate(state)
            assert table.player[number] == (world.player(state) if hasattr(world, "player") else 0)
            for choice, action in enumerate(actions, first):
                outcomes = ask(state, action) if ask else [Outcome(1.0, world.step(state, action))]
                begin, end = table.outcome_offsets[choice : choice + 2]
                assert end - begin == len(outcomes)
                for outcome in outcomes:
                    to, reward, probability, terminal = next(edges)
                    assert table.states[to] == outcome.step.state
                    assert (reward, probability) == (outcome.step.reward, outcome.probability)
                    assert bool(terminal) == outcome.step.terminal
        assert next(edges, None) is None

    @every_world
    def test_arrays_have_the_shapes_and_types_of_an_explicit_model(self, world: Any) -> None:
        table = tabulate(world, world.initial())
        size, choices, edges = len(table.states), table.action_offsets[-1], len(table.next_state)
        assert table.states[0] == world.initial()
        assert len(set(table.states)) == size == len(table.actions)
        assert table.outcome_offsets[-1] == edges
        shapes = {
            "action_offsets": ("int32", size + 1),
            "outcome_offsets": ("int32", choices + 1),
            "next_state": ("int32", edges),
            "reward": ("float64", edges),
            "probability": ("float64", edges),
            "terminal": ("uint8", edges),
            "value": ("float64", size),
            "player": ("int8", size),
        }
        for name, (kind, length) in shapes.items():
            array = getattr(table, name)
            assert (str(array.dtype), array.shape) == (kind, (length,))

    def test_all_5478_positions_of_tic_tac_toe_are_states_and_the_value_is_0(self) -> None:
        table = tabulate(TicTacToe(), TicTacToe().initial())
        assert len(table.states) == 5478
        assert solve(table, 9)[0] == 0.0

    @pytest.mark.parametrize("seed", range(5))
    def test_a_game_tree_has_the_same_value_as_arrays(self, seed: int) -> None:
        game = PGame(3, 5, seed)
        table = tabulate(game, game.initial())
        assert len(table.states) == (3**6 - 1) // 2
        assert solve(table, 5)[0] == game.solve()

    def test_nim_has_the_value_of_the_theorem_in_every_state(self) -> None:
        game = Nim((2, 3, 1))
        table = tabulate(game, game.initial())
        assert solve(table, 6).tolist() == [game.known_value(state) for state in table.states]

    def test_a_lake_has_the_same_value_as_arrays(self) -> None:
        table = tabulate(FrozenLake(), 0)
        assert solve(table, 100)[0] == pytest.approx(FrozenLake().solve(100), abs=1e-12)
        assert solve(table, 7, 0.9)[0] == pytest.approx(FrozenLake().solve(7, 0.9), abs=1e-12)

    def test_states_below_the_root_are_numbered_breadth_first(self) -> None:
        assert tabulate(Chain(6), 4).states == (4, 6, 5)
        game = PGame(2, 3)
        depths = [state.depth for state in tabulate(game, game.initial()).states]
        assert depths == [0, 1, 1, 2, 2, 2, 2, *[3] * 8]

    def test_a_world_that_has_ended_is_one_state_without_actions(self) -> None:
        table = tabulate(Chain(6), 6)
        assert (table.states, table.actions) == ((6,), ((),))
        assert table.action_offsets.tolist() == [0, 0]
        assert table.outcome_offsets.tolist() == [0]
        assert len(table.next_state) == 0

    def test_a_state_that_only_terminal_steps_reach_is_not_asked_for_actions(self) -> None:
        world = Listed({"a": {"end": sure("b", 1.0, True)}, "b": {"loop": sure("b")}}, {"b": 0.5})
        table = tabulate(world, "a")
        assert world.asked == ["a"]
        assert table.actions == (("end",), ())
        assert table.value.tolist() == [0.0, 0.5]

    def test_a_state_reached_by_a_terminal_step_first_and_another_later_gets_its_actions(
        self,
    ) -> None:
        world = Listed(
            {
                "a": {"end": sure("b", 1.0, True), "on": sure("c", 2.0)},
                "b": {"stay": sure("b", 3.0)},
                "c": {"back": sure("a", 4.0), "to b": sure("b", 5.0)},
            }
        )
        table = tabulate(world, "a")
        assert table.states == ("a", "b", "c")
        assert table.actions == (("end", "on"), ("stay",), ("back", "to b"))
        assert table.action_offsets.tolist() == [0, 2, 3, 5]
        assert table.reward.tolist() == [1.0, 2.0, 3.0, 4.0, 5.0]
        assert table.next_state.tolist() == [1, 2, 1, 0, 1]
        assert table.terminal.tolist() == [1, 0, 0, 0, 0]

    def test_a_world_as_large_as_the_limit_is_listed_and_a_larger_one_refused(self) -> None:
        assert len(tabulate(Chain(9), 0, limit=10).states) == 10
        with pytest.raises(errors.ModelTooLargeError, match="more than 9 states"):
            tabulate(Chain(9), 0, limit=9)

    @pytest.mark.parametrize("limit", [0, -1, 1.5, True])
    def test_a_limit_that_is_no_count_is_refused(self, limit: Any) -> None:
        with pytest.raises(errors.ConfigError, match="limit"):
            tabulate(Chain(2), 0, limit=limit)

    @pytest.mark.parametrize(
        "chances", [(), (0.5, 0.4), (0.5, 0.6), (1.0, 0.0), (1.5, -0.5), (math.nan,)], ids=str
    )
    def test_a_distribution_that_is_none_is_refused_with_its_place(
        self, chances: tuple[float, ...]
    ) -> None:
        world = Listed({"a": {"go": [Outcome(p, SimulatedStep("b")) for p in chances]}})
        with pytest.raises(errors.SimulatorError, match="action 'go' in state 'a'"):
            tabulate(world, "a")

    @pytest.mark.parametrize(
        ("reward", "value", "place"),
        [
            (math.nan, 0.0, "action 'go' in state 'a': reward nan"),
            (math.inf, 0.0, "action 'go' in state 'a': reward inf"),
            (0.0, math.nan, "evaluate of state 'b' is nan"),
        ],
    )
    def test_a_number_that_is_not_finite_is_refused_with_its_place(
        self, reward: float, value: float, place: str
    ) -> None:
        with pytest.raises(errors.NonFiniteError, match=place):
            tabulate(Listed({"a": {"go": sure("b", reward)}}, {"b": value}), "a")

    def test_an_action_that_is_offered_twice_is_refused(self) -> None:
        world: Any = Chain()
        world.actions = lambda state: ("stop", "stop")
        with pytest.raises(errors.SimulatorError, match="offered twice in state 0"):
            tabulate(world, 0)

    def test_a_third_player_is_refused(self) -> None:
        world: Any = Chain()
        world.player = lambda state: 2
        with pytest.raises(errors.SimulatorError, match="player of state 0 is 2"):
            tabulate(world, 0)

    def test_a_state_that_is_not_hashable_is_a_type_error(self) -> None:
        with pytest.raises(TypeError, match="unhashable"):
            tabulate(Listed({}), [1])

    def test_what_the_simulator_raises_passes_through(self) -> None:
        with pytest.raises(IndexError):
            tabulate(FrozenLake(), 99)


class TestModel:
    @every_world
    def test_the_compiled_model_has_the_value_of_the_arrays(self, world: Any) -> None:
        table = tabulate(world, world.initial())
        result = backward_induction(table.model(), 0, horizon=9, discount=0.9)
        assert result.value == pytest.approx(solve(table, 9, 0.9)[0], abs=1e-12)

    def test_the_compiled_model_names_the_actions(self) -> None:
        result = backward_induction(tabulate(Chain(4), 0).model(), 0, horizon=9)
        assert result.actions == ("stop", "go on")
        assert result.principal_variation == ("go on",) * 4


def random_world(seed: int, actions: int, size: int) -> tuple[Floats, Floats]:
    """[A, S, S] sparse random transitions, about one row in four not legal, and rewards."""
    rng = np.random.default_rng(seed)
    weights = rng.random((actions, size, size)) * (rng.random((actions, size, size)) < 0.5)
    weights *= rng.random((actions, size, 1)) < 0.75
    totals = weights.sum(axis=2, keepdims=True)
    rewards = rng.normal(size=(actions, size, size))
    return np.divide(weights, totals, out=np.zeros_like(weights), where=totals > 0), rewards


class TestFromDense:
    two_states = np.array([[[0.0, 1.0], [0.0, 0.0]], [[0.5, 0.5], [0.0, 1.0]]])

    @given(st.integers(0, 10**6), st.integers(1, 4), st.integers(1, 6))
    def test_the_arrays_have_the_values_of_the_matrices(
        self, seed: int, actions: int, size: int
    ) -> None:
        transitions, rewards = random_world(seed, actions, size)
        values = np.zeros(size)
        legal = np.count_nonzero(transitions, axis=2) > 0
        for _ in range(5):
            worth = (transitions * (rewards + 0.9 * values)).sum(axis=2)
            best = np.where(legal, worth, -np.inf).max(axis=0)
            values = np.where(legal.any(axis=0), best, 0.0)
        table = from_dense(transitions, rewards)
        if len(table.next_state):
            np.testing.assert_allclose(solve(table, 5, 0.9), values, atol=1e-12)
        for state, offered in enumerate(table.actions):
            assert list(offered) == np.flatnonzero(legal[:, state]).tolist()

    def test_a_row_of_zeros_is_an_action_that_is_not_legal(self) -> None:
        table = from_dense(self.two_states, np.zeros((2, 2)))
        assert table.actions == ((0, 1), (1,))
        assert table.action_offsets.tolist() == [0, 2, 3]
        assert table.outcome_offsets.tolist() == [0, 1, 3, 4]
        assert table.next_state.tolist() == [1, 0, 1, 1]
        assert table.probability.tolist() == [1.0, 0.5, 0.5, 1.0]

    def test_rewards_are_given_by_state_and_action_or_by_action_state_and_next_state(self) -> None:
        short = from_dense(self.two_states, [[1.0, 2.0], [3.0, 4.0]])
        full = from_dense(self.two_states, np.arange(8.0).reshape(2, 2, 2))
        assert short.reward.tolist() == [1.0, 2.0, 2.0, 4.0]
        assert full.reward.tolist() == [1.0, 4.0, 5.0, 7.0]

    def test_terminal_states_end_the_world_and_have_no_actions(self) -> None:
        ends: dict[str, Any] = {"terminal": [False, True], "value": [0.0, 0.5], "player": [0, 1]}
        table = from_dense(self.two_states, np.ones((2, 2)), **ends)
        assert table.actions == ((0, 1), ())
        assert table.terminal.tolist() == [1, 0, 1]
        assert (table.value.tolist(), table.player.tolist()) == ([0.0, 0.5], [0, 1])

    def test_the_matrices_given_are_not_kept(self) -> None:
        transitions, rewards, value = self.two_states.copy(), np.ones((2, 2)), np.zeros(2)
        table = from_dense(transitions, rewards, value=value)
        transitions[:], rewards[:], value[:] = 9.0, 9.0, 9.0
        assert table.probability.max() == table.reward.max() == 1.0
        assert table.value.max() == 0.0

    def test_rounding_below_1e_9_is_accepted(self) -> None:
        from_dense([[[1.0 + 9e-10]]], [[0.0]])

    @pytest.mark.parametrize(
        "row", [(0.5, 0.4), (1.5, -0.5), (0.5, -0.5), (0.5, math.nan), (math.inf, -math.inf)]
    )
    def test_a_row_that_is_no_distribution_is_refused_with_action_and_state(
        self, row: tuple[float, float]
    ) -> None:
        transitions = self.two_states.copy()
        transitions[1, 0] = row
        with pytest.raises(errors.ModelError, match="action 1 in state 0"):
            from_dense(transitions, np.zeros((2, 2)))

    def test_a_reward_that_is_not_finite_is_refused_only_where_it_is_used(self) -> None:
        rewards = np.zeros((2, 2, 2))
        rewards[0, 0, 0] = math.nan
        from_dense(self.two_states, rewards)
        rewards[1, 0, 1] = math.inf
        with pytest.raises(errors.ModelError, match="rewards: inf for action 1 in state 0"):
            from_dense(self.two_states, rewards)

    @pytest.mark.parametrize("shape", [(2, 2), (2, 2, 3), (0, 2, 2), (2, 0, 0), (1, 2, 2, 2)])
    def test_transitions_of_another_shape_are_refused(self, shape: tuple[int, ...]) -> None:
        with pytest.raises(errors.ModelError, match="transitions: shape"):
            from_dense(np.zeros(shape), np.zeros((2, 2)))

    @pytest.mark.parametrize("shape", [(2,), (3, 2), (2, 3), (2, 2, 3)])
    def test_rewards_of_another_shape_are_refused(self, shape: tuple[int, ...]) -> None:
        with pytest.raises(errors.ModelError, match=r"rewards: .* wanted \[2, 2, 2\] or \[2, 2\]"):
            from_dense(self.two_states, np.zeros(shape))

    @pytest.mark.parametrize(
        ("per_state", "place"),
        [
            ({"value": [0.0, math.nan]}, r"value\[1\]"),
            ({"player": [0, 2]}, r"player\[1\]"),
            ({"player": [0, 1, 0]}, "player: shape"),
            ({"terminal": [True]}, "terminal: shape"),
        ],
    )
    def test_an_entry_per_state_that_is_wrong_is_named(
        self, per_state: dict[str, Any], place: str
    ) -> None:
        with pytest.raises(errors.ModelError, match=place):
            from_dense(self.two_states, np.zeros((2, 2)), **per_state)
