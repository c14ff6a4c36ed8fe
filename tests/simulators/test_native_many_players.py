"""Native simulators of three players and more: what the authoring kit takes and refuses."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from mcts_core import (
    NonFiniteError,
    Search,
    SearchConfig,
    SimulatorCallError,
    SimulatorError,
    search,
)
from mcts_core.native import AddressSimulator
from mcts_core.result import OUTCOME
from simulators.native import Actions, Rng, State, below, compile_simulator

HEAP = np.dtype([("left", np.int32), ("mover", np.int32)])


@pytest.fixture(scope="module", autouse=True)
def _cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Nothing is written to the user's folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HARNESS_ROUTER_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


def legal(state: State, actions: Actions) -> int:
    count = 0
    while count < 3 and count < state.left:
        actions[count] = count + 1
        count += 1
    return count


def step(state: State, action: int, rng: Rng) -> tuple[tuple[float, float, float], bool]:
    """Take 1 to 3; who takes the last one pays 6 to the one before and 2 to the one after."""
    mover = state.mover
    state.left -= action
    state.mover = (mover + 1) % 3
    if state.left > 0:
        return (0.0, 0.0, 0.0), False
    if mover == 0:
        return (-8.0, 2.0, 6.0), True
    if mover == 1:
        return (6.0, -8.0, 2.0), True
    return (2.0, 6.0, -8.0), True


def player(state: State) -> int:
    return int(state.mover)


def make(**changes: Any) -> AddressSimulator:
    """The game above, with some of its parts replaced."""
    parts: dict[str, Any] = {
        "legal": legal,
        "step": step,
        "player": player,
        "players": 3,
        "max_actions": 3,
        "initial": (7, 0),
    }
    return compile_simulator(HEAP, **parts | changes)


def max_n(left: int) -> tuple[list[int], list[int]]:
    """[3] what the mover, the next and the one after can have, and the mover's best moves."""
    if left == 0:
        return [2, 6, -8], []  # whoever would move now is the one after who took the last
    ahead = {take: max_n(left - take)[0] for take in range(1, min(3, left) + 1)}
    worth = {take: returns[2] for take, returns in ahead.items()}
    best = [take for take in worth if worth[take] == max(worth.values())]
    returns = ahead[best[0]]
    return [returns[2], returns[0], returns[1]], best


@pytest.mark.parametrize("left", [2, 3, 4])
@pytest.mark.parametrize("mover", [0, 1, 2])
def test_a_game_of_three_is_played_by_its_solution(left: int, mover: int) -> None:
    returns, best = max_n(left)
    result = search(make(), (left, mover), SearchConfig(20_000, selection="ucb1", exploration=0.5))
    assert result.action in best
    assert result.value == pytest.approx(returns[0], abs=0.5)


def test_outcomes_that_differ_for_another_player_only_are_told_apart() -> None:
    def gift(state: State, action: int, rng: Rng) -> tuple[tuple[float, float, float], bool]:
        state.left = 0
        return (1.0, 2.0, float(below(rng, 4))), True

    run = Search(make(step=gift, stochastic=True), (1, 0), SearchConfig(200))
    run.run()
    tree = run.tree()
    assert (tree.kind == OUTCOME).sum() == 4
    assert set(tree.reward[tree.kind == OUTCOME].tolist()) == {1.0}
    asked = Search(make(step=gift, stochastic=True), (1, 2), SearchConfig(4_000))
    asked.run()
    tree = asked.tree()
    assert sorted(tree.reward[tree.kind == OUTCOME].tolist()) == [0.0, 1.0, 2.0, 3.0]
    assert asked.result().value == pytest.approx(1.5, abs=0.1)


def test_a_tuple_may_hold_integers_beside_floats() -> None:
    def mixed(state: State, action: int, rng: Rng) -> tuple[tuple[float, int, bool], bool]:
        state.left -= action
        return (0.5, 2, True), state.left == 0

    worlds = make(step=mixed)
    values = [search(worlds, (1, mover), SearchConfig(1)).value for mover in range(3)]
    assert values == [0.5, 2.0, 1.0]


def stated(state: State) -> tuple[float, float, float]:
    return 1.0, 2.0, 3.0


def test_values_are_those_of_the_mover() -> None:
    world = make(evaluate=stated)
    for mover in range(3):
        config = SearchConfig(50, max_depth=1, evaluation="simulator")
        assert search(world, (7, mover), config).value == 1.0 + mover


@pytest.mark.parametrize("players", [2, 0, 256, 3.0, True, "three"])
def test_a_number_of_players_that_cannot_be_is_refused(players: object) -> None:
    with pytest.raises(
        SimulatorError, match=f"players: got {players!r}, wanted None or an integer"
    ):
        make(players=players)


@pytest.mark.parametrize("who", [None, "alternate"])
def test_who_moves_has_to_be_said(who: object) -> None:
    with pytest.raises(SimulatorError, match=f"player: got {who!r}, wanted a function"):
        make(player=who)


def too_few(state: State, action: int, rng: Rng) -> tuple[tuple[float, float], bool]:
    return (0.0, 1.0), True


def one_number(state: State, action: int, rng: Rng) -> tuple[float, bool]:
    return 1.0, True


def infinite(state: State, action: int, rng: Rng) -> tuple[tuple[float, float, float], bool]:
    return (0.0, np.inf, 0.0), True


def one_value(state: State) -> float:
    return 1.0


def nobody(state: State) -> int:
    return int(3 + state.mover)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"step": too_few}, r"step: got .*\(0.0, 1.0\).* wanted a tuple of 3 floats"),
        ({"step": one_number}, "step: got .*1.0 .*wanted a tuple of 3 floats"),
        ({"step": infinite}, r"step: got inf at state \(7, 0\), wanted a finite number"),
        ({"evaluate": one_value}, "evaluate: got 1.0 at .*wanted a tuple of 3 floats"),
        ({"player": nobody}, r"player: got 3 at state \(7, 0\), wanted 0 to 2"),
    ],
)
def test_mistakes_show_in_plain_python(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(SimulatorError, match=message):
        make(**changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"step": one_number}, "step: does not compile: .*wanted .*tuple of 3 floats, terminal"),
        ({"evaluate": one_value}, "evaluate: does not compile: .*wanted .*-> tuple of 3 floats"),
    ],
)
def test_without_the_check_numba_refuses_what_is_no_tuple(
    changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(SimulatorError, match=message):
        make(check=False, **changes)


def test_without_the_check_a_search_says_what_was_wrong() -> None:
    config = SearchConfig(50)
    with pytest.raises(SimulatorCallError):
        search(make(check=False, step=too_few), (7, 0), config)
    with pytest.raises(NonFiniteError, match=r"action 1 in state \(7, 2\): got inf"):
        search(make(check=False, step=infinite), (7, 2), config)
    with pytest.raises(SimulatorError, match=r"player of state \(7, 2\): got 5, wanted 0 to 2"):
        search(make(check=False, player=nobody), (7, 2), config)


def test_a_table_of_many_players_that_says_not_who_moves_is_refused() -> None:
    for players, message in ((3, "player: got no function"), (256, "players: got 256"), (-1, "-1")):
        broken = AddressSimulator(8, bytes, bytes, legal=1, step=1, players=players)
        with pytest.raises(SimulatorError, match=message):
            Search(broken, bytes(8), SearchConfig())
