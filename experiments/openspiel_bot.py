"""OpenSpiel's MCTSBot with its solver, at connect four, for whoever reads its lines of JSON.

PEERS_PYTHON -m experiments.openspiel_bot    # an interpreter that has open_spiel
{"moves": [3, 3, 2], "time_limit_ms": 20}
{"action": 3, "simulations": 2100, "time_ms": 20.1}
"""

import importlib
import json
import math
import sys
import time
from typing import Any

MEMORY_MB = 1000
MOST = 2**31 - 1


def answer(pyspiel: Any, moves: list[int], time_limit_ms: float) -> dict[str, float]:
    """The move of a fresh bot: C++ game, random rollouts in C++, uct_c sqrt(2) for returns from -1
    to 1 (its default), as ours has in units of the range; the most of its memory."""
    game = pyspiel.load_game("connect_four")
    state = game.new_initial_state()
    for move in moves:
        state.apply_action(move)
    bot = pyspiel.MCTSBot(
        game,
        pyspiel.RandomRolloutEvaluator(1, 1),
        uct_c=math.sqrt(2),
        max_simulations=MOST,
        max_memory_mb=MEMORY_MB,
        solve=True,
        seed=1,
        verbose=False,
        max_wall_clock_time=time_limit_ms / 1000,
    )
    start = time.perf_counter()
    root = bot.mcts_search(state)
    spent = time.perf_counter() - start
    action = root.best_child().action
    return {"action": action, "simulations": root.explore_count, "time_ms": 1000 * spent}


def main() -> None:
    """Answer until the input ends."""
    pyspiel = importlib.import_module("pyspiel")
    for line in sys.stdin:
        print(json.dumps(answer(pyspiel, **json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
