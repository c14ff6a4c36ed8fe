"""Words of tools, indexed: fielded BM25 over name, description and parameters, for many or few tools.

Two sizes of the same thing. ``Registry`` keeps the parsed words of any number of tools with
postings, and finds the most likely few for a goal. ``Shelf`` holds at most some dozens as dense
arrays, on which every feature is one matrix product.

BM25F: Robertson & Zaragoza 2009, The Probabilistic Relevance Framework: BM25 and Beyond, eq. 3.19
to 3.22: tf' = sum_f w_f tf_f / (1 - b_f + b_f len_f / avglen_f); score = sum_t idf_t tf' / (k1 + tf').
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from router.models import ToolDescriptor
from router.selectors.stems import concept, stem, stems
from router.words import words

__all__ = ["FIELDS", "Shelf", "ToolWords", "tool_words"]

Floats = npt.NDArray[np.float64]

FIELDS: Final = ("name", "description", "parameters", "all")
NAME, DESCRIPTION, PARAMETERS, ALL = range(4)

K1: Final = 0.9
B: Final = np.array([0.3, 0.5, 0.5])
FIELD_WEIGHTS: Final = np.array([2.5, 1.0, 0.7])
TEXT_LIMIT: Final = 2_000  # characters of a description; later ones are examples and small print
PARAMETER_LIMIT: Final = 64


@dataclass(frozen=True, slots=True)
class ToolWords:
    """The words of a tool.

    Attributes:
        name: stems of its name, in order.
        description: stems of its description, in order.
        parameters: names of its parameters, each as its stems.
        counts: term -> how often it is in name, description and parameters; the terms are stems,
            and groups of like words ("~delete") of those in the name and description.
        grams: character trigrams of the name's words.
        head: the name's and the description's first stem: mostly the verb.
    """

    name: tuple[str, ...]
    description: tuple[str, ...]
    parameters: tuple[tuple[str, ...], ...]
    counts: Mapping[str, tuple[int, int, int]]
    grams: frozenset[str]
    head: tuple[str, ...]


def trigrams(text_words: Iterable[str]) -> set[str]:
    """Character trigrams of words, with marks at their ends."""
    found: set[str] = set()
    for word in text_words:
        padded = f"^{word}$"
        found.update(padded[i : i + 3] for i in range(len(padded) - 2))
    return found


def tool_words(tool: ToolDescriptor) -> ToolWords:
    """Cut a tool into words; odd schemas count as having no parameters."""
    name = tuple(stem(word) for word in words(tool.name[:TEXT_LIMIT]))
    description = stems(tool.description[:TEXT_LIMIT])
    parameters = []
    texts: list[str] = []
    for key, value in _properties(tool.schema):
        parameters.append(tuple(stem(word) for word in words(key[:TEXT_LIMIT])))
        text = value.get("description") if isinstance(value, Mapping) else None
        texts += stems(text[:TEXT_LIMIT]) if isinstance(text, str) else ()
    fields = (name, description, (*(s for p in parameters for s in p), *texts))
    counts: dict[str, list[int]] = {}
    for field, field_stems in enumerate(fields):
        for one in field_stems:
            counts.setdefault(one, [0, 0, 0])[field] += 1
            if field != PARAMETERS:
                for group in concept(one):
                    counts.setdefault(group, [0, 0, 0])[field] += 1
    return ToolWords(
        name=name,
        description=description,
        parameters=tuple(parameters),
        counts={term: (n[0], n[1], n[2]) for term, n in counts.items()},
        grams=frozenset(trigrams(words(tool.name[:TEXT_LIMIT]))),
        head=(*name[:1], *description[:1]),
    )


def _properties(schema: object) -> list[tuple[str, Any]]:
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    if not isinstance(properties, Mapping):
        return []
    named = [(key, value) for key, value in properties.items() if isinstance(key, str)]
    return named[:PARAMETER_LIMIT]


class Shelf:
    """A few tools as dense arrays.

    Attributes:
        tools: their words, n of them.
        vocabulary: term -> row of ``matches``.
        matches: [terms, fields, n] saturated term frequency tf' / (k1 + tf') times idf, fields as
            in ``FIELDS``.
        idf: [terms] over the n tools.
        in_name: [terms, n] 1 where the term is in the name.
        name_idf: [n] summed idf of the name's different stems (groups not counted).
    """

    def __init__(self, tools: Sequence[ToolWords]) -> None:
        self.tools = tools
        n = len(tools)
        self.vocabulary: dict[str, int] = {}
        rows, columns, counts = [], [], []
        for i, tool in enumerate(tools):
            for term, count in tool.counts.items():
                rows.append(self.vocabulary.setdefault(term, len(self.vocabulary)))
                columns.append(i)
                counts.append(count)
        terms = len(self.vocabulary)
        frequency = np.zeros((terms, 3, n))
        if rows:
            frequency[rows, :, columns] = counts
        self.idf = _idf((frequency > 0).any(axis=1).sum(axis=1), n)
        lengths = np.array([[len(t.name), len(t.description), len(t.parameters)] for t in tools])
        weighted = frequency * _field_factors(lengths).T[None]
        saturated = weighted / (K1 + weighted)
        combined = weighted.sum(axis=1, keepdims=True)
        everything = np.concatenate([saturated, combined / (K1 + combined)], axis=1)
        self.matches: Floats = everything * self.idf[:, None, None]
        self.in_name: Floats = (frequency[:, NAME] > 0).astype(float)
        plain = np.array([not term.startswith("~") for term in self.vocabulary], dtype=float)
        self.name_idf: Floats = (plain * self.idf) @ self.in_name
        grams = Counter(gram for tool in tools for gram in tool.grams)
        self.gram_ids = {gram: k for k, gram in enumerate(grams)}
        self.gram_rows = np.zeros((len(grams), n))
        for i, tool in enumerate(tools):
            ids = [self.gram_ids[gram] for gram in tool.grams]
            self.gram_rows[ids, i] = 1.0
        weights = np.array([math.log1p(n / count) for count in grams.values()])
        self.gram_rows *= weights[:, None] if len(grams) else 1.0
        self.gram_rows /= np.maximum(np.sqrt((self.gram_rows**2).sum(axis=0)), 1e-9)


def _idf(document_frequency: npt.NDArray[np.int64], n: int) -> Floats:
    result: Floats = np.log1p((n - document_frequency + 0.5) / (document_frequency + 0.5))
    return result


def _field_factors(lengths: npt.NDArray[np.int64]) -> Floats:
    """[n, 3]: w_f / (1 - b_f + b_f len_f / avglen_f)."""
    average = np.maximum(lengths.mean(axis=0), 1.0)
    result: Floats = FIELD_WEIGHTS / (1.0 - B + B * lengths / average)
    return result
