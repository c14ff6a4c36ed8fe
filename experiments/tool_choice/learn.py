"""From problems to the weights of the local selector: features, fit, temperatures."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from experiments.tool_choice.augment import augmented
from experiments.tool_choice.data import SETS, Problem, fold_of
from experiments.tool_choice.training import Pairs, Table, fit_logistic, fit_logit
from router.models import ToolDescriptor
from router.selectors.facts import CLASSES, Facts, prepare
from router.selectors.features import (
    CONTEXTS,
    NONE_FEATURES,
    Features,
    features,
    tool_features,
)
from router.selectors.history import RECENT, TURN_INPUTS
from router.selectors.lexical import ToolWords, as_words
from router.selectors.local import Similarity
from router.selectors.model import Model
from router.selectors.pairs import KINDS, PairWeights, name_words
from router.selectors.stems import stems

__all__ = ["Example", "Settings", "Similarity", "learn", "read"]

Floats = npt.NDArray[np.float64]
Key = tuple[str, str, str]


PRIOR: Final = {
    ("after search", "read"): 1.0,
    ("after read", "edit"): 1.0,
    ("after edit", "test"): 1.5,
    ("after create", "test"): 0.5,
    ("after test", "keep"): 0.5,
    ("after run", "test"): 0.5,
    ("path seen", "read"): 0.5,
    ("it failed", "read"): 0.5,
    ("it failed", "keep"): -1.0,
    ("no calls", "keep"): -0.5,
    ("no calls", "edit"): -0.5,
    ("path in goal", "read"): 0.5,
}


TOOL_PRIOR: Final = {"repeat.failed": -1.5, "reads_path": 2.0}


@dataclass(frozen=True)
class Settings:
    """What is not learned; chosen by cross-validation within the fit part.

    Attributes:
        l2: of dense features.
        contexts_l2: of context times kind of action.
        pairs_l2: by kind of pair.
        pair_groups: a pair is used if the right tool had it in so many groups.
        augmented: factor on the weights of made problems; 0: none.
        cases: weight of our own agent cases.
        background_count: a stem is in the background table if so many texts have it.
        prior: means of weights of contexts times kinds, where we know better than 0; the sets have
            little of agents at work on code.
        tool_prior: likewise of features of tools that are rare in all sets.
        tool_prior_l2: of those, on the weights themselves.
        buckets: least numbers of options, none counted, with a temperature of their own.
    """

    l2: float = 30.0
    contexts_l2: float = 1000.0
    pairs_l2: Mapping[str, float] = field(
        default_factory=lambda: {"goal": 0.4, "group": 0.6, "next": 0.3, "new": 0.3, "earlier": 0.6}
    )
    pair_groups: int = 2
    augmented: float = 0.1
    cases: float = 2.0
    background_count: int = 3
    prior: Mapping[tuple[str, str], float] = field(default_factory=lambda: dict(PRIOR))
    tool_prior: Mapping[str, float] = field(default_factory=lambda: dict(TOOL_PRIOR))
    tool_prior_l2: float = 20.0
    buckets: tuple[int, ...] = (2, 6, 12)


@dataclass(frozen=True)
class Example:
    """A problem with its features and weight."""

    problem: Problem
    facts: Facts
    features: Features
    weight: float


class Shelves:
    """Words of tool lists and similarities, read once."""

    def __init__(self, similarity: Similarity | None) -> None:
        self.similarity = similarity
        self._words: dict[tuple[ToolDescriptor, ...], list[ToolWords]] = {}
        self._values: dict[tuple[str, tuple[ToolDescriptor, ...]], Floats] = {}

    def words(self, tools: tuple[ToolDescriptor, ...]) -> list[ToolWords]:
        if tools not in self._words:
            self._words[tools] = as_words(tools)
        return self._words[tools]

    def values(self, problem: Problem) -> Floats | None:
        if self.similarity is None:
            return None
        key = (problem.state.goal, problem.tools)
        if key not in self._values:
            self._values[key] = np.asarray(self.similarity(*key), dtype=float)
        return self._values[key]


def background(problems: Iterable[Problem], shelves: Shelves, least: int) -> dict[str, float]:
    """Stem -> idf over goals and tools, each tool counted once."""
    counts: Counter[str] = Counter()
    seen: set[str] = set()
    documents = 0
    for problem in problems:
        counts.update(set(stems(problem.state.goal)))
        documents += 1
        for tool, found in zip(problem.tools, shelves.words(problem.tools), strict=True):
            if tool.name not in seen:
                seen.add(tool.name)
                documents += 1
                counts.update(term for term in found.terms if not term.startswith("~"))
    return {
        term: round(math.log1p((documents - count + 0.5) / (count + 0.5)), 2)
        for term, count in sorted(counts.items())
        if count >= least
    }


def read(
    problems: Sequence[tuple[Problem, float]],
    shelves: Shelves,
    table: Mapping[str, float],
    turn: Sequence[float],
    pairs: PairWeights,
) -> list[Example]:
    """Features of problems."""
    kept: dict[tuple[ToolDescriptor, ...], Facts] = {}
    found = []
    for problem, weight in problems:
        facts = kept.get(problem.tools)
        if facts is None:
            words = shelves.words(problem.tools)
            ready = prepare(problem.tools, words, pairs)
            facts = kept[problem.tools] = Facts(ready, table)
        seen = features(problem.state, facts, turn, shelves.values(problem))
        found.append(Example(problem, facts, seen, weight))
    return found


def learn_turn(examples: Sequence[Example], l2: float = 0.5) -> list[float]:
    """Weights of ``TURN_INPUTS``, from logs of calls of which is known when the request came.

    A call is a label as long as all later ones were made for the present request.
    """
    inputs, labels = [], []
    for example in examples:
        step = example.problem.step
        if step is None:
            continue
        for back, row in enumerate(example.features.turn[:RECENT]):
            inputs.append(row)
            labels.append(float(back < step))
            if back >= step:
                break
    if not inputs:
        return [0.0] * len(TURN_INPUTS)
    weights: list[float] = fit_logistic(np.array(inputs), np.array(labels), l2).tolist()
    return weights


def learn(
    problems: Sequence[Problem],
    settings: Settings | None = None,
    similarity: Similarity | None = None,
    shelves: Shelves | None = None,
    folds: int = 5,
) -> dict[str, Any]:
    """The content of a weights file but its version and provenance.

    Temperatures come from problems that the weights of their fold have not seen.
    """
    settings = settings or Settings()
    shelves = shelves or Shelves(similarity)
    empty = PairWeights({})
    table = background(problems, shelves, settings.background_count)
    plain = [(p, settings.cases if p.source == "agent_cases" else 1.0) for p in problems]
    turn = learn_turn(read(plain, shelves, table, [0.0] * len(TURN_INPUTS), empty))
    made = [(p, w * settings.augmented) for p, w in augmented(problems) if settings.augmented]
    examples = read([*plain, *made], shelves, table, turn, empty)
    base = {"similarity": shelves.similarity is not None, "turn": _named(TURN_INPUTS, turn)}
    base |= {"background": table, "missed": 0.0}
    scores: list[Floats] = []
    gold: list[int] = []
    for fold in range(folds):
        inside = [e for e in examples if fold_of(e.problem) != fold]
        held = [e for e in examples if fold_of(e.problem) == fold and e.problem.source in SETS]
        if not inside or not held:
            continue
        model = Model(base | _weights(inside, settings) | {"temperatures": {}, "version": ""})
        words = {e.problem.tools: e for e in held}
        fresh = {
            tools: Facts(prepare(tools, shelves.words(tools), model.pairs), table)
            for tools in words
        }
        for e in held:
            facts = fresh[e.problem.tools]
            pairs = model.pair_scores(e.features, facts)
            scores.append(model.scores(e.features, facts, pairs))
        gold += [e.facts.n if e.problem.gold is None else e.problem.gold for e in held]
    temperatures = learn_temperatures(scores, gold, settings.buckets)
    return base | _weights(examples, settings) | {"temperatures": temperatures}


def learn_temperatures(
    scores: Sequence[Floats], gold: Sequence[int], buckets: Sequence[int]
) -> dict[str, float]:
    """Least number of options -> T of least log loss, by golden section over ln T."""
    found = {}
    for low, high in zip(buckets, [*buckets[1:], 2**31], strict=True):
        inside = [(s, g) for s, g in zip(scores, gold, strict=True) if low <= len(s) < high]
        if inside:
            found[str(low)] = round(_temperature(inside), 4)
    return found


def _temperature(inside: Sequence[tuple[Floats, int]]) -> float:
    def loss(log_t: float) -> float:
        total = 0.0
        for s, g in inside:
            z = (s - s.max()) / math.exp(log_t)
            total += math.log(np.exp(z).sum()) - z[g]
        return total

    low, high, ratio = math.log(0.2), math.log(5.0), (math.sqrt(5.0) - 1.0) / 2.0
    while high - low > 1e-3:
        a, b = high - ratio * (high - low), low + ratio * (high - low)
        low, high = (low, b) if loss(a) < loss(b) else (a, high)
    return math.exp((low + high) / 2.0)


def _named(names: Sequence[str], values: Iterable[float]) -> dict[str, float]:
    return {name: round(float(value), 5) for name, value in zip(names, values, strict=True)}


def _weights(examples: Sequence[Example], settings: Settings) -> dict[str, Any]:
    """Fit tools, none, contexts and pairs."""
    similarity = len(examples[0].features.tools) == len(tool_features(True))
    names = tool_features(similarity)
    sizes = (len(names), len(NONE_FEATURES), len(CONTEXTS) * len(CLASSES))
    l2 = np.repeat([settings.l2, settings.l2, settings.contexts_l2], sizes)
    keys = _pair_keys(examples, settings.pair_groups)
    pair_l2 = np.array([settings.pairs_l2[kind] for kind, _, _ in keys])
    prior = np.zeros(sum(sizes))
    for (context, kind), mean in settings.prior.items():
        place = CONTEXTS.index(context) * len(CLASSES) + CLASSES.index(kind)
        prior[sizes[0] + sizes[1] + place] = mean
    table = _table(examples, keys, sizes)
    for name, mean in settings.tool_prior.items():
        place = names.index(name)
        prior[place] = mean
        l2[place] = settings.tool_prior_l2 / max(float((table.dense[:, place] ** 2).mean()), 1e-9)
    dense, pairs = fit_logit(table, l2, pair_l2, prior)
    tools, none, contexts = np.split(dense, np.cumsum(sizes)[:-1])
    grid = contexts.reshape(len(CONTEXTS), len(CLASSES))
    nested: dict[str, dict[str, dict[str, float]]] = {kind: {} for kind in KINDS}
    for (kind, first, second), weight in zip(keys, pairs, strict=True):
        if abs(weight) >= 5e-4:
            nested[kind].setdefault(first, {})[second] = round(float(weight), 3)
    return {
        "tools": _named(names, tools),
        "none": _named(NONE_FEATURES, none),
        "contexts": {c: _named(CLASSES, row) for c, row in zip(CONTEXTS, grid, strict=True)},
        "pairs": nested,
    }


def _pairs_of(example: Example, i: int) -> Iterable[tuple[Key, float]]:
    for second, share in name_words(example.facts.shelf.tools[i]).items():
        grouped = second.startswith("~")
        for kind, first, amount in example.features.pairs:
            if (kind == "group") == grouped:
                yield (kind, first, second), amount * share


def _pair_keys(examples: Sequence[Example], least: int) -> list[Key]:
    groups: defaultdict[Key, set[str]] = defaultdict(set)
    for example in examples:
        problem = example.problem
        if problem.gold is not None and "+" not in problem.source:
            for key, _ in _pairs_of(example, problem.gold):
                groups[key].add(problem.group)
    return sorted(key for key, found in groups.items() if len(found) >= least)


def _table(examples: Sequence[Example], keys: Sequence[Key], sizes: tuple[int, ...]) -> Table:
    columns = {key: k for k, key in enumerate(keys)}
    height = sum(e.facts.n + 1 for e in examples)
    dense = np.zeros((height, sum(sizes)))
    a, b = sizes[0], sizes[0] + sizes[1]
    starts, gold = [], []
    rows, cells, values = [], [], []
    at = 0
    for example in examples:
        n, seen = example.facts.n, example.features
        dense[at : at + n, :a] = seen.tools.T
        dense[at + n, a:b] = seen.none
        dense[at : at + n, b:] = np.einsum("c,nk->nck", seen.contexts, example.facts.kinds).reshape(
            n, -1
        )
        for i in range(n):
            for key, value in _pairs_of(example, i):
                column = columns.get(key)
                if column is not None:
                    rows.append(at + i)
                    cells.append(column)
                    values.append(value)
        starts.append(at)
        gold.append(at + (n if example.problem.gold is None else example.problem.gold))
        at += n + 1
    sparse = Pairs(
        np.array(rows, dtype=np.int64), np.array(cells, dtype=np.int64), np.array(values), len(keys)
    )
    return Table(
        dense, sparse, np.array(starts), np.array(gold), np.array([e.weight for e in examples])
    )
