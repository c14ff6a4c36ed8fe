"""Proven values: what the search proves is exact, and it knows when it is done."""

import functools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcts_core import ConfigError, Search, SearchConfig, SimulatedStep, search
from mcts_core.exact import backward_induction
from simulators import PythonSimulator, TabularModel
from simulators.dense import tabulate
from simulators.games import Nim, TicTacToe
from tests.models import models

BOUNDS = (-1.0, 1.0)


@settings(max_examples=200, deadline=None)
@given(
    models(most_states=8, most_actions=3, most_outcomes=1, root_has_actions=True),
    st.integers(1, 5),
    st.sampled_from(["puct", "ucb1"]),
    st.sampled_from(["simulator", "forced", "rollout"]),
)
def test_a_proven_deterministic_world_has_its_exact_values(
    model: TabularModel, depth: int, selection: str, evaluation: str
) -> None:
    config = SearchConfig(
        simulations=5000,
        max_depth=depth,
        discount=0.9,
        solver=True,
        selection=selection,
        evaluation=evaluation,  # type: ignore[arg-type]
    )
    run = Search(model, 0, config)
    assert run.run() == "proven"
    result = run.result()
    exact = backward_induction(model, 0, horizon=depth, discount=0.9)
    assert result.proven
    assert result.proven_by == "search"
    assert result.proven_actions.all()
    assert result.values.tolist() == pytest.approx(exact.values.tolist(), abs=1e-9)
    assert result.value == pytest.approx(exact.value, abs=1e-9)
    assert run.run() == "proven"
    assert run.simulations == result.simulations


@settings(max_examples=100, deadline=None)
@given(models(most_states=8, most_actions=3, root_has_actions=True), st.integers(1, 60))
def test_what_is_proven_on_the_way_is_exact_too(model: TabularModel, simulations: int) -> None:
    config = SearchConfig(simulations=simulations, max_depth=4, discount=0.9, solver=True)
    result = search(model, 0, config)
    exact = backward_induction(model, 0, horizon=4, discount=0.9)
    for i, proven in enumerate(result.proven_actions):
        if proven:
            assert result.values[i] == pytest.approx(exact.values[i], abs=1e-9)


def game_config(simulations: int, depth: int) -> SearchConfig:
    return SearchConfig(
        simulations=simulations,
        max_depth=depth,
        solver=True,
        value_range=BOUNDS,
        selection="ucb1",
        evaluation="rollout",
    )


def test_tic_tac_toe_is_proven_a_draw() -> None:
    game = TicTacToe()
    model = tabulate(game, game.initial()).model()
    result = search(model, 0, game_config(1_000_000, 9))
    assert result.proven
    assert result.value == 0.0
    assert result.simulations < 1_000_000


@pytest.mark.parametrize("heaps", [(1,), (2, 1), (1, 1), (2, 2), (3, 2, 1), (3, 3, 1), (4, 2, 1)])
def test_small_nim_is_proven_as_the_xor_says(heaps: tuple[int, ...]) -> None:
    game = Nim(heaps)
    root = game.initial()
    result = search(PythonSimulator(game), root, game_config(100_000, sum(heaps)))
    won = functools.reduce(lambda a, b: a ^ b, heaps) != 0
    assert result.proven
    assert result.value == (1.0 if won else -1.0)
    if won:
        after = game.step(root, result.action).state  # type: ignore[arg-type]
        assert game.known_value(after) in (-1.0, 0.0)  # lost for the other, or over


# The Grundy values of Kayles, n = 0 to 11 (Winning Ways, chapter 4).
KAYLES = (0, 1, 2, 3, 1, 4, 3, 2, 1, 4, 2, 6)


Rows = tuple[int, ...]
Take = tuple[int, int, int]
Position = tuple[Rows, int]


class Kayles:
    """Rows of pins; a move takes one pin or two neighbours of a row; the last to move wins."""

    def legal(self, rows: Rows) -> list[Take]:
        return [
            (row, left, took)
            for row in sorted(set(rows))
            for took in (1, 2)
            for left in range((row - took) // 2 + 1)
            if row >= took
        ]

    def after(self, rows: Rows, action: Take) -> Rows:
        row, left, took = action
        rest = list(rows)
        rest.remove(row)
        return tuple(sorted(n for n in (*rest, left, row - took - left) if n > 0))

    def actions(self, state: Position) -> list[Take]:
        return self.legal(state[0])

    def step(self, state: Position, action: Take) -> SimulatedStep[Position]:
        after = self.after(state[0], action)
        return SimulatedStep((after, 1 - state[1]), 0.0 if after else 1.0, terminal=not after)

    def evaluate(self, state: Position) -> float:
        return 0.0

    def player(self, state: Position) -> int:
        return state[1]


@pytest.mark.parametrize("rows", [(1,), (2,), (3,), (5,), (7,), (1, 1), (4, 1), (5, 4), (3, 2, 1)])
def test_kayles_is_proven_as_its_grundy_values_say(rows: tuple[int, ...]) -> None:
    grundy = functools.reduce(lambda a, b: a ^ b, (KAYLES[n] for n in rows))
    world = tabulate(Kayles(), (tuple(sorted(rows)), 0)).model()
    result = search(world, 0, game_config(300_000, sum(rows)))
    assert result.proven
    assert result.value == (1.0 if grundy else -1.0)


def test_a_win_in_sight_ends_the_search() -> None:
    # Ten actions; one wins at once.
    model = TabularModel(
        [0, 10, 11],
        range(12),
        [1] * 11,
        [0.0] * 7 + [1.0] + [0.0] * 3,
        terminal=[1] * 7 + [1, 1, 1, 0],
    )
    result = search(model, 0, game_config(1000, 20))
    assert result.action == 7
    assert result.proven
    assert result.simulations == 8


def test_the_solver_is_a_choice() -> None:
    with pytest.raises(ConfigError, match="solver"):
        SearchConfig(solver=1)  # type: ignore[arg-type]
