"""A search in several threads: a tree for each, added up at the end, or one that all share.

Chaslot, Winands & van den Herik 2008, "Parallel Monte-Carlo tree search": root parallelization
(section 4.2) and tree parallelization with virtual loss (4.3).
"""

import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from threading import Event
from typing import Literal, TypeVar

import numpy as np
import numpy.typing as npt

from mcts_core.config import SearchConfig, check_choice, check_int
from mcts_core.errors import ConfigError, SimulatorError
from mcts_core.native import SimulatorHandle
from mcts_core.result import SearchResult, StopReason, tempered
from mcts_core.rng import SplitMix64
from mcts_core.search import Search
from mcts_core.shared import SharedSearch

__all__ = ["search_parallel"]

MOST_THREADS = 1024
SLICE_MS = 20.0  # own trees look between slices of this length whether they are to stop

Given = TypeVar("Given")
Found = TypeVar("Found")


def search_parallel(
    simulator: SimulatorHandle,
    root_state: object,
    config: SearchConfig,
    *,
    threads: int,
    tree: Literal["own", "shared"] = "own",
    prior: Sequence[float] | None = None,
) -> SearchResult:
    """As ``search``, in ``threads`` threads that share out ``config.simulations``.

    With trees of their own nothing is locked, and the same seed and number of threads give the
    same result; it pays where simulations draw (rollouts, chance): where nothing is drawn all trees
    are alike. With a shared tree each simulation builds on all others, but what a search finds
    depends on which thread comes first; it pays as far as evaluations take the time.

    Thread 0 draws as ``search`` would; the others from streams derived from ``config.seed``. The
    time limit holds for all of them at once, the memory limit for all trees together. What fails in
    one thread ends the others too, and so does Ctrl-C. Trees of their own judge ``early_stop`` each
    for itself, so that their sum may name another action than without it.

    Args:
        simulator: one that runs without the GIL: explicit or native.
        root_state: as for ``search``.
        config: as for ``search``.
        threads: 1 to 1,024; no more than there are simulations are used.
        tree: "own" or "shared".
        prior: as for ``search``.

    Returns:
        Of a shared tree as ``search``. Of own trees: visits added up, values averaged by visits (a
        value that one thread proved stands as it is), ``nodes`` of all trees together; the
        principal variation goes on, after the chosen action, as in the tree that tried it most.

    Raises:
        As ``search``; SimulatorError if the simulator needs the GIL; ConfigError if the root is a
            Gumbel root, which plans for one tree, and each thread is to have a tree of its own.
    """
    check_int("threads", threads, 1, MOST_THREADS)
    check_choice("tree", tree, ("own", "shared"))
    if tree == "own" and config.root == "gumbel":
        raise ConfigError("tree", tree, '"shared": a Gumbel root plans for one tree')
    if simulator.needs_gil:
        raise SimulatorError(
            f"simulator: got a {type(simulator).__name__}, which needs the GIL, wanted one that "
            "threads can share: explicit or native"
        )
    started = time.perf_counter()
    threads = min(threads, config.simulations)
    streams = SplitMix64(config.seed)
    others = [streams.next_u64() for _ in range(threads - 1)]
    if tree == "shared":
        shared = SharedSearch(Search(simulator, root_state, config, prior, share=True))
        _at_once(shared.work, [None, *others], shared.stop)
        return shared.finish()
    trees = [
        Search(simulator, root_state, share, prior) for share in _shares(config, threads, others)
    ]
    enough = Event()
    deadline = started + (config.time_limit_ms or math.inf) / 1e3
    reasons = _at_once(lambda run: _run(run, enough, deadline), trees, enough.set)
    results = [run.result() for run in trees]
    if results[0].action is None:
        return results[0]
    return _merged(results, _reason(reasons), config, (time.perf_counter() - started) * 1e3)


def _shares(config: SearchConfig, threads: int, seeds: Sequence[int]) -> list[SearchConfig]:
    """The settings of each tree: its part of the budgets, its seed."""
    each, left = divmod(config.simulations, threads)
    memory = None if config.memory_limit_mb is None else config.memory_limit_mb / threads
    return [
        config.replace(seed=seed, simulations=each + (i < left), memory_limit_mb=memory)
        for i, seed in enumerate([config.seed, *seeds])
    ]


def _at_once(
    work: Callable[[Given], Found], given: Sequence[Given], stop: Callable[[], None]
) -> list[Found]:
    """Each call in a thread of its own. Whatever one raises, or this thread while it waits (Ctrl-C
    comes to it alone), is raised once ``stop`` has made all of them end."""
    with ThreadPoolExecutor(len(given)) as pool:
        try:
            calls = [pool.submit(work, one) for one in given]
            wait(calls, return_when=FIRST_EXCEPTION)
        finally:
            stop()
    return [call.result() for call in calls]


def _run(run: Search, enough: Event, deadline: float) -> StopReason:
    """As ``run.run()``, in slices, until ``enough``."""
    while True:
        left = min(SLICE_MS, (deadline - time.perf_counter()) * 1e3)
        reason = run.run(time_limit_ms=max(left, 1e-3))
        assert reason != "pending"  # awaits nothing
        if reason != "time" or enough.is_set() or time.perf_counter() >= deadline:
            return reason


def _reason(reasons: Sequence[StopReason]) -> StopReason:
    """Why the trees together ended: the first of these that ended one of them."""
    order: tuple[StopReason, ...] = ("proven", "memory", "time", "decided")
    return next((reason for reason in order if reason in reasons), "simulations")


def _merged(
    results: Sequence[SearchResult], reason: StopReason, config: SearchConfig, time_ms: float
) -> SearchResult:
    first = results[0]
    visits = np.sum([result.visits for result in results], axis=0)
    proven = np.any([result.proven_actions for result in results], axis=0)
    sums = sum(np.where(r.visits > 0, r.visits * np.nan_to_num(r.values), 0.0) for r in results)
    values = np.where(visits > 0, sums / np.maximum(visits, 1), math.nan)
    for result in results:
        values = np.where(result.proven_actions, result.values, values)
    best = _best(visits, values, proven, first)
    action = first.actions[best]
    longest = max(results, key=lambda r: (r.action == action, int(r.visits[best])))
    variation = longest.principal_variation if longest.action == action else (action,)
    solved = any(result.proven for result in results)
    return SearchResult(
        action=action,
        actions=first.actions,
        visits=visits,
        values=values,
        priors=first.priors,
        policy=_policy(visits, best, config.temperature, bool(proven[best])),
        value=float(values[best]),
        principal_variation=variation,
        proven=solved,
        proven_by="search" if solved else None,
        proven_actions=proven,
        simulations=sum(result.simulations for result in results),
        nodes=sum(result.nodes for result in results),
        stop_reason=reason,
        time_ms=time_ms,
        seed=config.seed,
    )


def _policy(
    visits: npt.NDArray[np.int64], best: int, temperature: float, proven: bool
) -> npt.NDArray[np.float64]:
    """[k] as ``SearchResult.policy``."""
    if temperature > 0.0 and not proven:
        return tempered(visits, temperature)
    chosen: npt.NDArray[np.float64] = np.eye(1, len(visits), best)[0]
    return chosen


def _best(
    visits: npt.NDArray[np.int64],
    values: npt.NDArray[np.float64],
    proven: npt.NDArray[np.bool_],
    first: SearchResult,
) -> int:
    """The index of the action to play, by the rule of ``SearchResult.action``."""
    known = np.where(np.isnan(values), -math.inf, values)
    order = range(len(visits))
    others = [i for i in order if not proven[i]]
    best = max(others, key=lambda i: (visits[i], known[i], first.priors[i]), default=None)
    top = max((i for i in order if proven[i]), key=lambda i: known[i], default=None)
    if best is None or (top is not None and known[top] >= known[best]):
        best = top
    assert best is not None
    return best
