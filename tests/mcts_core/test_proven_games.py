"""Games with a theory: the search proves every small position and plays as the theory says."""

from itertools import combinations_with_replacement

import pytest

from mcts_core import SearchConfig, search
from mcts_core.exact import backward_induction
from simulators.dense import tabulate
from simulators.games import Nim, TicTacToe
from simulators.kayles import Kayles, KaylesState, grundy

# n = 0 to 23 (Winning Ways, chapter 4).
KAYLES = [0, 1, 2, 3, 1, 4, 3, 2, 1, 4, 2, 6, 4, 1, 2, 7, 1, 4, 3, 2, 1, 4, 6, 7]


def config(simulations: int) -> SearchConfig:
    return SearchConfig(
        simulations=simulations,
        solver=True,
        value_range=(-1.0, 1.0),
        selection="ucb1",
        evaluation="rollout",
    )


def partitions(pins: int) -> list[tuple[int, ...]]:
    """All sets of rows with so many pins together."""
    return [
        rows
        for count in range(1, pins + 1)
        for rows in combinations_with_replacement(range(1, pins + 1), count)
        if sum(rows) == pins
    ]


@pytest.mark.parametrize(
    "heaps", [h for n in (1, 2, 3) for h in combinations_with_replacement(range(1, 6), n)], ids=str
)
def test_every_small_nim_is_proven_and_won_by_a_move_to_xor_0(heaps: tuple[int, ...]) -> None:
    game = Nim(heaps)
    known = game.known_value(game.initial())
    result = search(tabulate(game, game.initial()).model(), 0, config(1_000_000))
    assert (result.proven, result.value) == (True, known)
    if known > 0:
        after = game.step(game.initial(), result.action).state  # type: ignore[arg-type]
        assert game.known_value(after) <= 0


@pytest.mark.parametrize("pins", range(1, 11))
def test_every_small_kayles_is_proven_and_won_by_a_move_to_xor_0(pins: int) -> None:
    for rows in partitions(pins):
        game = Kayles(rows)
        known = game.known_value(game.initial())
        result = search(tabulate(game, game.initial()).model(), 0, config(1_000_000))
        assert (rows, result.proven, result.value) == (rows, True, known)
        if known > 0:
            after = game.step(game.initial(), result.action).state  # type: ignore[arg-type]
            assert game.known_value(after) <= 0


def test_the_grundy_values_of_kayles_are_the_known_ones_and_become_periodic() -> None:
    assert [grundy(n) for n in range(24)] == KAYLES
    assert [grundy(n) for n in range(71, 200)] == [grundy(n + 12) for n in range(71, 200)]
    assert grundy(70) != grundy(82)


def test_a_row_of_kayles_may_be_split_in_two() -> None:
    game = Kayles((5,))
    reached = {game.step(game.initial(), move).state.rows for move in game.actions(game.initial())}
    assert reached == {(4,), (1, 3), (2, 2), (3,), (1, 2)}
    last = game.step(KaylesState(1, (2,)), game.actions(KaylesState(1, (2,)))[-1])
    assert (last.state, last.reward, last.terminal) == (KaylesState(0, ()), 1.0, True)


def test_in_every_position_of_tic_tac_toe_1000_simulations_keep_the_value() -> None:
    table = tabulate(TicTacToe(), TicTacToe().initial())
    model = table.model()
    wrong = []
    for state, position in enumerate(table.states):
        if table.actions[state]:
            exact = backward_induction(model, state, horizon=9)
            result = search(model, state, config(1000))
            chosen = exact.values[exact.actions.index(result.action)]
            if chosen < exact.value:
                wrong.append((position, result.action))
    assert wrong == []
