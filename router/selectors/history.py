"""Earlier calls in a log: which were made for this goal, and which for earlier requests."""

import math
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from router.selectors.reading import Call, Goal

__all__ = ["TURN_INPUTS", "turn_inputs", "turn_probabilities"]

Floats = npt.NDArray[np.float64]

TURN_INPUTS: Final = (
    *("one", "a value of it is in the goal", "share of its values in the goal"),
    *("match of its tool", "it has values", "its tool matches best", "it has no arguments"),
    *("value and match", "not the last", "clauses", "length of the goal"),
)
"""What the probability that a call was made for this goal is made of."""

RECENT: Final = 8
"""Older calls are taken to be of earlier requests."""


def turn_inputs(
    goal: Goal, calls: Sequence[Call], index: Mapping[str, int], scores: Floats
) -> list[list[float]]:
    """Of the last ``RECENT`` written calls the inputs of the model, ``TURN_INPUTS``, newest first.

    Args:
        goal: the goal.
        calls: earlier calls, oldest first.
        index: of the tools on offer by name.
        scores: [n] match of each tool with the goal, >= 0.
    """
    if not calls or not calls[-1].written:
        return []
    best = max(float(scores.max()), 1e-6)
    rows = []
    for back, call in enumerate(reversed(calls[-RECENT:])):
        values = [v.lower() for _, v in call.arguments if len(v) > 1]
        values = [v for v in values if v not in ("true", "false", "none")]
        hits = sum(value in goal.text for value in values)
        i = index.get(call.tool)
        match = float(scores[i]) / best if i is not None else 0.0
        row = [1.0, float(hits > 0), hits / max(len(values), 1), match, float(bool(values))]
        row += [float(match > 0.999), float(not call.arguments), float(hits > 0) * match]
        row += [float(back > 0), 1.0 / goal.clauses, min(len(goal.terms), 30) / 30.0]
        rows.append(row)
    return rows


def turn_probabilities(
    calls: Sequence[Call], inputs: Sequence[Sequence[float]], weights: Sequence[float]
) -> list[float]:
    """Of each call the probability that it was made for this goal, oldest first.

    Calls that the host reports itself are all for this goal. A log of calls may go back over
    earlier requests: there each call counts by a small logistic model, and only if all later ones
    count too.
    """
    if calls and not calls[-1].written:
        return [1.0] * len(calls)
    found: list[float] = []
    running = 1.0
    for row in inputs:
        z = sum(a * b for a, b in zip(row, weights, strict=True))
        running /= 1.0 + math.exp(-max(min(z, 30.0), -30.0))
        found.append(running)
    return [0.0] * (len(calls) - len(found)) + found[::-1]
