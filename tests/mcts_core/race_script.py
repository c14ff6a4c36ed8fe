"""Threads search shared trees, and trees of their own, under a thread sanitizer: ``make race``.

The compiled modules must have been built with HARNESS_ROUTER_SANITIZE=thread. A report of a data
race ends the process with TSAN_OPTIONS' exit code.

python tests/mcts_core/race_script.py GAME_LIBRARY
"""

import ctypes
import struct
import sys
import threading
from typing import Any, Literal

from mcts_core import NonFiniteError, Search, SearchConfig, search_parallel
from mcts_core.native import AddressSimulator
from mcts_core.parallel import _at_once
from mcts_core.shared import SharedSearch
from simulators import TabularModel

THREADS = 4
BASE = SearchConfig(
    simulations=3000, max_depth=42, evaluation="rollout", value_range=(-1.0, 1.0), seed=3
)
VARIANTS: tuple[dict[str, Any], ...] = (
    {},
    {"selection": "ucb1", "solver": True},
    {"selection": "ucb1_tuned", "virtual_loss": 3},
    {"root": "gumbel", "selection": "gumbel"},
    {"transpositions": True, "solver": True},
    {"widening": (1.0, 0.5), "early_stop": True},
    {"evaluation": "decisive", "time_limit_ms": 200.0},
    {"memory_limit_mb": 0.2},
)


def connect_four(library: str) -> AddressSimulator:
    """The game of race_game.c."""
    game = ctypes.CDLL(library)

    def address(name: str) -> int:
        value = ctypes.cast(getattr(game, name), ctypes.c_void_p).value
        assert value is not None
        return value

    return AddressSimulator(
        16,
        lambda board: struct.pack("QQ", *board),
        lambda packed: struct.unpack("QQ", packed),
        legal=address("legal"),
        step=address("step"),
        keep=game,
    )


def worlds(library: str) -> list[tuple[Any, Any]]:
    """A game, and an explicit model with chance, each with its root."""
    chance = TabularModel(
        [0, 3, 6, 6],
        [0, 2, 3, 4, 6, 7, 9],
        [0, 1, 1, 0, 2, 0, 1, 0, 1],
        [0.1, -0.2, 0.3, 0.0, 1.0, 0.2, 0.1, -0.1, 0.4],
        probability=[0.5, 0.5, 1.0, 1.0, 0.25, 0.75, 1.0, 0.5, 0.5],
        terminal=[0, 0, 0, 0, 1, 0, 0, 0, 0],
    )
    return [(connect_four(library), (0, 0)), (chance, 0)]


def search_all(simulator: Any, root: Any, variant: dict[str, Any]) -> None:
    """One variant in threads: shared tree and own trees."""
    if isinstance(simulator, TabularModel) and variant.get("evaluation") == "decisive":
        return
    config = BASE.replace(**variant)
    trees: tuple[Literal["own", "shared"], ...] = ("shared", "own")
    for tree in trees:
        if tree == "own" and config.root == "gumbel":
            continue
        result = search_parallel(simulator, root, config, threads=THREADS, tree=tree)
        assert result.simulations == result.visits.sum() > 0


def stop_in_the_middle(simulator: Any, root: Any) -> None:
    """``stop`` is called by a thread that does not search."""
    run = Search(simulator, root, BASE.replace(simulations=2**31 - 2, max_depth=4), share=True)
    shared = SharedSearch(run)
    watcher = threading.Timer(0.05, shared.stop)
    watcher.start()
    _at_once(shared.work, [None, *range(1, THREADS)], lambda: None)
    watcher.join()
    result = shared.finish()
    assert result.simulations == result.visits.sum()


def fail_together() -> None:
    """Several threads meet what is not finite."""
    broken = TabularModel([0, 2, 4], range(5), [1, 1, 0, 1], [0.0, 1.0, 1.0, 1e150])
    config = BASE.replace(value_range=None, discount=1.0, max_depth=3)
    try:
        search_parallel(broken, 0, config, threads=THREADS, tree="shared")
    except NonFiniteError as error:
        print("raised as it should be:", error)


def main() -> None:
    """All of it."""
    for simulator, root in worlds(sys.argv[1]):
        for variant in VARIANTS:
            search_all(simulator, root, variant)
        stop_in_the_middle(simulator, root)
    fail_together()
    print(f"{THREADS} threads searched together, {len(VARIANTS)} variants in two worlds")


if __name__ == "__main__":
    main()
