"""Our side of the batches of benchmarks.engine_speed: many leaves a call, valued by constants."""

from typing import Any, Final

import numpy as np

from benchmarks.contest import Timed
from benchmarks.engine_worlds import timed_search
from mcts_core import SearchConfig
from simulators.native_games import constant_tree

__all__ = ["BATCHES", "our_batches"]

BATCHES: Final = (1, 8, 64, 256)
"""Leaves a call of the evaluator."""
BRANCHING: Final = 8
DEPTH: Final = 6


def our_batches(size: int, *, priors: bool) -> Timed:
    """One tree, ``size`` leaves of it a call, with PUCT as the peers."""
    values = np.full(size, 0.5)
    weights = np.full((size, BRANCHING), 1.0 / BRANCHING)

    def evaluate(states: Any) -> tuple[Any, Any]:
        count = len(states)
        return weights[:count] if priors else None, values[:count]

    config = SearchConfig(max_depth=DEPTH, selection="puct", batch_size=size)
    return timed_search(constant_tree(BRANCHING), None, config, evaluate)
