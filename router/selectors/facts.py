"""What of a list of tools does not depend on the state: kinds of action, parameters, kinship."""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from router.models import RiskLevel, ToolDescriptor
from router.selectors.lexical import DESCRIPTION, Shelf, ToolWords
from router.selectors.pairs import NameTable, PairWeights
from router.selectors.reading import KINDS, parameter_kinds
from router.selectors.stems import VERB_CLASSES, concept, stem, verb_class
from router.words import words

__all__ = ["CLASSES", "Facts"]

Floats = npt.NDArray[np.float64]

CLASSES: Final = VERB_CLASSES
CLASS_ID: Final = {name: i for i, name in enumerate(CLASSES)}
RISK: Final = {RiskLevel.HIGH: 1.0, RiskLevel.CRITICAL: 2.0}
UNKNOWN_BACKGROUND: Final = 6.0
"""Background weight of a word that the table does not have: rarer than all that it has."""


class Facts:
    """A list of tools with its dense index.

    Args:
        tools: on offer, n of them.
        tool_words: their words.
        pairs: learned pairs of words.
        background: stem -> idf over many tools and goals.
    """

    def __init__(
        self,
        tools: Sequence[ToolDescriptor],
        tool_words: Sequence[ToolWords],
        pairs: PairWeights,
        background: Mapping[str, float],
    ) -> None:
        self.tools = tuple(tools)
        self.n = len(tools)
        self.shelf = shelf = Shelf(tool_words)
        self.index = {tool.name: i for i, tool in enumerate(tools)}
        self.lowered = [tool.name.lower() for tool in tools]
        self.families = [tool.family for tool in tool_words]
        self.names = NameTable(tool_words, pairs)
        self._background = background
        self.kinds = np.stack(
            [_kinds(w, tool.category) for w, tool in zip(tool_words, tools, strict=True)]
        )
        self.risk = np.array([RISK.get(tool.risk, 0.0) for tool in tools])
        weights = [0.0 if t.startswith("~") else self.background(t) for t in shelf.vocabulary]
        self.plain_background = np.array([*weights, 0.0])
        self.name_mass = np.maximum(self.plain_background @ shelf.in_name, 1e-6)
        self._read_names()
        self._read_parameters()
        self._following: dict[int, Floats] = {}

    def background(self, term: str) -> float:
        """Background idf of a stem."""
        return self._background.get(term, UNKNOWN_BACKGROUND)

    def _read_names(self) -> None:
        """Rows of each name's stems with their groups, and of the heads with theirs, padded."""
        vocabulary, tools = self.shelf.vocabulary, self.shelf.tools
        name_parts = [(i, s) for i, t in enumerate(tools) for s in dict.fromkeys(t.name)]
        self._name_owner = np.array([i for i, _ in name_parts], dtype=np.int64)
        self._name_rows = self._padded(
            [[vocabulary[x] for x in (s, *concept(s))] for _, s in name_parts]
        )
        counts = np.bincount(self._name_owner, minlength=self.n)
        self._name_counts = np.maximum(counts, 1)
        heads = [
            list(dict.fromkeys(vocabulary[x] for s in t.head for x in (s, *concept(s))))
            for t in tools
        ]
        self._head_rows = self._padded(heads)
        self._head_counts = np.maximum([len(rows) for rows in heads], 1)

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
        tools = self.shelf.tools
        listed = [(i, name) for i, tool in enumerate(tools) for name in tool.parameters]
        kinds = [parameter_kinds(name) for _, name in listed]
        self.kinds_of_parameters = np.array(
            [[float(kind in found) for kind in KINDS] for found in kinds]
        ).reshape(len(listed), len(KINDS))
        self.parameter_rows: dict[tuple[str, ...], list[int]] = {}
        self.parameter_shares = np.zeros((len(listed), self.n))
        for row, (i, name) in enumerate(listed):
            self.parameter_rows.setdefault(name, []).append(row)
            self.parameter_shares[row, i] = 1.0 / len(tools[i].parameters)
        counts = np.array([len(tool.parameters) for tool in tools])
        self.arity = np.log1p(counts)
        self.no_parameters = (counts == 0).astype(float)
        path = self.parameter_shares.T @ self.kinds_of_parameters[:, KINDS.index("path")] > 0
        self.reads_path = path * (self.kinds[:, CLASS_ID["read"]] > 0)

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
        weighted = (self.shelf.matches[:, DESCRIPTION] > 0) * self.shelf.idf[:, None]
        norms = np.sqrt((weighted**2).sum(axis=0))
        rows[3] = (weighted.T @ weighted[:, last]) / np.maximum(norms * norms[last], 1e-6)
        rows[:, last] = 0.0
        return rows


def _kinds(tool: ToolWords, category: str | None) -> Floats:
    """[CLASSES] kinds of action a tool may be: by the verb of its name, else of its description,
    else by its category.
    """
    row = np.zeros(len(CLASSES))
    named = tuple(map(stem, words(category[:200]))) if category else ()
    for part in (*tool.name, *tool.description[:1], *named):
        found = verb_class(part)
        if found:
            row[[CLASS_ID[kind] for kind in found]] = 1.0 / len(found)
            break
    return row
