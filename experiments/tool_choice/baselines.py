"""What the local selector is compared with: plain BM25, chance, and a bigram over tools."""

from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from experiments.tool_choice.data import Problem
from router.selectors.lexical import ALL, Shelf, as_words
from router.selectors.reading import calls_so_far, read_goal

__all__ = ["Bigram", "bm25", "chance"]

Floats = npt.NDArray[np.float64]


def bm25(problem: Problem) -> Floats:
    """[n] BM25F of the goal's words over name, description and parameters; no groups, no state."""
    shelf = Shelf(as_words(problem.tools))
    goal = read_goal(problem.state.goal)
    rows = [shelf.vocabulary[term] for term in goal.terms if term in shelf.vocabulary]
    result: Floats = shelf.matches[rows, ALL].sum(axis=0)
    return result


def chance(problems: Sequence[Problem]) -> float:
    """Expected share of right picks at random."""
    return float(np.mean([1.0 / len(p.tools) for p in problems if p.gold is not None]))


class Bigram:
    """How often which tool came after which, by their names; ties and unseen ones by BM25."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self._after: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for problem in problems:
            if problem.gold is not None:
                self._after[_last(problem)][problem.tools[problem.gold].name] += 1

    def scores(self, problem: Problem) -> Floats:
        """[n] count, and BM25 below 1 on top."""
        words = bm25(problem)
        counts = self._after[_last(problem)]
        result: Floats = np.array([float(counts[tool.name]) for tool in problem.tools])
        result += words / (1.0 + words.max())
        return result


def _last(problem: Problem) -> str:
    calls = calls_so_far(problem.state, {tool.name for tool in problem.tools})
    return calls[-1].tool if calls else ""
