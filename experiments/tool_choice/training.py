"""Maximum likelihood with L2 for the local selector: a conditional logit over lists of options."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import numpy.typing as npt

__all__ = ["Pairs", "Table", "fit_logistic", "fit_logit", "lbfgs"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Objective = Callable[[Floats], tuple[float, Floats]]


@dataclass(frozen=True)
class Pairs:
    """Sparse features: row ``rows[k]`` has value ``values[k]`` of feature ``columns[k]``."""

    rows: Ints
    columns: Ints
    values: Floats
    width: int

    def dot(self, weights: Floats, height: int) -> Floats:
        """[height] sums of value times weight per row."""
        result = np.bincount(self.rows, self.values * weights[self.columns], height).astype(float)
        return cast(Floats, result)

    def back(self, residual: Floats) -> Floats:
        """[width] the transposed product."""
        result = np.bincount(self.columns, self.values * residual[self.rows], self.width).astype(
            float
        )
        return cast(Floats, result)


@dataclass(frozen=True)
class Table:
    """Lists of options below each other.

    Attributes:
        dense: [options, features].
        pairs: sparse features of the same options.
        starts: first option of each list.
        gold: row of the right option of each list.
        weights: of each list.
    """

    dense: Floats
    pairs: Pairs
    starts: Ints
    gold: Ints
    weights: Floats


def fit_logit(
    table: Table, dense_l2: Floats, pair_l2: Floats, prior: Floats, steps: int = 400
) -> tuple[Floats, Floats]:
    """Weights of least sum_i w_i (-ln p_i(gold)) + l2/2 |u - m|^2.

    u is a weight times its feature's RMS, m likewise of the prior's means.

    Args:
        table: the lists.
        dense_l2: one per dense feature.
        pair_l2: one per pair.
        prior: means of the dense weights; those of pairs are 0.
        steps: most iterations.

    Returns:
        dense weights and pair weights.
    """
    scale = np.sqrt((table.dense**2).mean(axis=0))
    scale = np.where(scale < 1e-9, 1.0, scale)
    dense, width = table.dense / scale, table.dense.shape[1]
    owner = np.repeat(np.arange(len(table.starts)), np.diff(np.append(table.starts, len(dense))))
    wanted = np.zeros(len(dense))
    wanted[table.gold] = table.weights
    l2 = np.concatenate([dense_l2, pair_l2])
    mean = np.concatenate([prior * scale, np.zeros(len(pair_l2))])

    def objective(u: Floats) -> tuple[float, Floats]:
        z = dense @ u[:width] + table.pairs.dot(u[width:], len(dense))
        most = np.maximum.reduceat(z, table.starts)
        raised = np.exp(z - most[owner])
        total = np.add.reduceat(raised, table.starts)
        loss = table.weights @ (most + np.log(total) - z[table.gold])
        residual = table.weights[owner] * raised / total[owner] - wanted
        slope = np.concatenate([dense.T @ residual, table.pairs.back(residual)])
        return float(loss + 0.5 * (l2 * (u - mean) ** 2).sum()), slope + l2 * (u - mean)

    u = lbfgs(objective, mean, steps)
    return u[:width] / scale, u[width:]


def fit_logistic(inputs: Floats, labels: Floats, l2: float) -> Floats:
    """Logistic regression by Newton's method; ``l2`` on all weights."""
    weights = np.zeros(inputs.shape[1])
    for _ in range(30):
        p = 1.0 / (1.0 + np.exp(-inputs @ weights))
        slope = inputs.T @ (p - labels) + l2 * weights
        curve = (inputs * (p * (1.0 - p))[:, None]).T @ inputs + l2 * np.eye(len(weights))
        weights = weights - np.linalg.solve(curve, slope)
    return weights


def lbfgs(objective: Objective, start: Floats, steps: int, memory: int = 12) -> Floats:
    """Minimise a smooth convex function: L-BFGS, Nocedal & Wright 2006, algorithm 7.4 and 7.5."""
    x = start
    value, slope = objective(x)
    kept: list[tuple[Floats, Floats]] = []
    for step in range(steps):
        direction = _two_loops(slope, kept)
        descent = float(slope @ direction)
        if descent <= 0.0:
            kept, direction, descent = [], slope, float(slope @ slope)
        length = 1.0
        while True:
            moved = x - length * direction
            new_value, new_slope = objective(moved)
            if new_value <= value - 1e-4 * length * descent or length < 1e-8:
                break
            length /= 2.0
        change, bend = moved - x, new_slope - slope
        if float(change @ bend) > 1e-10:
            kept = [*kept[1 - memory :], (change, bend)]
        done = step > 20 and abs(value - new_value) < 1e-6 * max(1.0, abs(value))
        x, value, slope = moved, new_value, new_slope
        if done:
            break
    return x


def _two_loops(slope: Floats, kept: Sequence[tuple[Floats, Floats]]) -> Floats:
    q = slope.copy()
    steps = []
    for change, bend in reversed(kept):
        step = float(change @ q) / float(bend @ change)
        steps.append(step)
        q -= step * bend
    if kept:
        change, bend = kept[-1]
        q *= float(change @ bend) / float(bend @ bend)
    else:
        q /= max(float(np.linalg.norm(slope)), 1.0)
    for (change, bend), step in zip(kept, reversed(steps), strict=True):
        q += change * (step - float(bend @ q) / float(bend @ change))
    return q
