"""Searching in an event loop: awaits what async simulators wait for, lets other tasks run.

Nothing here imports asyncio: where nothing really waits, ``drive`` does without a loop and spares
a short-lived process the import.
"""

import time
from collections.abc import Callable, Coroutine, Generator, Sequence
from typing import Any, TypeVar

from mcts_core import Search, SearchConfig, SearchResult, SimulatorError
from mcts_core.native import SimulatorHandle
from simulators.python import PythonSimulator

__all__ = ["drive", "run_async", "search_async"]

T = TypeVar("T")

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
            await _Turn()
        if progress is not None:
            progress(run.simulations)


def drive(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that only gives way, without an event loop.

    Raises:
        SimulatorError: it waits for something, which needs an event loop.
    """
    while True:
        try:
            awaited = coroutine.send(None)
        except StopIteration as stop:
            answer: T = stop.value
            return answer
        if awaited is not None:
            coroutine.close()
            raise SimulatorError("got a coroutine that waits, wanted an event loop to run it in")


class _Turn:
    """Gives other tasks their turn, in asyncio and without it: a bare yield."""

    def __await__(self) -> Generator[None, None, None]:
        yield
