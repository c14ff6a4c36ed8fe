"""Features of every tool on offer, and of "none fits", given a state: the model's input.

A tool's features are made of three parts: how well its words match the goal (field by field, and
the part of the goal that earlier calls have not used up), how it follows on the earlier calls, and
whether the values that it needs are there. Scores over the list enter as they are, as z-scores
within the list, and relative to the best, so that lists of all sizes are alike.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from router.models import HarnessState
from router.selectors.facts import CLASSES, Facts
from router.selectors.history import turn_inputs, turn_probabilities
from router.selectors.lexical import ALL, DESCRIPTION, FAMILY, NAME, PARAMETERS, trigrams
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

SCORES: Final = ("name", "description", "parameters", "all", "family", "name_group", "text_group")
ORDER: Final = np.array([NAME, DESCRIPTION, PARAMETERS, ALL, FAMILY])
GROUP_ORDER: Final = np.array([NAME, DESCRIPTION])
TOUCHING: Final = np.array([CLASSES.index(k) for k in ("read", "edit", "create", "keep")])
"""Kinds of action after which a path in the observation is that of a file already seen."""

MATCHES: Final = (*SCORES, "letters", "name_share", "head")
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
    *("terms", "clauses", "similarity"),
)
CONTEXTS: Final = (
    *(f"after {kind}" for kind in CLASSES),
    *("new request", "no calls", "it failed", "it went well", "path seen", "path in goal"),
)
"""What a kind of action may follow on: the kind of the last call, and other facts of the state."""


def tool_features(similarity: bool) -> tuple[str, ...]:
    """Names of the rows of ``Features.tools``."""
    names = (*MATCHES, "similarity") if similarity else MATCHES
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
        similarity: [n] of each tool with the goal by another scorer, or None.
    """
    goal, calls = read_goal(state.goal), calls_so_far(state, facts.index)
    match = _Match(goal, facts)
    inputs = turn_inputs(goal, calls, facts.index, match.total)
    turn = turn_probabilities(calls, inputs, turn_weights)
    ids = [facts.index.get(call.tool) for call in calls]
    last, turn_now = (ids[-1], turn[-1]) if calls else (None, 0.0)

    base = match.base(similarity)
    scaled = standard(base)
    relative = base / np.maximum(base.max(axis=1, keepdims=True), 1e-6)
    values = _values(goal, calls, facts)
    left = match.left(ids, turn) if calls else np.zeros((len(SCORES), facts.n))
    observation = _observation(state, calls, facts, last)
    others = match.others()
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
            standard(values),
            left,
            _history(calls, ids, turn, facts),
            observation.scores,
            (facts.risk * (match.soft == 0))[None],
            (facts.reads_path * observation.path)[None],
        ]
    )
    return Features(
        tools=tools,
        none=match.none(base, others, values, (float(bool(calls)), turn_now), similarity),
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


def standard(rows: Floats) -> Floats:
    """[k, n] -> z-scores within each row; 0 where a row is constant."""
    n = rows.shape[1]
    centred: Floats = rows - np.add.reduce(rows, axis=1, keepdims=True) / n
    spread = np.sqrt(np.add.reduce(centred * centred, axis=1, keepdims=True) / n)
    centred /= np.maximum(spread, 1e-6)
    return centred


class _Match:
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
        hit = np.zeros(len(vocabulary) + 1)
        hit[self.rows] = 1.0
        hit[self.group_rows] = 1.0
        self.soft = facts.soft_name(hit)
        self.head = facts.head_share(hit)
        self.scores = self._scores(self.weights, self.group_weights)
        self.total: Floats = self.scores[3] + 0.4 * (self.scores[5] + self.scores[6])

    def _scores(self, weights: Floats, group_weights: Floats) -> Floats:
        """[SCORES, n] BM25 of the goal's words, each with its weight."""
        fields, n = self.terms.shape[1:]
        result = np.empty((len(SCORES), n))
        by_field = (weights @ self.terms.reshape(len(weights), fields * n)).reshape(fields, n)
        result[:5] = by_field[ORDER]
        by_field = (group_weights @ self.groups.reshape(len(group_weights), fields * n)).reshape(
            fields, n
        )
        result[5:] = by_field[GROUP_ORDER]
        return result

    def base(self, similarity: Floats | None) -> Floats:
        """[MATCHES (+ similarity), n]."""
        shelf, goal = self.facts.shelf, self.goal
        grams = trigrams(set(goal.tokens))
        ids = [shelf.gram_ids[gram] for gram in grams if gram in shelf.gram_ids]
        letters = shelf.gram_rows[ids].sum(axis=0) / np.sqrt(1.0 + len(grams))
        share = (shelf.idf[self.rows] @ self.in_name) / np.maximum(shelf.name_idf, 1e-6)
        rows = np.empty((len(MATCHES) + (similarity is not None), self.facts.n))
        rows[: len(SCORES)] = self.scores
        rows[len(SCORES) : len(MATCHES)] = letters, share, self.head
        if similarity is not None:
            rows[-1] = similarity
        return rows

    def left(self, ids: Sequence[int | None], turn: Sequence[float]) -> Floats:
        """[SCORES, n] z-scores of the part of the goal that calls made for it have not used up."""
        used, group_used = np.zeros(len(self.rows)), np.zeros(len(self.group_rows))
        terms, groups = self.terms[:, ALL], self.groups[:, ALL]
        most = np.maximum(terms.max(axis=1), 1e-6)
        most_group = np.maximum(groups.max(axis=1), 1e-6)
        for i, probability in zip(ids, turn, strict=True):
            if i is not None and probability > 0.05:
                np.maximum(used, probability * terms[:, i] / most, out=used)
                np.maximum(group_used, probability * groups[:, i] / most_group, out=group_used)
        return standard(
            self._scores(self.weights * (1 - used), self.group_weights * (1 - group_used))
        )

    def others(self) -> Floats:
        """[10, n] the rows "gap" to "early" of ``OTHERS``."""
        total, goal, facts = self.total, self.goal, self.facts
        order = np.sort(total)
        greatest, second = float(order[-1]), float(order[-2]) if len(order) > 1 else 0.0
        top = total == greatest
        rows = np.empty((10, facts.n))
        rows[0] = total - greatest
        rows[0][top] = greatest - second
        np.clip(rows[0], -3.0, 3.0, out=rows[0])
        rows[1] = top * (float(greatest > 0.0) / np.count_nonzero(top))
        rows[2] = (self.background @ (self.terms[:, ALL] > 0)) / self.mass
        rows[3] = (self.background @ self.in_name) / self.mass
        rows[4] = np.log1p(rows[2] * self.mass)
        rows[5] = np.log1p(self.group_weights @ (self.groups[:, ALL] > 0))
        rows[6] = [len(name) > 3 and name in goal.text for name in facts.lowered]
        rows[7] = (facts.plain_background[self.rows] @ self.in_name) / facts.name_mass
        rows[8] = self.soft
        later = np.array([1.0 - goal.positions[k] for k in self.places])[:, None]
        rows[9] = (self.in_name * later).max(axis=0, initial=0.0)
        return rows

    def none(
        self,
        base: Floats,
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
                *(base[7].max(), base[9].max(), values[0].max(), values[2, place]),
                *(math.log1p(len(self.goal.terms)), math.log1p(self.goal.clauses)),
                0.0 if similarity is None else similarity.max(),
            ]
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
    both = np.stack([fed, chained, fed | chained]).astype(float)
    shares = both @ facts.parameter_shares
    return np.concatenate([shares, facts.arity[None]])


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
        scores = standard(facts.shelf.matches[rows].sum(axis=0)[[ALL, NAME]])
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
