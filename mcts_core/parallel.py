"""A search in several threads: a tree for each, added up at the end, or one that all share.

Chaslot, Winands & van den Herik 2008, "Parallel Monte-Carlo tree search": root parallelization
(section 4.2) and tree parallelization with virtual loss (4.3).
"""

import math
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Literal

import numpy as np
import numpy.typing as npt

from mcts_core.config import SearchConfig, check_choice, check_int
from mcts_core.errors import ConfigError, SimulatorError
from mcts_core.native import SimulatorHandle
from mcts_core.result import SearchResult, tempered
from mcts_core.rng import SplitMix64
from mcts_core.search import Search
from mcts_core.shared import SharedSearch

__all__ = ["search_parallel"]

MOST_THREADS = 1024


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
    time limit holds for all of them at once.

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
    seeds = [config.seed, *(streams.next_u64() for _ in range(threads - 1))]
    if tree == "shared":
        run = SharedSearch(Search(simulator, root_state, config, prior, share=True))
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(run.work, seeds))
        return run.finish()
    shares = [
        config.simulations // threads + (i < config.simulations % threads) for i in range(threads)
    ]
    runs = [
        Search(simulator, root_state, config.replace(seed=seed, simulations=share), prior)
        for seed, share in zip(seeds, shares, strict=True)
    ]
    with ThreadPoolExecutor(threads) as pool:
        stops = list(pool.map(Search.run, runs))
    results = [run.result() for run in runs]
    if results[0].action is None:
        return results[0]
    return _merged(results, "time" in stops, config, (time.perf_counter() - started) * 1e3)


def _merged(
    results: Sequence[SearchResult], out_of_time: bool, config: SearchConfig, time_ms: float
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
        stop_reason="proven" if solved else "time" if out_of_time else "simulations",
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
