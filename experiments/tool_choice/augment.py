"""Further problems made from the sets, so that "none fits" is not read off the length of a list.

Most lists of the irrelevance set have one tool, and no list with a right tool has less than two. A
model could learn that alone. So the right tool is also offered alone, the right tool is taken away,
and wrong tools are offered together with more wrong ones.
"""

import random
from collections.abc import Sequence
from dataclasses import replace

from experiments.tool_choice.data import Problem
from router.models import ToolDescriptor

__all__ = ["augmented"]


def augmented(problems: Sequence[Problem], seed: int = 0) -> list[tuple[Problem, float]]:
    """New problems with their weights, each of its original's group."""
    chance = random.Random(seed)
    wrong = [p.tools[0] for p in problems if p.source == "bfcl_irrelevance"]
    made = []
    for problem in problems:
        if problem.source == "bfcl_live_multiple":
            made += _alone_and_removed(problem, chance, 0.5)
        elif problem.source == "metatool_similar":
            made += _alone_and_removed(problem, chance, 0.25)[:2]
        elif problem.source == "bfcl_irrelevance" and len(problem.tools) < 4:
            made.append((_more(problem, chance.sample(wrong, min(4, len(wrong)))), 0.5))
        elif problem.source == "bfcl_multi_turn_steps":
            rest = _other_families(problem)
            if rest:
                made.append((_changed(problem, "other", rest, None), 0.25))
    return made


def _changed(
    problem: Problem, how: str, tools: Sequence[ToolDescriptor], gold: int | None
) -> Problem:
    return replace(problem, source=f"{problem.source}+{how}", tools=tuple(tools), gold=gold)


def _alone_and_removed(
    problem: Problem, chance: random.Random, weight: float
) -> list[tuple[Problem, float]]:
    assert problem.gold is not None
    rest = [tool for i, tool in enumerate(problem.tools) if i != problem.gold]
    made = [
        (_changed(problem, "alone", [problem.tools[problem.gold]], 0), weight),
        (_changed(problem, "removed", rest, None), weight),
    ]
    if len(rest) > 1:
        made.append((_changed(problem, "one wrong", [chance.choice(rest)], None), weight / 2))
    return made


def _more(problem: Problem, extra: Sequence[ToolDescriptor]) -> Problem:
    tools = {tool.name: tool for tool in (*problem.tools, *extra)}
    return _changed(problem, "more", list(tools.values()), None)


def _other_families(problem: Problem) -> list[ToolDescriptor]:
    """The tools of the other servers on offer, told by how their descriptions begin."""
    assert problem.gold is not None
    beginning = problem.tools[problem.gold].description[:40]
    return [tool for tool in problem.tools if tool.description[:40] != beginning]
