"""How well tools' words match a goal: scores by field, and of what is left of the goal."""

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from router.selectors.facts import Facts
from router.selectors.lexical import ALL, DESCRIPTION, FAMILY, NAME, PARAMETERS
from router.selectors.reading import Goal

__all__ = ["MATCHES", "SCORES", "SIMILARITIES", "Match", "standard"]

Floats = npt.NDArray[np.float64]

SCORES: Final = ("name", "description", "parameters", "all", "family", "name_group", "text_group")
ORDER: Final = np.array([NAME, DESCRIPTION, PARAMETERS, ALL, FAMILY])
GROUP_ORDER: Final = np.array([NAME, DESCRIPTION])
MATCHES: Final = (*SCORES, "letters", "name_share", "head")
SIMILARITIES: Final = ("similarity", "similarity_goal", "similarity_tool")
"""What another scorer says of goal and tool: likeness of the whole texts, how much of the goal the
tool says, and how much of the tool the goal says."""


def standard(rows: Floats) -> Floats:
    """[k, n] -> z-scores within each row; 0 where a row is constant."""
    n = rows.shape[1]
    centred: Floats = rows - np.add.reduce(rows, axis=1, keepdims=True) / n
    spread = np.sqrt(np.add.reduce(centred * centred, axis=1, keepdims=True) / n)
    centred /= np.maximum(spread, 1e-6)
    return centred


def weigh(weights: Floats, table: Floats) -> Floats:
    """[k] and [k, fields, n] -> [fields, n] the weighted sum."""
    if table.size > 8_000:  # BLAS would start threads, which cost more than the sum
        summed: Floats = np.einsum("k,kfn->fn", weights, table)
        return summed
    k, fields, n = table.shape
    result: Floats = (weights @ table.reshape(k, fields * n)).reshape(fields, n)
    return result


class Match:
    """A goal's words against the tools'."""

    def __init__(self, goal: Goal, facts: Facts) -> None:
        self.goal, self.facts = goal, facts
        shelf, vocabulary = facts.shelf, facts.shelf.vocabulary
        known = [(k, vocabulary[t]) for k, t in enumerate(goal.terms) if t in vocabulary]
        groups = [
            (weight, vocabulary[g])
            for g, weight in zip(goal.groups, goal.group_weights, strict=True)
            if g in vocabulary
        ]
        self.places = np.array([k for k, _ in known], dtype=np.int64)
        self.rows = np.array([row for _, row in known], dtype=np.int64)
        self.group_rows = np.array([row for _, row in groups], dtype=np.int64)
        weights = np.array(goal.weights)
        self.weights: Floats = weights[self.places] if known else np.zeros(0)
        self.group_weights = np.array([weight for weight, _ in groups])
        self.terms = shelf.matches[self.rows]  # [k, fields + 1, n]
        self.groups = shelf.matches[self.group_rows]
        self.in_name = shelf.in_name[self.rows]
        background = np.array([facts.background(term) for term in goal.terms]) * weights
        self.mass = max(float(background.sum()), 1e-6)
        self.background: Floats = background[self.places] if known else np.zeros(0)
        terms = np.empty((3, len(known)))
        terms[0] = shelf.idf[self.rows]
        terms[1] = self.background
        terms[2] = facts.plain_background[self.rows]
        self.named = terms @ self.in_name
        hit = np.zeros(len(vocabulary) + 1)
        hit[self.rows] = 1.0
        hit[self.group_rows] = 1.0
        self.soft = facts.soft_name(hit)
        self.head = facts.head_share(hit)
        self.scores = self._scores(self.weights, self.group_weights)
        self.total: Floats = self.scores[3] + 0.4 * (self.scores[5] + self.scores[6])

    def _scores(self, weights: Floats, group_weights: Floats) -> Floats:
        """[SCORES, n] BM25 of the goal's words, each with its weight."""
        result = np.empty((len(SCORES), self.facts.n))
        result[:5] = weigh(weights, self.terms)[ORDER]
        result[5:] = weigh(group_weights, self.groups)[GROUP_ORDER]
        return result

    def base(self, similarity: Floats | None) -> Floats:
        """[MATCHES (+ SIMILARITIES), n]."""
        shelf, goal = self.facts.shelf, self.goal
        letters = shelf.letters(goal.tokens)
        share = self.named[0] / np.maximum(shelf.name_idf, 1e-6)
        extra = 0 if similarity is None else len(similarity)
        rows = np.empty((len(MATCHES) + extra, self.facts.n))
        rows[: len(SCORES)] = self.scores
        rows[len(SCORES) : len(MATCHES)] = letters, share, self.head
        if similarity is not None:
            rows[len(MATCHES) :] = similarity
        return rows

    def left(self, ids: Sequence[int | None], turn: Sequence[float]) -> Floats:
        """[SCORES, n] of the part of the goal that calls made for it have not used up."""
        used, group_used = np.zeros(len(self.rows)), np.zeros(len(self.group_rows))
        terms, groups = self.terms[:, ALL], self.groups[:, ALL]
        most = np.maximum(terms.max(axis=1), 1e-6)
        most_group = np.maximum(groups.max(axis=1), 1e-6)
        for i, probability in zip(ids, turn, strict=True):
            if i is not None and probability > 0.05:
                np.maximum(used, probability * terms[:, i] / most, out=used)
                np.maximum(group_used, probability * groups[:, i] / most_group, out=group_used)
        return self._scores(self.weights * (1 - used), self.group_weights * (1 - group_used))

    def others(self) -> Floats:
        """[10, n] the rows "gap" to "early" of ``OTHERS``."""
        total, goal, facts = self.total, self.goal, self.facts
        order = np.sort(total)
        greatest, second = float(order[-1]), float(order[-2]) if len(order) > 1 else 0.0
        top = total == greatest
        rows = np.empty((10, facts.n))
        rows[0] = total - greatest
        rows[0][top] = greatest - second
        rows[0] = np.minimum(np.maximum(rows[0], -3.0), 3.0)
        rows[1] = top * (float(greatest > 0.0) / np.count_nonzero(top))
        rows[4] = self.background @ (self.terms[:, ALL] > 0)
        rows[2] = rows[4] / self.mass
        rows[3] = self.named[1] / self.mass
        rows[5] = self.group_weights @ (self.groups[:, ALL] > 0)
        rows[4:6] = np.log1p(rows[4:6])
        rows[6] = [len(name) > 3 and name in goal.text for name in facts.lowered]
        rows[7] = self.named[2] / facts.name_mass
        rows[8] = self.soft
        later = 1.0 - np.array(goal.positions)[self.places] if len(self.places) else np.zeros(0)
        rows[9] = np.maximum.reduce(self.in_name * later[:, None], axis=0, initial=0.0)
        return rows

    def none(
        self,
        best_of_base: Floats,
        others: Floats,
        values: Floats,
        history: tuple[float, float],
        similarity: Floats | None,
    ) -> Floats:
        """[NONE_FEATURES]; ``history``: 1 if there were calls, and if the last was for this."""
        place = int(self.total.argmax())
        best = float(self.total[place])
        anywhere = self.terms[:, ALL].any(axis=1)
        most = others.max(axis=1)
        return np.array(
            [
                *(1.0, *history, best / 4.0, math.log1p(best), most[2]),
                (self.background @ anywhere) / self.mass,
                *(most[3], most[7], most[8], most[4], most[5]),
                *(best_of_base[7], best_of_base[9], values[0].max(), values[2, place]),
                *(math.log1p(len(self.goal.terms)), math.log1p(self.goal.clauses)),
                *(math.log(self.facts.n), float(self.facts.n == 1)),
                *(np.zeros(len(SIMILARITIES)) if similarity is None else similarity.max(axis=1)),
            ]
        )
