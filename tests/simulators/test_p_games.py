"""Native P-games are those of the plain rules, and their exact values too."""

from typing import Any

import pytest

from mcts_core import ConfigError, SearchConfig, search
from mcts_core.native import AddressSimulator
from simulators import PythonSimulator
from simulators.games import PGame, negamax
from simulators.p_games import p_game_move_values, p_game_root, p_game_value, p_games

SIZES = pytest.mark.parametrize(("branching", "depth"), [(1, 4), (2, 7), (3, 5), (5, 4), (4, 1)])


@pytest.fixture(scope="module")
def games() -> AddressSimulator:
    return p_games()


@SIZES
@pytest.mark.parametrize("seed", [0, 7, 2**64 - 1])
def test_a_native_p_game_is_searched_as_its_python_rules(
    games: AddressSimulator, branching: int, depth: int, seed: int
) -> None:
    config = SearchConfig(simulations=300, selection="ucb1", evaluation="rollout", seed=5)
    plain = PGame(branching, depth, seed)
    ours = search(games, p_game_root(branching, depth, seed), config)
    theirs = search(PythonSimulator(plain), plain.initial(), config)
    assert ours.visits.tolist() == theirs.visits.tolist()
    assert ours.values.tobytes() == theirs.values.tobytes()


@SIZES
def test_exact_values_are_those_of_a_full_search(branching: int, depth: int) -> None:
    for seed in range(20):
        plain = PGame(branching, depth, seed)
        root = p_game_root(branching, depth, seed)
        steps = [plain.step(plain.initial(), action) for action in range(branching)]
        moves = [s.reward if s.terminal else -negamax(plain, s.state) for s in steps]
        assert p_game_move_values(root) == moves
        assert p_game_value(root) == max(moves)


def test_nothing_is_won_where_a_game_is_over() -> None:
    over = (*p_game_root(2, 3)[:3], 3, 2, 3)
    assert (p_game_value(over), p_game_move_values(over)) == (0, [])


@pytest.mark.parametrize(
    ("settings", "name"), [((257, 4), "branching"), ((2, 0), "depth"), ((2, 4, -1), "seed")]
)
def test_a_setting_out_of_range_is_named(settings: Any, name: str) -> None:
    with pytest.raises(ConfigError, match=name):
        p_game_root(*settings)
