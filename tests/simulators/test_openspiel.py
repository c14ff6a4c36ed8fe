"""OpenSpiel's games are searched as they are, and its board games agree with our own."""

import math
import random
import sys
from pathlib import Path
from typing import Any

import pytest

from mcts_core import ConfigError, ManyPlayerStep, SearchConfig, SimulatorError, search
from simulators import PythonSimulator
from simulators.games import ConnectFour, TicTacToe, negamax
from simulators.openspiel import OpenSpielChanceSimulator, OpenSpielSimulator, from_openspiel

pyspiel: Any = pytest.importorskip("pyspiel", reason="needs the extra openspiel")

GAMES = [("tic_tac_toe", TicTacToe()), ("connect_four", ConnectFour())]
GENERAL_SUM = """EFG 2 R "Both may gain" { "A" "B" } ""
p "" 1 1 "(0,1)" { "a" "b" } 0
t "" 1 "o1" { 2 1 }
t "" 2 "o2" { 0 5 }
"""


@pytest.mark.parametrize(("name", "ours"), GAMES)
def test_whole_games_agree_move_for_move_with_our_own(
    name: str, ours: TicTacToe | ConnectFour
) -> None:
    theirs = from_openspiel(name)
    assert isinstance(theirs, OpenSpielSimulator)
    for seed in range(60):
        draw, state, board, ended = random.Random(seed), theirs.initial(), ours.initial(), False
        while not ended:
            actions = theirs.actions(state)
            assert actions == ours.actions(board)
            assert theirs.player(state) == ours.player(board)
            action = draw.choice(actions)
            here, there = ours.step(board, action), theirs.step(state, action)
            assert (there.reward, there.terminal) == (here.reward, here.terminal)
            assert theirs.evaluate(there.state) == 0.0
            state, board, ended = there.state, here.state, here.terminal
        assert theirs.actions(state) == ours.actions(board) == ()


@pytest.mark.parametrize(("name", "ours"), GAMES)
@pytest.mark.parametrize("seed", range(4))
def test_a_search_visits_the_same_as_in_our_own(
    name: str, ours: TicTacToe | ConnectFour, seed: int
) -> None:
    theirs, draw = from_openspiel(name), random.Random(seed)
    assert isinstance(theirs, OpenSpielSimulator)
    state, board = theirs.initial(), ours.initial()
    for _ in range(seed):
        action = draw.choice(theirs.actions(state))
        state, board = theirs.step(state, action).state, ours.step(board, action).state
    config = SearchConfig(400, evaluation="rollout", selection="ucb1", seed=seed)
    by_theirs = search(PythonSimulator(theirs), state, config)
    by_ours = search(PythonSimulator(ours), board, config)
    assert by_theirs.visits.tolist() == by_ours.visits.tolist()
    assert by_theirs.values.tobytes() == by_ours.values.tobytes()
    assert by_theirs.principal_variation == by_ours.principal_variation


def test_a_state_is_left_as_it_was_by_a_step() -> None:
    game = from_openspiel("tic_tac_toe")
    assert isinstance(game, OpenSpielSimulator)
    root = game.initial()
    assert game.step(root, 4).state.history() == [4]
    assert root.history() == []


def test_negamax_solves_an_openspiel_game() -> None:
    game = from_openspiel("nim(pile_sizes=1;2;2)")
    assert isinstance(game, OpenSpielSimulator)
    # OpenSpiel plays Nim so that who takes the last one loses: 1 + 2 + 2 is then won by the mover.
    assert negamax(game, game.initial()) == 1.0


@pytest.mark.parametrize("name", ["pig", "2048", "backgammon", "catch", "einstein_wurfelt_nicht"])
@pytest.mark.parametrize("evaluation", ["simulator", "rollout"])
def test_games_with_chance_are_searched(name: str, evaluation: Any) -> None:
    game = from_openspiel(name)
    assert isinstance(game, OpenSpielChanceSimulator)
    config = SearchConfig(60, max_depth=20, evaluation=evaluation)
    root = game.initial(seed=5)
    result = search(PythonSimulator(game), root, config)
    assert result.simulations == 60
    assert result.action in root.legal_actions()


def test_chance_is_folded_into_the_outcomes_of_the_move_before_it() -> None:
    game = from_openspiel("pig")
    assert isinstance(game, OpenSpielChanceSimulator)
    roll, stop = 0, 1
    rolled = game.outcomes(game.initial(), roll)
    assert [o.probability for o in rolled] == pytest.approx([1 / 6] * 6)
    assert [game.player(o.step.state) for o in rolled] == [1, 0, 0, 0, 0, 0]
    (stopped,) = game.outcomes(rolled[3].step.state, stop)
    assert stopped.probability == 1.0
    assert game.player(stopped.step.state) == 1


def test_all_probabilities_of_a_deep_chance_sum_to_one() -> None:
    game = from_openspiel("yacht(players=1)")
    assert isinstance(game, OpenSpielChanceSimulator)
    root = game.initial()
    outcomes = game.outcomes(root, game.actions(root)[-1])
    assert len(outcomes) > 1
    assert math.fsum(o.probability for o in outcomes) == pytest.approx(1.0, abs=1e-12)


def test_rewards_along_the_way_add_up_to_the_returns() -> None:
    for name in ("2048", "cliff_walking", "pig(winscore=10)"):
        game, draw = from_openspiel(name), random.Random(1)
        state, totals, ended = game.initial(), [0.0, 0.0], False
        while not ended:
            mover, action = game.player(state), draw.choice(game.actions(state))
            if isinstance(game, OpenSpielChanceSimulator):
                outcomes = game.outcomes(state, action)
                step = draw.choices(outcomes, [o.probability for o in outcomes])[0].step
            else:
                step = game.step(state, action)
            totals[mover] += step.reward
            totals[1 - mover] -= step.reward
            state, ended = step.state, step.terminal
        assert totals[: game.players] == pytest.approx(state.returns())


@pytest.mark.parametrize("name", ["pig(players=3,winscore=10)", "chinese_checkers(players=3)"])
def test_rewards_of_three_players_add_up_to_their_returns(name: str) -> None:
    game, draw = from_openspiel(name), random.Random(1)
    state, totals, ended, movers = game.initial(), [0.0, 0.0, 0.0], False, set()
    for _ in range(500):
        movers.add(game.player(state))
        action = draw.choice(game.actions(state))
        if isinstance(game, OpenSpielChanceSimulator):
            outcomes = game.outcomes(state, action)
            step = draw.choices(outcomes, [o.probability for o in outcomes])[0].step
        else:
            step = game.step(state, action)
        assert isinstance(step, ManyPlayerStep)
        totals = [total + gained for total, gained in zip(totals, step.reward, strict=True)]
        state, ended = step.state, step.terminal
        if ended:
            break
    assert movers == {0, 1, 2}
    assert totals == pytest.approx(state.returns())
    assert ended or "chinese" in name


def test_of_three_players_each_looks_for_the_most_of_their_own() -> None:
    game = from_openspiel("pig(players=3,winscore=6)")
    assert isinstance(game, OpenSpielChanceSimulator)
    roll, stop = 0, 1
    state = game.initial()
    for _ in range(2):  # players 0 and 1 stop at once
        state = game.outcomes(state, stop)[0].step.state
    state = game.outcomes(state, roll)[-1].step.state  # a six: whoever stops now has won
    assert game.player(state) == 2
    result = search(PythonSimulator(game), state, SearchConfig(400, evaluation="rollout"))
    assert result.action == stop
    assert result.value == pytest.approx(1.0, abs=0.1)


def test_chance_at_the_root_is_drawn_by_the_seed() -> None:
    game = from_openspiel("2048")
    boards = [str(game.initial(seed)) for seed in range(20)]
    assert len(set(boards)) > 10
    assert boards == [str(game.initial(seed)) for seed in range(20)]
    with pytest.raises(ConfigError, match="seed: got -1"):
        game.initial(-1)


def test_a_state_in_which_chance_moves_is_refused_as_a_root() -> None:
    game = from_openspiel("backgammon")
    root = game.game.new_initial_state()
    with pytest.raises(SimulatorError, match=r"chance moves there.*begin at initial\(\)"):
        search(PythonSimulator(game), root, SearchConfig(5))


def test_a_value_counts_at_the_horizon_and_not_at_the_end() -> None:
    game = from_openspiel("tic_tac_toe", value=lambda state: 0.25)
    assert isinstance(game, OpenSpielSimulator)
    state = game.initial()
    assert game.evaluate(state) == 0.25
    for action in (0, 3, 1, 4, 2):
        state = game.step(state, action).state
    assert state.is_terminal()
    assert game.evaluate(state) == 0.0


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("kuhn_poker", "game kuhn_poker.*information IMPERFECT_INFORMATION"),
        ("blackjack", "information IMPERFECT_INFORMATION"),
        ("goofspiel", "dynamics SIMULTANEOUS, wanted players who move in turn"),
        ("matrix_rps", "dynamics SIMULTANEOUS"),
        ("mfg_crowd_modelling", "dynamics MEAN_FIELD"),
        ("stones_and_gems", "chance mode SAMPLED_STOCHASTIC"),
        ("no_such_game", "game 'no_such_game': Unknown game"),
    ],
)
def test_games_that_cannot_be_searched_are_refused_by_name(name: str, message: str) -> None:
    with pytest.raises(SimulatorError, match=message):
        from_openspiel(name)


def test_two_players_whose_interests_are_not_opposed_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "both.efg"
    path.write_text(GENERAL_SUM)
    with pytest.raises(SimulatorError, match="utility GENERAL_SUM, wanted a zero-sum game"):
        from_openspiel(f"efg_game(filename={path})")


def test_what_is_no_game_is_refused() -> None:
    with pytest.raises(SimulatorError, match=r"got 3, wanted a pyspiel\.Game or its name"):
        from_openspiel(3)


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspiel", None)
    with pytest.raises(ImportError, match=r"pip install 'harness-router\[openspiel\]'"):
        from_openspiel("tic_tac_toe")
