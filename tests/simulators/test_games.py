"""The two-player games keep their rules, and have the values that are known of them."""

from collections import Counter
from collections.abc import Hashable
from functools import cache
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcts_core.errors import ConfigError
from simulators.games import ConnectFour, Nim, NimState, PGame, Stones, TicTacToe, negamax

GAMES: dict[str, Any] = {
    "tic-tac-toe": TicTacToe(),
    "connect four": ConnectFour(),
    "nim": Nim((3, 0, 5)),
    "P-game": PGame(branching=3, depth=7, seed=5),
}
every_game = pytest.mark.parametrize("game", GAMES.values(), ids=GAMES.keys())
choices = st.lists(st.integers(0, 10**6), max_size=50)


def playout(game: Any, picks: list[int]) -> list[tuple[Hashable, Hashable, Any]]:
    """(state, action, step) along a game: each pick chooses among the legal actions."""
    state, played = game.initial(), []
    for pick in picks:
        actions = game.actions(state)
        if not actions:
            break
        step = game.step(state, actions[pick % len(actions)])
        played.append((state, actions[pick % len(actions)], step))
        state = step.state
    return played


def after(game: Any, *actions: Hashable) -> Any:
    """The last step of a game that is given by its actions."""
    state, step = game.initial(), None
    for action in actions:
        step = game.step(state, action)
        state = step.state
    return step


class TestEveryGame:
    @every_game
    @given(picks=choices)
    def test_players_alternate_from_player_0(self, game: Any, picks: list[int]) -> None:
        assert game.player(game.initial()) == 0
        for state, _, step in playout(game, picks):
            assert game.player(step.state) == 1 - game.player(state)

    @every_game
    @given(picks=choices)
    def test_the_same_question_has_the_same_answer(self, game: Any, picks: list[int]) -> None:
        played = playout(game, picks)
        assert playout(game, picks) == played
        for state, action, step in played:
            assert game.step(state, action) == step

    @every_game
    @given(picks=choices)
    def test_a_game_goes_on_exactly_as_long_as_there_are_actions(
        self, game: Any, picks: list[int]
    ) -> None:
        for _, _, step in playout(game, picks):
            assert step.terminal == (not game.actions(step.state))
            assert step.terminal or step.reward == 0.0

    @every_game
    @given(picks=choices)
    def test_actions_are_distinct_and_states_hashable(self, game: Any, picks: list[int]) -> None:
        for state, _, step in playout(game, picks):
            assert len(set(game.actions(state))) == len(game.actions(state))
            assert isinstance(hash(step.state), int)

    @every_game
    @given(picks=choices)
    def test_evaluate_adds_nothing_to_what_the_last_step_paid(
        self, game: Any, picks: list[int]
    ) -> None:
        assert all(game.evaluate(step.state) == 0.0 for _, _, step in playout(game, picks))

    @every_game
    def test_no_action_is_taken_once_the_game_has_ended(self, game: Any) -> None:
        *_, (_, action, step) = playout(game, [0] * 50)
        assert step.terminal
        with pytest.raises(ValueError, match=r"free|room|take|move"):
            game.step(step.state, action)


class TestTicTacToe:
    game = TicTacToe()

    def reachable(self) -> set[Stones]:
        seen, front = {self.game.initial()}, [self.game.initial()]
        while front:
            state = front.pop()
            for action in self.game.actions(state):
                new = self.game.step(state, action).state
                if new not in seen:
                    seen.add(new)
                    front.append(new)
        return seen

    def test_the_empty_board_is_a_draw(self) -> None:
        assert self.game.solve() == 0.0

    def test_all_5478_positions_are_reached(self) -> None:
        assert len(self.reachable()) == 5478

    def test_all_255168_games_are_played(self) -> None:
        @cache
        def games(state: Stones) -> int:
            steps = [self.game.step(state, action) for action in self.game.actions(state)]
            return sum(1 if step.terminal else games(step.state) for step in steps)

        assert games(self.game.initial()) == 255_168

    def test_a_corner_must_be_answered_in_the_middle(self) -> None:
        answers = [self.game.solve(after(self.game, 0, answer).state) for answer in range(1, 9)]
        assert answers == [1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0, 1.0]

    @pytest.mark.parametrize("first", range(9))
    def test_every_first_move_draws(self, first: int) -> None:
        assert self.game.solve(after(self.game, first).state) == 0.0

    @pytest.mark.parametrize(
        "line",
        [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)],
        ids=str,
    )
    def test_three_in_a_row_pays_the_mover(self, line: tuple[int, int, int]) -> None:
        spare = [square for square in range(9) if square not in line]
        step = after(self.game, line[0], spare[0], line[1], spare[1], line[2])
        assert (step.reward, step.terminal) == (1.0, True)

    def test_the_second_player_is_paid_for_its_own_row(self) -> None:
        step = after(self.game, 0, 3, 1, 4, 8, 5)
        assert (step.reward, step.terminal) == (1.0, True)

    def test_the_last_stone_wins_if_it_completes_a_row(self) -> None:
        step = after(self.game, 0, 1, 2, 3, 4, 5, 7, 6, 8)
        assert (step.reward, step.terminal) == (1.0, True)

    def test_a_full_board_without_a_row_pays_nobody(self) -> None:
        step = after(self.game, 0, 4, 8, 1, 7, 6, 2, 5, 3)
        assert (step.reward, step.terminal) == (0.0, True)

    def test_a_taken_square_is_refused(self) -> None:
        with pytest.raises(ValueError, match="square 4 is not free"):
            after(self.game, 4, 4)


def connect_four_lines() -> list[tuple[tuple[int, int], ...]]:
    """All 69 lines of four (column, height), found by walking over the board."""
    lines = []
    for column, height, (right, up) in product(
        range(7), range(6), ((0, 1), (1, 0), (1, 1), (1, -1))
    ):
        cells = tuple((column + i * right, height + i * up) for i in range(4))
        if all(0 <= c < 7 and 0 <= h < 6 for c, h in cells):
            lines.append(cells)
    return lines


def as_bits(cells: Any) -> int:
    return sum(1 << 7 * column + height for column, height in cells)


class TestConnectFour:
    game = ConnectFour()

    def test_each_of_the_69_lines_wins(self) -> None:
        lines = connect_four_lines()
        assert len(lines) == 69
        assert all(self.game.line(as_bits(line)) for line in lines)

    def test_three_of_a_line_do_not_win(self) -> None:
        for line in connect_four_lines():
            for missing in range(4):
                assert not self.game.line(as_bits(line[:missing] + line[missing + 1 :]))

    @given(st.sets(st.tuples(st.integers(0, 6), st.integers(0, 5)), max_size=30))
    def test_a_line_is_seen_exactly_if_four_stones_stand_in_one(
        self, cells: set[tuple[int, int]]
    ) -> None:
        expected = any(set(line) <= cells for line in connect_four_lines())
        assert self.game.line(as_bits(cells)) == expected

    @pytest.mark.parametrize(
        "cells",
        [
            pytest.param([(0, 4), (0, 5), (1, 0), (1, 1)], id="up over the top"),
            pytest.param([(0, 3), (0, 4), (0, 5), (1, 0)], id="three at the top and one beside"),
            pytest.param([(4, 2), (5, 2), (6, 2), (0, 3)], id="right over the edge"),
            pytest.param([(3, 3), (4, 4), (5, 5), (6, 0)], id="diagonal up over the top"),
            pytest.param([(1, 2), (2, 1), (3, 0), (4, 5)], id="diagonal down over the bottom"),
            pytest.param([(4, 3), (5, 4), (6, 5), (0, 0)], id="diagonal over the corner"),
        ],
    )
    def test_a_line_does_not_wrap_around(self, cells: list[tuple[int, int]]) -> None:
        assert not self.game.line(as_bits(cells))

    @pytest.mark.parametrize(
        "columns",
        [
            pytest.param((0, 1, 0, 1, 0, 1, 0), id="up at the left edge"),
            pytest.param((6, 5, 6, 5, 6, 5, 6), id="up at the right edge"),
            pytest.param((0, 0, 1, 1, 2, 2, 3), id="across from the left edge"),
            pytest.param((3, 3, 4, 4, 5, 5, 6), id="across to the right edge"),
            pytest.param((0, 1, 1, 2, 2, 3, 2, 3, 3, 6, 3), id="rising diagonal"),
            pytest.param((6, 5, 5, 4, 4, 3, 4, 3, 3, 0, 3), id="falling diagonal"),
            pytest.param((6, 0, 6, 0, 5, 0, 5, 0), id="of the second player"),
        ],
    )
    def test_the_fourth_stone_in_a_row_pays_the_mover(self, columns: tuple[int, ...]) -> None:
        assert (after(self.game, *columns).reward, after(self.game, *columns).terminal) == (1, True)
        assert not after(self.game, *columns[:-1]).terminal

    def test_a_full_column_is_not_offered_and_is_refused(self) -> None:
        full = after(self.game, *[2] * 6).state
        assert self.game.actions(full) == (0, 1, 3, 4, 5, 6)
        with pytest.raises(ValueError, match="column 2 has no room"):
            self.game.step(full, 2)

    @pytest.mark.parametrize("column", [-1, 7])
    def test_a_column_beside_the_board_is_refused(self, column: int) -> None:
        with pytest.raises(ValueError, match="no room"):
            self.game.step(self.game.initial(), column)

    def test_stones_fall_on_what_lies_in_their_column_only(self) -> None:
        state = after(self.game, 3, 3, 0, 6, 3).state
        assert state == (as_bits([(3, 0), (0, 0), (3, 2)]), as_bits([(3, 1), (6, 0)]))

    def test_a_full_board_without_a_line_pays_nobody(self) -> None:
        columns = "010110102323323245455454010123234545666666"
        step = after(self.game, *map(int, columns))
        assert (step.reward, step.terminal) == (0.0, True)

    def test_the_number_of_positions_per_ply_is_the_known_one(self) -> None:
        level, counts = {self.game.initial()}, [1]
        for _ in range(5):
            level = {self.game.step(s, a).state for s in level for a in self.game.actions(s)}
            counts.append(len(level))
        assert counts == [1, 7, 49, 238, 1120, 4263]

    def test_an_open_three_wins_against_every_answer(self) -> None:
        state = after(self.game, 2, 2, 3, 3, 4).state
        for answer in self.game.actions(state):
            replied = self.game.step(state, answer).state
            assert 1.0 in [self.game.step(replied, a).reward for a in self.game.actions(replied)]


class TestNim:
    def test_search_agrees_with_the_xor_of_all_small_heaps(self) -> None:
        memo: dict[NimState, float] = {}
        for heaps in product(range(6), repeat=3):
            game = Nim(heaps)
            assert negamax(game, game.initial(), memo) == game.known_value(game.initial())

    def test_the_winning_moves_are_those_that_leave_an_xor_of_0(self) -> None:
        game = Nim((3, 4, 5))
        memo: dict[NimState, float] = {}
        won = {
            action
            for action in game.actions(game.initial())
            if negamax(game, game.step(game.initial(), action).state, memo) == -1.0
        }
        assert won == {(0, 2)}

    def test_a_single_heap_is_won_by_taking_all_of_it(self) -> None:
        step = Nim((7,)).step(NimState(1, (7,)), (0, 7))
        assert (step.state, step.reward, step.terminal) == (NimState(0, (0,)), 1.0, True)

    def test_taking_part_of_a_heap_leaves_the_other_heaps_alone(self) -> None:
        step = Nim((1, 5, 2)).step(NimState(0, (1, 5, 2)), (1, 3))
        assert (step.state, step.reward) == (NimState(1, (1, 2, 2)), 0.0)

    @pytest.mark.parametrize("action", [(0, 2), (0, 0), (0, -1), (2, 1), (-1, 1)])
    def test_more_than_a_heap_holds_or_nothing_is_refused(self, action: tuple[int, int]) -> None:
        with pytest.raises(ValueError, match="cannot take"):
            Nim((1, 5)).step(NimState(0, (1, 5)), action)

    @pytest.mark.parametrize("heaps", [(), (-1,), (2, 1.5), (True,)])
    def test_heaps_that_are_not_counts_are_refused_by_name(self, heaps: Any) -> None:
        with pytest.raises(ConfigError, match="heaps"):
            Nim(heaps)

    def test_nothing_is_won_where_nothing_is_left(self) -> None:
        game = Nim((0, 0))
        assert (game.solve(), game.known_value(game.initial())) == (0.0, 0.0)


class TestPGame:
    @pytest.mark.parametrize("seed", range(20))
    @pytest.mark.parametrize(("branching", "depth"), [(1, 4), (2, 7), (3, 5), (5, 3), (4, 1)])
    def test_alpha_beta_finds_the_value_of_a_full_search(
        self, branching: int, depth: int, seed: int
    ) -> None:
        game = PGame(branching, depth, seed)
        assert game.solve() == negamax(game, game.initial())

    def test_over_many_seeds_either_player_wins_some_trees(self) -> None:
        values = Counter(PGame(2, 8, seed).solve() for seed in range(60))
        assert values[1] > 5
        assert values[-1] > 5

    def test_moves_of_max_add_and_moves_of_min_subtract_at_most_127(self) -> None:
        game = PGame(branching=200, depth=2, seed=3)
        ups = [game.step(game.initial(), a).state for a in range(200)]
        downs = [game.step(ups[0], a).state.total - ups[0].total for a in range(200)]
        assert min(up.total for up in ups) >= 0
        assert 120 < max(up.total for up in ups) <= 127
        assert -127 <= min(downs) < -120
        assert max(downs) <= 0

    def test_the_last_mover_is_paid_by_the_sign_of_the_sum(self) -> None:
        for depth, seed, action in product((2, 3), range(30), (0, 1)):
            game = PGame(2, depth, seed)
            step = after(game, *[action] * depth)
            sign = (step.state.total > 0) - (step.state.total < 0)
            assert step.reward == (sign if depth % 2 else -sign)

    def test_the_seed_decides_the_tree(self) -> None:
        def totals(seed: int) -> list[int]:
            games = product((0, 1), repeat=6)
            return [after(PGame(2, 6, seed), *moves).state.total for moves in games]

        assert totals(7) == totals(7) != totals(8)

    def test_a_tree_far_too_large_to_store_can_be_played(self) -> None:
        game = PGame(branching=20, depth=40, seed=1)
        assert after(game, *[19] * 40).terminal

    @pytest.mark.parametrize(
        ("settings", "name"), [((0, 1, 0), "branching"), ((1, 0, 0), "depth"), ((1, 1, -1), "seed")]
    )
    def test_a_setting_out_of_range_is_named(
        self, settings: tuple[int, int, int], name: str
    ) -> None:
        with pytest.raises(ConfigError, match=name):
            PGame(*settings)
