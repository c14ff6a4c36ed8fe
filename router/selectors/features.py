"""Features of every tool on offer, and of "none fits", given a state: the model's input.

All features of a tool are made of three parts: how well its words match the goal (of several
fields, of the part of the goal that earlier calls have not used up, of its next clause), how it
follows on the earlier calls, and whether the values that it needs are there. Scores over the list
enter as they are, as z-scores within the list, and relative to the best.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from router.models import HarnessState, RiskLevel, ToolDescriptor
from router.selectors.lexical import ALL, DESCRIPTION, NAME, PARAMETERS, Shelf, trigrams
from router.selectors.reading import (
    Call,
    Goal,
    calls_so_far,
    cut,
    parameter_kinds,
    read_goal,
)
from router.selectors.stems import VERB_CLASSES, concept, stem, verb_class
from router.words import words

__all__ = ["CLASSES", "Facts", "Features", "features"]

Floats = npt.NDArray[np.float64]
CLASS_ID: Final = {name: i for i, name in enumerate(VERB_CLASSES)}
CLASSES: Final = len(VERB_CLASSES)
RISKY: Final = {RiskLevel.LOW: 0.0, RiskLevel.MEDIUM: 0.0, RiskLevel.HIGH: 1.0, RiskLevel.CRITICAL: 2.0}
FAILED: Final = frozenset("error fail failed failure exception timeout refused denied invalid".split())
UNKNOWN_IDF: Final = 6.0
OBSERVATION_LIMIT: Final = 1_000


@dataclass(frozen=True, slots=True)
class Features:
    """What the model sees.

    Attributes:
        tools: feature -> [n] values, one per tool.
        none: feature -> value, of "none fits".
        after: [CLASSES + 1] kinds of action of the last call; the last entry: no call, or one that
            belongs to an earlier request.
        kinds: [n, CLASSES] kinds of action of each tool.
    """

    tools: dict[str, Floats]
    none: dict[str, float]
    after: Floats
    kinds: Floats
    last: int | None
    last_in_turn: float


class Facts:
    """A shelf with what does not depend on the state."""

    def __init__(self, tools: Sequence[ToolDescriptor], shelf: Shelf) -> None:
        self.tools = tools
        self.shelf = shelf
        self.names = [tool.name for tool in tools]
        self.index = {name: i for i, name in enumerate(self.names)}
        self.lowered = [name.lower() for name in self.names]
        self.kinds = np.array([tool_kinds(t.name, t.head) for t in shelf.tools])
        self.parameters = [set(t.parameters) for t in shelf.tools]
        self.parameter_kinds = [[parameter_kinds(p) for p in t.parameters] for t in shelf.tools]
        self.risk = np.array([RISKY.get(tool.risk, 0.0) for tool in tools])
        self.heads = [
            {term for h in t.head for term in (h, *concept(h))} for t in shelf.tools
        ]
        self.name_terms = [[shelf.vocabulary[s] for s in dict.fromkeys(t.name)] for t in shelf.tools]


def tool_kinds(name: Sequence[str], head: Sequence[str]) -> Floats:
    """[CLASSES] kinds of action a tool may be, by the verbs of its name, else of its description."""
    row = np.zeros(CLASSES)
    for part in (*name, *head[1:]):
        found = verb_class(part)
        if found:
            for kind in found:
                row[CLASS_ID[kind]] = 1.0 / len(found)
            break
    return row


def standard(rows: Floats) -> Floats:
    """[k, n] -> z-scores within each row; 0 where a row is constant."""
    centred = rows - rows.mean(axis=1, keepdims=True)
    spread: Floats = np.sqrt((centred**2).mean(axis=1, keepdims=True))
    result: Floats = centred / np.maximum(spread, 1e-6)
    return result


def relative(rows: Floats) -> Floats:
    """[k, n] -> divided by the best of each row; 0 where nothing is above 0."""
    result: Floats = rows / np.maximum(rows.max(axis=1, keepdims=True), 1e-6)
    return result


def in_turn(
    goal: Goal, facts: Facts, calls: Sequence[Call], scores: Floats, weights: Sequence[float]
) -> tuple[list[float], list[list[float]]]:
    """For each call the probability that it was made for this goal, not for an earlier request."""
    best = max(float(scores.max()), 1e-6)
    inputs: list[list[float]] = []
    for back, call in enumerate(reversed(calls)):
        values = [value for _, value in call.arguments]
        meaning = [v for v in values if len(v) > 1 and v.lower() not in ("true", "false")]
        hits = sum(v.lower() in goal.text for v in meaning)
        i = facts.index.get(call.tool)
        score = float(scores[i]) / best if i is not None else 0.0
        known = float(bool(meaning))
        inputs.append(
            [
                1.0,
                float(hits > 0),
                hits / max(len(meaning), 1),
                score,
                known,
                float(score > 0.999),
                float(not values),
                float(hits > 0) * score,
                float(back > 0),
                1.0 / goal.clauses,
                min(len(goal.terms), 30) / 30,
            ]
        )
    probabilities: list[float] = []
    running = 1.0
    for row in inputs:
        z = sum(a * b for a, b in zip(row, weights, strict=False))
        running *= 1.0 / (1.0 + np.exp(-z))
        probabilities.append(float(running))
    return probabilities[::-1], inputs[::-1]


def features(
    state: HarnessState,
    facts: Facts,
    *,
    idf: Mapping[str, float],
    turn_weights: Sequence[float],
    similarity: Callable[[str, Sequence[ToolDescriptor]], Sequence[float]] | None = None,
) -> Features:
    shelf, n = facts.shelf, len(facts.tools)
    goal = read_goal(state.goal)
    calls = calls_so_far(state, facts.index)
    vocabulary, matches = shelf.vocabulary, shelf.matches
    T: dict[str, Floats] = {}

    # Goal terms and groups that some tool has.
    known = [(k, vocabulary[t]) for k, t in enumerate(goal.terms) if t in vocabulary]
    groups = [(k, vocabulary[g]) for k, g in enumerate(goal.groups) if g in vocabulary]
    weight = np.array(goal.weights)
    group_weight = np.array([max(goal.weights[i] for i in g) for g in goal.group_terms])
    rows = [k for k, _ in known]
    group_rows = [k for k, _ in groups]
    M = matches[[row for _, row in known]]  # [K, 4, n]
    G = matches[[row for _, row in groups]]
    w = weight[rows] if rows else np.zeros(0)
    gw = group_weight[group_rows] if group_rows else np.zeros(0)
    places = np.array(goal.places, dtype=float)[rows] if rows else np.zeros(0)
    group_places = np.array([goal.places[goal.group_terms[k][0]] for k in group_rows])

    def score(term_weights: Floats, group_weights: Floats) -> Floats:
        a = np.tensordot(term_weights, M, 1) if rows else np.zeros((4, n))
        b = np.tensordot(group_weights, G, 1) if group_rows else np.zeros((4, n))
        return np.stack([a[NAME], a[DESCRIPTION], a[PARAMETERS], a[ALL], b[NAME], b[DESCRIPTION]])

    full = score(w, gw)
    total = full[3] + 0.4 * (full[4] + full[5])

    # Which earlier calls were made for this goal, and what they used up of it.
    turn, inputs = in_turn(goal, facts, calls, total, turn_weights)
    used, group_used = np.zeros(len(rows)), np.zeros(len(group_rows))
    used_place = -1.0
    clause_of = np.zeros(n)
    if rows:
        by_clause = np.zeros((goal.clauses, n))
        np.add.at(by_clause, np.array(goal.places)[rows], w[:, None] * M[:, ALL])
        if group_rows:
            np.add.at(
                by_clause, group_places, 0.4 * gw[:, None] * (G[:, NAME] + G[:, DESCRIPTION])
            )
    else:
        by_clause = np.zeros((goal.clauses, n))
    clause_rel = by_clause / np.maximum(by_clause.max(axis=1, keepdims=True), 1e-6)
    # a tool's clause: where it does best against the others, weighted by its own score there
    clause_of = np.argmax(by_clause * (clause_rel + 0.2), axis=0)
    own = by_clause.max(axis=0) > 0
    last_in_turn = 0.0
    last: int | None = None
    for call, p in list(zip(calls, turn, strict=True))[-8:]:
        i = facts.index.get(call.tool)
        last_in_turn, last = p, i
        if i is None or p < 0.05:
            continue
        if rows:
            used = np.maximum(used, p * M[:, ALL, i] / np.maximum(M[:, ALL].max(axis=1), 1e-6))
        if group_rows:
            top = np.maximum(G[:, ALL].max(axis=1), 1e-6)
            group_used = np.maximum(group_used, p * G[:, ALL, i] / top)
        if own[i] and p > 0.5:
            used_place = max(used_place, float(clause_of[i]))
    residual = score(w * (1 - used), gw * (1 - group_used))
    next_place = used_place + 1
    after = score(w * (places >= next_place), gw * (group_places >= next_place))
    near = score(w * (places == next_place), gw * (group_places == next_place))
    first = score(w * (places == 0), gw * (group_places == 0))

    # Lexical base rows.
    grams = trigrams(set(goal.tokens))
    ids = [shelf.gram_ids[g] for g in grams if g in shelf.gram_ids]
    gram = shelf.gram_rows[ids].sum(axis=0) if ids else np.zeros(n)
    gram = gram / np.sqrt(1 + len(grams))
    in_name = shelf.in_name[[r for _, r in known]] if rows else np.zeros((0, n))
    idf_known = shelf.idf[[r for _, r in known]] if rows else np.zeros(0)
    name_cover = (idf_known @ in_name) / np.maximum(shelf.name_idf, 1e-6)
    heads = set(goal.terms) | set(goal.groups)
    terms_set = set(goal.terms)
    head = np.array([len(h & heads) / len(h) if h else 0.0 for h in facts.heads])
    base_names = ["name", "desc", "params", "all", "gname", "gdesc", "gram", "name_cover", "head"]
    base = np.vstack([full, gram, name_cover, head])
    if similarity is not None:
        base_names.append("similarity")
        base = np.vstack([base, np.asarray(similarity(state.goal, facts.tools), dtype=float)])
    z, rel = standard(base), relative(base)
    for k, name in enumerate(base_names):
        T[f"{name}"] = base[k] / 4.0
        T[f"{name}.z"] = z[k]
        T[f"{name}.rel"] = rel[k]
    # Rank features on the total.
    order = np.sort(total)[::-1]
    second = np.where(total == order[0], order[1] if n > 1 else 0.0, order[0])
    T["total.gap"] = np.clip(total - second, -3, 3)
    T["total.best"] = (total == order[0]) / max(int((total == order[0]).sum()), 1) * (order[0] > 0)
    # Coverage of the goal with background weights: comparable over lists.
    bg = np.array([idf.get(t, UNKNOWN_IDF) for t in goal.terms]) * weight if len(weight) else weight
    mass = max(float(bg.sum()), 1e-6)
    hit = (M[:, ALL] > 0).astype(float) if rows else np.zeros((0, n))
    T["cover"] = (bg[rows] @ hit) / mass if rows else np.zeros(n)
    T["cover_name"] = (bg[rows] @ in_name) / mass if rows else np.zeros(n)
    T["hits"] = np.log1p(bg[rows] @ hit) if rows else np.zeros(n)
    ghit = (G[:, :2].max(axis=1) > 0).astype(float) if group_rows else np.zeros((0, n))
    T["ghits"] = np.log1p(gw @ ghit) if group_rows else np.zeros(n)
    T["exact"] = np.array([float(len(x) > 3 and x in goal.text) for x in facts.lowered])
    T["name_full"] = (name_cover > 0.999) * 1.0
    # own coverage with background idf
    nb, ncov = np.zeros(n), np.zeros(n)
    for i, t in enumerate(shelf.tools):
        own_terms = dict.fromkeys(t.name)
        tot = sum(idf.get(s, UNKNOWN_IDF) for s in own_terms) or 1.0
        ncov[i] = sum(idf.get(s, UNKNOWN_IDF) for s in own_terms if s in terms_set) / tot
        nb[i] = sum(1 for s in own_terms if s in terms_set or any(c in heads for c in concept(s))) / max(len(own_terms), 1)
    T["name_bg"] = ncov
    T["name_soft"] = nb
    # Earliness: where in the goal the tool is first named.
    pos = np.array(goal.positions)[rows] if rows else np.zeros(0)
    early = np.full(n, 1.0)
    if rows:
        where = np.where(in_name > 0, pos[:, None], 1.0)
        early = where.min(axis=0)
    T["early"] = 1.0 - early

    # Values.
    earlier = {tuple(stem(x) for x in words(a)) for c in calls for a, _ in c.arguments}
    values = np.zeros((4, n))
    for i, kinds in enumerate(facts.parameter_kinds):
        if not kinds:
            continue
        fed = [bool(k & goal.kinds) for k in kinds]
        chained = [p in earlier for p in shelf.tools[i].parameters]
        values[0, i] = sum(fed) / len(kinds)
        values[1, i] = sum(chained) / len(kinds)
        values[2, i] = sum(f or c for f, c in zip(fed, chained, strict=True)) / len(kinds)
        values[3, i] = np.log1p(len(kinds))
    zv = standard(values)
    for k, name in enumerate(("fed", "chained", "ready", "arity")):
        T[f"{name}"] = values[k]
        T[f"{name}.z"] = zv[k]
    T["no_params"] = np.array([float(not p) for p in facts.parameters])

    # History.
    has = float(bool(calls))
    T_p = last_in_turn
    zs = standard(np.vstack([residual, after, near, first]))
    labels = ("name", "desc", "params", "all", "gname", "gdesc")
    for k, variant in enumerate(("residual", "after", "near", "first")):
        for j, label in enumerate(labels):
            T[f"{variant}.{label}"] = zs[6 * k + j] * has
            if variant in ("residual", "near", "after"):
                T[f"{variant}.{label}.turn"] = zs[6 * k + j] * T_p
    for k, name in enumerate(base_names):
        T[f"{name}.z.turn"] = z[k] * T_p
        T[f"{name}.z.has"] = z[k] * has
    dist = clause_of - used_place
    T["clause.back"] = ((dist < 0) & own) * T_p
    T["clause.same"] = ((dist == 0) & own) * T_p
    T["clause.next"] = ((dist == 1) & own) * T_p
    T["clause.later"] = ((dist > 1) & own) * T_p
    T["clause.first"] = ((clause_of == 0) & own) * (1 - T_p)
    T["clause.place"] = (clause_of / goal.clauses) * own * (1 - T_p)
    counts_turn, counts_before, repeat = np.zeros(n), np.zeros(n), np.zeros(n)
    for call, p in zip(calls, turn, strict=True):
        i = facts.index.get(call.tool)
        if i is not None:
            counts_turn[i] += p
            counts_before[i] += 1 - p
    T["again.turn"] = np.minimum(counts_turn, 2)
    T["again.before"] = np.log1p(counts_before)
    T["again.before.turn"] = np.log1p(counts_before) * T_p
    T["repeat"] = repeat.copy()
    T["repeat.turn"] = repeat.copy()
    T["repeat.failed"] = repeat.copy()
    T["near_last"] = np.zeros(n)
    T["near_last.turn"] = np.zeros(n)
    T["noun"] = np.zeros(n)
    T["feeds"] = np.zeros(n)
    T["feeds.new"] = np.zeros(n)
    if last is not None:
        T["repeat"][last] = 1.0
        T["repeat.turn"][last] = T_p
        failed = any(x in FAILED for x in words(cut(calls[-1].outcome, 400)))
        T["repeat.failed"][last] = float(failed)
        mine = set(shelf.tools[last].name)
        mine_params = facts.parameters[last]
        for i, t in enumerate(shelf.tools):
            if i == last:
                continue
            T["noun"][i] = len(mine & set(t.name)) / max(len(t.name), 1)
            flat = {s for q in t.parameters for s in q}
            T["feeds"][i] = len(flat & mine) / max(len(flat), 1) * T_p
            T["near_last"][i] = len(mine_params & facts.parameters[i]) / max(len(mine_params | facts.parameters[i]), 1)
        T["noun.turn"] = T["noun"] * T_p
        T["near_last.turn"] = T["near_last"] * T_p
    else:
        T["noun.turn"] = np.zeros(n)
    # same "family" as the last call: description similarity among tools
    T["family"] = np.zeros(n)
    T["family.turn"] = np.zeros(n)
    if last is not None:
        A = (matches[:, DESCRIPTION] > 0) * shelf.idf[:, None]
        sim = A.T @ A[:, last]
        norm = np.sqrt((A**2).sum(axis=0))
        sim = sim / np.maximum(norm * norm[last], 1e-6)
        T["family"] = sim
        T["family.turn"] = sim * T_p
    after_row = np.zeros(CLASSES + 1)
    if last is not None:
        after_row[:CLASSES] = facts.kinds[last] * T_p
        after_row[CLASSES] = 1 - T_p
    else:
        after_row[CLASSES] = 1.0

    N = {
        "bias": 1.0,
        "has": has,
        "turn": T_p,
        "best": float(total.max()) / 4,
        "log_best": float(np.log1p(total.max())),
        "cover": float(T["cover"].max()),
        "cover2": float((hit.max(axis=1) @ bg[rows]) / mass) if rows else 0.0,
        "cover_name": float(T["cover_name"].max()),
        "name_bg": float(ncov.max()),
        "name_soft": float(nb.max()),
        "hits": float(T["hits"].max()),
        "ghits": float(T["ghits"].max()),
        "gram": float(gram.max()),
        "head": float(head.max()),
        "fed": float(values[0].max()),
        "goal_length": float(np.log1p(len(goal.terms))),
        "clauses": float(np.log1p(goal.clauses)),
        "ready_best": float(values[2][int(total.argmax())]),
    }
    if similarity is not None:
        N["similarity"] = float(base[-1].max())
    return Features(T, N, after_row, facts.kinds, last, T_p), inputs
