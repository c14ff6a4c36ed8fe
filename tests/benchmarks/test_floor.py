"""The floor is an honest yardstick: it grows the same trees as the search that it measures."""

import pytest

from benchmarks.floor import CONNECT_FOUR_EXPLORATION, compiler, floor_search, random_games
from mcts_core import SearchConfig, search
from mcts_core.reference import search as reference_search
from simulators import PythonSimulator, TabularModel
from simulators.games import ConnectFour

pytestmark = pytest.mark.skipif(compiler() is None, reason="no C compiler: neither $CC nor cc")

TREES = [
    *((8, 6, 1), (8, 6, 7), (8, 6, 1000), (8, 6, 5000), (8, 2, 3000)),
    *((3, 5, 2000), (7, 4, 2500), (2, 12, 3000), (1, 3, 50)),
    *((64, 3, 3000), (37, 2, 4000), (256, 2, 3000), (1000, 1, 2500)),
]


@pytest.mark.parametrize("ahead", [True, False], ids=["ahead", "on the way down"])
@pytest.mark.parametrize(("branching", "depth", "simulations"), TREES)
@pytest.mark.parametrize("rule", ["ucb1", "puct"])
def test_the_tree_alone_is_visited_as_in_the_reference(
    rule: str, branching: int, depth: int, simulations: int, ahead: bool
) -> None:
    model = TabularModel(
        [0, branching],
        range(branching + 1),
        [0] * branching,
        [0.0] * branching,
        value=[0.5],
    )
    config = SearchConfig(
        simulations=simulations,
        max_depth=depth,
        selection=rule,
        evaluation="simulator",
    )
    root = reference_search(model, 0, config)
    run = floor_search(
        *(rule, simulations),  # type: ignore[arg-type]
        branching=branching,
        depth=depth,
        ahead=ahead,
    )
    assert root.children is not None
    assert list(run.root_visits) == [child.visits for child in root.children]


@pytest.mark.parametrize("ahead", [True, False], ids=["ahead", "on the way down"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_connect_four_is_searched_as_by_the_engine_draw_for_draw(seed: int, ahead: bool) -> None:
    config = SearchConfig(
        simulations=3000,
        selection="ucb1",
        exploration=CONNECT_FOUR_EXPLORATION,
        value_range=(-1.0, 1.0),
        evaluation="rollout",
        seed=seed,
    )
    game = ConnectFour()
    result = search(PythonSimulator(game), game.initial(), config)
    run = floor_search(
        "connect_four", 3000, seed=seed, exploration=CONNECT_FOUR_EXPLORATION, ahead=ahead
    )
    assert list(run.root_visits) == result.visits.tolist()


def test_random_games_end_as_often_won_and_drawn_as_is_known() -> None:
    games = 200_000
    _, (won, drawn, lost) = random_games(games, seed=7)
    assert won + drawn + lost == games
    assert won / games == pytest.approx(0.556, abs=0.005)
    assert drawn / games == pytest.approx(0.0025, abs=0.0006)


def test_a_run_repeats_itself_in_the_arena_that_it_keeps() -> None:
    first = floor_search("connect_four", 2000, seed=5, repeats=3)
    floor_search("puct", 5000, branching=300, depth=2)
    again = floor_search("connect_four", 2000, seed=5)
    assert first.root_visits == again.root_visits
    assert first.nbytes == again.nbytes
    assert len(first.seconds) == 3


@pytest.mark.parametrize(
    "changes", [{"branching": 0}, {"branching": 2**17}, {"depth": 0}, {"depth": 65}, {"repeats": 0}]
)
def test_what_is_out_of_range_is_refused(changes: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=r"range|refuses"):
        floor_search("ucb1", 100, **changes)  # type: ignore[arg-type]
