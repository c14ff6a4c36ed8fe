"""Pairs of words that go together: a word of the goal, or of an earlier tool, and one of a name.

"purchase" in the goal speaks for "order" in a name though no word is shared; after a tool named
"lock" one named "start" is more likely. The weights are learned, by words and never by whole names
of tools, so they hold for tools that were never seen.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from router.selectors.lexical import ToolWords
from router.selectors.reading import Goal
from router.selectors.stems import concept

__all__ = ["KINDS", "PairWeights", "Sources", "name_words", "pair_sources"]

Floats = npt.NDArray[np.float64]

KINDS: Final = ("goal", "group", "next", "new", "earlier")
"""Where the first word is from: the goal; the goal, as a group of like words ("group"); the last
tool's name, if it ran for this goal ("next") or for an earlier request ("new"); the name of any
tool before that ("earlier")."""

Sources = Sequence[tuple[str, str, float]]
"""(kind, first word, how much of it there is: 0 to 1)."""


def pair_sources(
    goal: Goal, last: Sequence[str], in_turn: float, earlier: Iterable[str]
) -> list[tuple[str, str, float]]:
    """The first words of all pairs in a state.

    Args:
        goal: the goal.
        last: stems of the last tool's name; empty if there is none.
        in_turn: probability that the last tool ran for this goal.
        earlier: stems of the names of tools before the last.
    """
    found = [
        ("goal", term, 1.0)
        for term, weight in zip(goal.terms, goal.weights, strict=True)
        if weight == 1.0 and len(term) > 1 and not term.isdigit()
    ]
    found += [("group", group, 1.0) for group in goal.groups]
    for word in dict.fromkeys(last):
        found += [("next", word, in_turn), ("new", word, 1.0 - in_turn)]
    found += [("earlier", word, 1.0) for word in dict.fromkeys(earlier)]
    return found


def name_words(tool: ToolWords) -> dict[str, float]:
    """Second words of a tool's pairs with their shares: of its stems, and of its groups, 1 each."""
    stems = dict.fromkeys(tool.name)
    groups = dict.fromkeys(group for one in stems for group in concept(one))
    return {s: 1.0 / len(stems) for s in stems} | {g: 1.0 / len(groups) for g in groups}


class PairWeights:
    """Learned weights of pairs.

    Args:
        table: kind -> first word -> second word -> weight. "group" pairs two groups.
    """

    def __init__(self, table: Mapping[str, Mapping[str, Mapping[str, float]]]) -> None:
        seconds = sorted({s for rows in table.values() for row in rows.values() for s in row})
        self.seconds = {second: k for k, second in enumerate(seconds)}
        self.table = table
        self._rows = {
            (kind, first): (
                np.array([self.seconds[s] for s in row], dtype=np.int64),
                np.array(list(row.values()), dtype=float),
            )
            for kind, rows in table.items()
            for first, row in rows.items()
        }

    def by_second(self, sources: Sources) -> Floats:
        """[seconds] what each second word adds to the score of a tool that has it."""
        rows = [
            (found, amount)
            for kind, first, amount in sources
            if (found := self._rows.get((kind, first))) is not None
        ]
        if not rows:
            return np.zeros(len(self.seconds))
        seconds = np.concatenate([found[0] for found, _ in rows])
        weights = np.concatenate([found[1] * amount for found, amount in rows])
        result: Floats = np.bincount(seconds, weights, len(self.seconds)).astype(float)
        return result

    def strongest(self, sources: Sources, tool: ToolWords) -> tuple[str, str, str] | None:
        """(kind, first, second) of the pair that speaks most for a tool; None if none does."""
        best, found = 0.0, None
        shares = name_words(tool)
        for kind, first, amount in sources:
            for second, weight in self.table.get(kind, {}).get(first, {}).items():
                value = weight * amount * shares.get(second, 0.0)
                if value > best:
                    best, found = value, (kind, first, second)
        return found
