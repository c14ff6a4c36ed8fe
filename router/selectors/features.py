"""Features of every tool on offer, and of "none fits", given a state: the model's input.

A tool's features are made of three parts: how well its words match the goal (field by field, and
the part of the goal that earlier calls have not used up), how it follows on the earlier calls, and
whether the values that it needs are there. Scores over the list enter as they are, as z-scores
within the list, and relative to the best, so that lists of all sizes are alike.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from router.models import HarnessState
from router.selectors.facts import CLASSES, Facts
from router.selectors.history import turn_inputs, turn_probabilities
from router.selectors.lexical import ALL, NAME
from router.selectors.match import MATCHES, SCORES, SIMILARITIES, Match, standard
from router.selectors.pairs import pair_sources
from router.selectors.reading import (
    Call,
    Goal,
    calls_so_far,
    parameter_stems,
    read_goal,
    read_observation,
)

__all__ = ["CONTEXTS", "NONE_FEATURES", "Features", "features", "tool_features"]

Floats = npt.NDArray[np.float64]

SEEN: Final = np.array([ALL, NAME])
TOUCHING: Final = np.array([CLASSES.index(k) for k in ("read", "edit", "create", "keep")])
"""Kinds of action after which a path in the observation is that of a file already seen."""

OTHERS: Final = (
    *("gap", "best", "cover", "cover_name", "hits", "group_hits", "exact", "name_known"),
    *("name_soft", "early", "no_parameters"),
    *("fed", "chained", "ready", "arity", "fed.z", "chained.z", "ready.z", "arity.z"),
    *(f"left.{name}" for name in SCORES),
    *("again", "before", "before.turn", "repeat", "repeat.turn", "repeat.failed"),
    *("noun", "noun.turn", "feeds", "alike", "alike.turn", "kin", "kin.turn", "kin_text"),
    *("kin_text.turn", "new_family", "seen.all", "seen.name", "risk", "reads_path"),
)
NONE_FEATURES: Final = (
    *("one", "calls", "turn", "best", "log_best", "cover", "cover_all", "cover_name"),
    *("name_known", "name_soft", "hits", "group_hits", "letters", "head", "fed", "ready"),
    *("terms", "clauses", "tools", "one_tool", *SIMILARITIES),
)
CONTEXTS: Final = (
    *(f"after {kind}" for kind in CLASSES),
    *("new request", "no calls", "it failed", "it went well", "path seen", "path in goal"),
)
"""What a kind of action may follow on: the kind of the last call, and other facts of the state."""


def tool_features(similarity: bool) -> tuple[str, ...]:
    """Names of the rows of ``Features.tools``."""
    names = (*MATCHES, *SIMILARITIES) if similarity else MATCHES
    forms = ("", ".z", ".rel", ".turn")
    return (*(name + form for form in forms for name in names), *OTHERS)


@dataclass(frozen=True, slots=True)
class Features:
    """What the model sees of a state with n tools.

    Attributes:
        tools: [len(tool_features(...)), n].
        none: [len(NONE_FEATURES)].
        contexts: [len(CONTEXTS)] how much each holds, 0 to 1.
        pairs: first words of pairs, see ``router.selectors.pairs``.
        turn: inputs of the model of which calls were made for this goal.
        goal: the goal as read.
        last: index of the last tool among those on offer, or None.
    """

    tools: Floats
    none: Floats
    contexts: Floats
    pairs: list[tuple[str, str, float]]
    turn: list[list[float]]
    goal: Goal
    last: int | None


def features(
    state: HarnessState,
    facts: Facts,
    turn_weights: Sequence[float],
    similarity: Floats | None = None,
) -> Features:
    """Read a state against the tools on offer.

    Args:
        state: anything.
        facts: the tools on offer, n of them, n > 0.
        turn_weights: of ``TURN_INPUTS``.
        similarity: [SIMILARITIES, n] by another scorer, or None.
    """
    goal, calls = read_goal(state.goal), calls_so_far(state, facts.index)
    match = Match(goal, facts)
    inputs = turn_inputs(goal, calls, facts.index, match.total)
    turn = turn_probabilities(calls, inputs, turn_weights)
    ids = [facts.index.get(call.tool) for call in calls]
    last, turn_now = (ids[-1], turn[-1]) if calls else (None, 0.0)

    base = match.base(similarity)
    most = np.maximum.reduce(base, axis=1)
    relative = base / np.maximum(most, 1e-6)[:, None]
    values = _values(goal, calls, facts)
    left = match.left(ids, turn) if calls else np.zeros((len(SCORES), facts.n))
    observation = _observation(state, calls, facts, last)
    others = match.others()
    standardised = standard(np.concatenate([base, values, left, observation.scores]))
    scaled = standardised[: len(base)]
    after = facts.kinds[last] if last is not None else None
    tools = np.concatenate(
        [
            base * 0.25,
            scaled,
            relative,
            scaled * turn_now,
            others,
            facts.no_parameters[None],
            values,
            standardised[len(base) : -len(observation.scores)],
            _history(calls, ids, turn, facts),
            standardised[-len(observation.scores) :],
            (facts.risk * (match.soft == 0))[None],
            (facts.reads_path * observation.path)[None],
        ]
    )
    return Features(
        tools=tools,
        none=match.none(most, others, values, (float(bool(calls)), turn_now), similarity),
        contexts=_contexts(goal, after, observation, turn_now, bool(calls)),
        pairs=pair_sources(
            goal,
            facts.shelf.tools[last].name if last is not None else (),
            turn_now,
            (word for i in ids[:-1] if i is not None for word in facts.shelf.tools[i].name),
        ),
        turn=inputs,
        goal=goal,
        last=last,
    )


def _values(goal: Goal, calls: Sequence[Call], facts: Facts) -> Floats:
    """[4, n] fed, chained, ready, arity: are the values for a tool's parameters there?

    Fed: share of its parameters that take a kind of value which occurs in the goal. Chained: share
    that earlier calls had too. Ready: share of either. Arity: ln(1 + number of parameters).
    """
    fed = facts.kinds_of_parameters @ facts.goal_kinds(goal.kinds) > 0
    chained = np.zeros(len(fed), dtype=bool)
    for name in {name for call in calls for name, _ in call.arguments}:
        chained[facts.parameter_rows.get(parameter_stems(name), [])] = True
    rows = np.empty((4, facts.n))
    for k, marked in enumerate((fed, chained, fed | chained)):
        rows[k] = facts.parameter_share(marked)
    rows[3] = facts.arity
    return rows


def _history(
    calls: Sequence[Call], ids: Sequence[int | None], turn: Sequence[float], facts: Facts
) -> Floats:
    """[16, n] the rows "again" to "new_family" of ``OTHERS``."""
    rows = np.zeros((16, facts.n))
    if not calls:
        return rows
    for i, probability in zip(ids, turn, strict=True):
        if i is not None:
            rows[0, i] += probability
            rows[1, i] += 1.0 - probability
    rows[0] = np.minimum(rows[0], 2.0)
    rows[1] = np.log1p(rows[1])
    last, now = ids[-1], turn[-1]
    rows[2] = rows[1] * now
    seen = {facts.families[i] for i in ids if i is not None}
    rows[15] = [float(family not in seen) for family in facts.families]
    if last is None:
        return rows
    rows[3, last], rows[4, last] = 1.0, now
    rows[5, last] = float(calls[-1].failed)
    follow = facts.following(last)  # noun, feeds, alike, kin, kin_text
    rows[6], rows[7] = follow[0], follow[0] * now
    rows[8] = follow[1] * now
    rows[9], rows[10] = follow[2], follow[2] * now
    rows[11], rows[12] = follow[3], follow[3] * now
    rows[13], rows[14] = follow[4], follow[4] * now
    return rows


@dataclass(frozen=True, slots=True)
class _Observed:
    scores: Floats
    path: float
    failed: float
    went_well: float


def _observation(
    state: HarnessState, calls: Sequence[Call], facts: Facts, last: int | None
) -> _Observed:
    """What the newest observation says; a log of calls has been read already.

    A path that it names is one to look at, unless the last action read or changed it.
    """
    log = bool(calls) and calls[-1].written
    seen = read_observation("" if log else state.observation or "")
    scores = np.zeros((2, facts.n))
    rows = [facts.shelf.vocabulary[t] for t in seen.terms if t in facts.shelf.vocabulary]
    if rows and calls:
        scores = facts.shelf.matches[rows].sum(axis=0)[SEEN]
    failed = seen.failed or (bool(calls) and calls[-1].failed)
    well = seen.went_well or (bool(calls) and calls[-1].went_well)
    new = 1.0 if last is None or failed else 1.0 - float(facts.kinds[last, TOUCHING].sum())
    return _Observed(scores, seen.path * new, float(failed), float(well and not failed))


def _contexts(goal: Goal, after: Floats | None, seen: _Observed, now: float, calls: bool) -> Floats:
    """[CONTEXTS]; ``after``: kinds of the last action, ``now``: whether it was for this goal."""
    row = np.zeros(len(CONTEXTS))
    k = len(CLASSES)
    if after is not None:
        row[:k] = after * now
    row[k:] = (1.0 - now if calls else 0.0, not calls, seen.failed, seen.went_well, seen.path, 0.0)
    row[k + 5] = float("path" in goal.kinds and not calls)
    return row
