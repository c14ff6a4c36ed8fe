"""Searching in an event loop: awaits what async simulators wait for, lets other tasks run."""

import asyncio
import time
from collections.abc import Callable, Sequence

from mcts_core import Search, SearchConfig, SearchResult
from mcts_core.native import SimulatorHandle
from simulators.python import PythonSimulator

__all__ = ["run_async", "search_async"]

TURN_MS = 5.0
"""How long a search runs before other tasks of the event loop get their turn."""


async def search_async(
    simulator: SimulatorHandle,
    root_state: object,
    config: SearchConfig,
    *,
    prior: Sequence[float] | None = None,
) -> SearchResult:
    """As ``mcts_core.search``, without blocking the event loop for more than some 5 ms.

    A time limit in ``config`` counts the time spent waiting too; an answer that is awaited when
    it ends is still waited for. Cancelling the task ends the search.
    """
    run = Search(simulator, root_state, config, prior)
    await run_async(run)
    return run.result()


async def run_async(run: Search, progress: Callable[[int], None] | None = None) -> None:
    """Run a search until a budget of its config ends.

    Args:
        run: the search.
        progress: told the number of simulations so far, every 5 ms or so.
    """
    config, simulator = run.config, run.simulator
    started = time.monotonic()
    while True:
        left_ms = TURN_MS
        if config.time_limit_ms is not None:
            left_ms = config.time_limit_ms - (time.monotonic() - started) * 1e3
        stop = run.run(time_limit_ms=max(min(left_ms, TURN_MS), 1e-3))
        if stop == "pending" and isinstance(simulator, PythonSimulator):
            await simulator.resolve()
        elif stop != "time" or (config.time_limit_ms is not None and left_ms <= TURN_MS):
            return
        else:
            await asyncio.sleep(0)
        if progress is not None:
            progress(run.simulations)
