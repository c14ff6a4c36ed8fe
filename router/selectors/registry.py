"""Many tools: postings that find the most likely few for a goal, before the model looks at those.

BM25F as in ``router.selectors.lexical`` with the idf of the whole registry, plus what the learned
pairs of words say about the tools' names.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from router.selectors.facts import NameShares, Prepared
from router.selectors.lexical import K1, field_factors, field_lengths, inverse_frequency
from router.selectors.pairs import PairWeights, Sources
from router.selectors.reading import Goal

__all__ = ["Registry"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

GROUP_WEIGHT: Final = 0.3
"""Of a group of like words against a word itself."""

PAIR_WEIGHT: Final = 0.5


class Registry:
    """Postings of any number of tools.

    Args:
        tools: n tools.
        pairs: learned pairs of words.
    """

    def __init__(self, tools: Sequence[Prepared], pairs: PairWeights) -> None:
        words = [one.words for one in tools]
        self.n = len(tools)
        self._pairs = pairs
        factors = field_factors(field_lengths(words))
        listed: dict[str, list[tuple[int, float]]] = {}
        for i, tool in enumerate(words):
            weighted = tool.counts @ factors[i]
            saturated = (weighted / (K1 + weighted)).tolist()
            for term, value in zip(tool.terms, saturated, strict=True):
                listed.setdefault(term, []).append((i, value))
        self._postings: dict[str, tuple[Ints, Floats]] = {}
        for term, entries in listed.items():
            idf = float(inverse_frequency(np.array(len(entries)), self.n))
            factor = idf * (GROUP_WEIGHT if term.startswith("~") else 1.0)
            self._postings[term] = (
                np.array([i for i, _ in entries], dtype=np.int64),
                np.array([value for _, value in entries]) * factor,
            )
        self._names = NameShares(tools)

    def scores(self, goal: Goal, sources: Sources) -> Floats:
        """[n] how likely each tool looks, in no unit."""
        found = [
            (posting, weight)
            for terms, weights in ((goal.terms, goal.weights), (goal.groups, goal.group_weights))
            for term, weight in zip(terms, weights, strict=True)
            if (posting := self._postings.get(term)) is not None
        ]
        total = np.zeros(self.n)
        if found:
            rows = np.concatenate([posting[0] for posting, _ in found])
            values = np.concatenate([posting[1] * weight for posting, weight in found])
            total += np.bincount(rows, values, minlength=self.n)
        total += PAIR_WEIGHT * self._names.of(self._pairs.by_second(sources))
        return total


def best(scores: Floats, count: int) -> Ints:
    """Indices of the ``count`` greatest scores, greatest first; ties by place."""
    if count < len(scores):
        edge = np.partition(scores, len(scores) - count)[len(scores) - count]
        above = np.flatnonzero(scores > edge)
        chosen = np.concatenate([above, np.flatnonzero(scores == edge)[: count - len(above)]])
    else:
        chosen = np.arange(len(scores))
    order: Ints = chosen[np.lexsort((chosen, -scores[chosen]))]
    return order
