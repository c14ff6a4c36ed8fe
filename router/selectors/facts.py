"""What of a list of tools does not depend on the state: kinds of action, parameters, kinship."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from router.models import RiskLevel, ToolDescriptor
from router.selectors.lexical import Shelf, ToolWords, inverse_frequency
from router.selectors.pairs import PairWeights, name_words
from router.selectors.reading import KINDS, parameter_kinds
from router.selectors.stems import VERB_CLASSES, stem, verb_class
from router.words import words

__all__ = ["CLASSES", "Facts", "NameShares", "Prepared", "prepare"]

Floats = npt.NDArray[np.float64]

CLASSES: Final = VERB_CLASSES
CLASS_ID: Final = {name: i for i, name in enumerate(CLASSES)}
RISK: Final = {RiskLevel.HIGH: 1.0, RiskLevel.CRITICAL: 2.0}
UNKNOWN_BACKGROUND: Final = 6.0
"""Background weight of a word that the table does not have: rarer than all that it has."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """What of one tool does not depend on the others.

    Attributes:
        tool, words: the tool and its words.
        kinds: [CLASSES] kinds of action it may be, sum 1 or 0.
        seconds, shares: second words of learned pairs that its name has, and their shares.
        parameter_kinds: [parameters, KINDS] 1 where a parameter takes a kind of value.
    """

    tool: ToolDescriptor
    words: ToolWords
    kinds: Floats
    seconds: npt.NDArray[np.int64]
    shares: Floats
    parameter_kinds: Floats


def prepare(
    tools: Sequence[ToolDescriptor], cut_up: Sequence[ToolWords], pairs: PairWeights
) -> list[Prepared]:
    """Prepare tools whose words are ``cut_up``."""
    return [_prepared(tool, found, pairs) for tool, found in zip(tools, cut_up, strict=True)]


def _prepared(tool: ToolDescriptor, found: ToolWords, pairs: PairWeights) -> Prepared:
    named = [
        (pairs.seconds[word], share)
        for word, share in name_words(found).items()
        if word in pairs.seconds
    ]
    kinds = [parameter_kinds(name) for name in found.parameters]
    table = [[float(kind in one) for kind in KINDS] for one in kinds]
    return Prepared(
        tool=tool,
        words=found,
        kinds=_kinds(found, tool.category),
        seconds=np.array([row for row, _ in named], dtype=np.int64),
        shares=np.array([share for _, share in named]),
        parameter_kinds=np.array(table).reshape(len(kinds), len(KINDS)),
    )


class NameShares:
    """Second words of learned pairs in the names of n tools."""

    def __init__(self, prepared: Sequence[Prepared]) -> None:
        self._n = len(prepared)
        self._owners = np.repeat(np.arange(self._n), [len(one.seconds) for one in prepared])
        self._seconds = np.concatenate([one.seconds for one in prepared])
        self._shares = np.concatenate([one.shares for one in prepared])

    def of(self, by_second: Floats) -> Floats:
        """[n] sum over a name's second words of what each adds, ``by_second``, times its share."""
        values = by_second[self._seconds] * self._shares
        return np.bincount(self._owners, values, self._n).astype(float)


class Facts:
    """A list of tools with its dense index.

    Args:
        prepared: n tools on offer.
        background: stem -> idf over many tools and goals.
        wanted: terms that will be asked about, or None: all; see ``Shelf``.
    """

    def __init__(
        self,
        prepared: Sequence[Prepared],
        background: Mapping[str, float],
        wanted: Iterable[str] | None = None,
    ) -> None:
        self.prepared = prepared
        self.tools = tools = tuple(one.tool for one in prepared)
        self.n = len(tools)
        self.shelf = shelf = Shelf([one.words for one in prepared], wanted)
        self.index = {tool.name: i for i, tool in enumerate(tools)}
        self.lowered = [tool.name.lower() for tool in tools]
        self.families = [one.words.family for one in prepared]
        self.kinds = np.stack([one.kinds for one in prepared])
        self.risk = np.array([RISK.get(tool.risk, 0.0) for tool in tools])
        self.names = NameShares(prepared)
        self._background = background
        weights = [0.0 if t.startswith("~") else self.background(t) for t in shelf.vocabulary]
        self.plain_background = np.array([*weights, 0.0])
        self._read_names()
        self._read_parameters()
        self._following: dict[int, Floats] = {}

    def background(self, term: str) -> float:
        """Background idf of a stem."""
        return self._background.get(term, UNKNOWN_BACKGROUND)

    def _read_names(self) -> None:
        """Rows of each name's stems with their groups, and of the heads with theirs, padded."""
        vocabulary = self.shelf.vocabulary
        words = [one.words for one in self.prepared]
        counts = [len(one.name_parts) for one in words]
        self._name_owner = np.repeat(np.arange(self.n), counts)
        self._name_rows = self._padded(
            [[vocabulary[term] for term in part] for one in words for part in one.name_parts]
        )
        self._name_counts = np.maximum(counts, 1)
        mass = self.plain_background[self._name_rows[:, 0]]
        self.name_mass = np.maximum(np.bincount(self._name_owner, mass, self.n), 1e-6)
        self._head_rows = self._padded([[vocabulary[t] for t in one.head] for one in words])
        self._head_counts = np.maximum([len(one.head) for one in words], 1)

    def _padded(self, rows: Sequence[Sequence[int]]) -> npt.NDArray[np.int64]:
        """Rows of the vocabulary filled up with its empty last row."""
        width = max((len(row) for row in rows), default=0)
        table = np.full((len(rows), max(width, 1)), len(self.shelf.vocabulary), dtype=np.int64)
        for k, row in enumerate(rows):
            table[k, : len(row)] = row
        return table

    def soft_name(self, hit: Floats) -> Floats:
        """[n] share of a name's stems of which the goal has the stem or one that means alike."""
        found = hit[self._name_rows].max(axis=1)
        result: Floats = np.bincount(self._name_owner, found, self.n) / self._name_counts
        return result

    def head_share(self, hit: Floats) -> Floats:
        """[n] share of the heads' stems and groups that the goal has."""
        result: Floats = hit[self._head_rows].sum(axis=1) / self._head_counts
        return result

    def _read_parameters(self) -> None:
        listed = [one.words.parameters for one in self.prepared]
        counts = np.array([len(names) for names in listed])
        owners = np.repeat(np.arange(self.n), counts)
        self.kinds_of_parameters = np.concatenate([one.parameter_kinds for one in self.prepared])
        self.parameter_rows: dict[tuple[str, ...], list[int]] = {}
        for row, name in enumerate(chain.from_iterable(listed)):
            self.parameter_rows.setdefault(name, []).append(row)
        self._parameter_owners, self._parameter_counts = owners, np.maximum(counts, 1)
        self.arity = np.log1p(counts)
        self.no_parameters = (counts == 0).astype(float)
        path = self.parameter_share(self.kinds_of_parameters[:, KINDS.index("path")]) > 0
        self.reads_path = path * (self.kinds[:, CLASS_ID["read"]] > 0)

    def parameter_share(self, marked: npt.NDArray[Any]) -> Floats:
        """[n] share of each tool's parameters that are marked by 1; 0 if it has none."""
        found = np.bincount(self._parameter_owners, marked, self.n)
        result: Floats = found / self._parameter_counts
        return result

    def goal_kinds(self, kinds: frozenset[str]) -> Floats:
        """[KINDS] 1 for each kind of value that the goal has."""
        return np.array([float(kind in kinds) for kind in KINDS])

    def following(self, last: int) -> Floats:
        """[5, n] how each tool follows on tool ``last``, 0 for itself.

        noun: share of its name's stems that are in the last one's name. feeds: share of its
        parameters' stems that are in the last one's name. alike: parameters in common over those of
        either. kin: likeness of the descriptions. kin_text: 1 if of the same family.
        """
        kept = self._following.get(last)
        if kept is None:
            kept = self._following[last] = self._follow(last)
        return kept

    def _follow(self, last: int) -> Floats:
        tools = self.shelf.tools
        before = tools[last]
        name, parameters = set(before.name), set(before.parameters)
        rows = np.zeros((5, self.n))
        for i, tool in enumerate(tools):
            asked = {part for parameter in tool.parameters for part in parameter}
            rows[0, i] = len(name & set(tool.name)) / max(len(tool.name), 1)
            rows[1, i] = len(asked & name) / max(len(asked), 1)
            either = parameters | set(tool.parameters)
            rows[2, i] = len(parameters & set(tool.parameters)) / max(len(either), 1)
            rows[4, i] = float(tool.family == before.family)
        rows[3] = self._kinship(last)
        rows[:, last] = 0.0
        return rows

    def _kinship(self, last: int) -> Floats:
        """[n] cosine of each description with that of tool ``last``, words weighted by idf."""
        described = [frozenset(tool.description) for tool in self.shelf.tools]
        counts = Counter(chain.from_iterable(sorted(one) for one in described))
        terms = list(counts)
        idf = inverse_frequency(np.array(list(counts.values())), self.n) if terms else np.zeros(0)
        squared = dict(zip(terms, (idf * idf).tolist(), strict=True))
        sums = np.array([sum(squared[t] for t in sorted(one)) for one in described])
        common = [sum(squared[t] for t in sorted(one & described[last])) for one in described]
        result: Floats = np.array(common) / np.maximum(np.sqrt(sums * sums[last]), 1e-6)
        return result


def _kinds(tool: ToolWords, category: str | None) -> Floats:
    """[CLASSES] kinds of action a tool may be: by the verb of its name, else of its description,
    else by its category. A name that runs something may say what: "run_tests".
    """
    row = np.zeros(len(CLASSES))
    named = tuple(map(stem, words(category[:200]))) if category else ()
    share = 1.0
    for part in (*tool.name, *tool.description[:1], *named):
        found = verb_class(part)
        if found:
            row[[CLASS_ID[kind] for kind in found]] += share / len(found)
            if found != ("run",) or share < 1.0:
                break
            share = 0.5
    total = row.sum()
    return row / total if total > 0.0 else row
