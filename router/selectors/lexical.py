"""Words of tools: cut up, and a few tools as dense arrays for fielded BM25.

BM25F: Robertson & Zaragoza 2009, The Probabilistic Relevance Framework: BM25 and Beyond, eq. 3.19
to 3.22: tf' = sum_f w_f tf_f / (1 - b_f + b_f len_f / avglen_f),
score = sum_t idf_t tf' / (k1 + tf').
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from router.models import ToolDescriptor
from router.selectors.stems import concept, stem, stems
from router.words import words

__all__ = ["FIELDS", "Shelf", "ToolWords", "as_words", "inverse_frequency", "trigrams"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

FIELDS: Final = ("name", "description", "parameters", "family")
NAME, DESCRIPTION, PARAMETERS, FAMILY, ALL = range(5)

K1: Final = 0.9
B: Final = np.array([0.3, 0.5, 0.5, 0.0])
FIELD_WEIGHTS: Final = np.array([2.5, 1.0, 0.7, 0.2])
NAME_LIMIT: Final = 200  # characters
TEXT_LIMIT: Final = 2_000  # characters of a description; later ones are examples and small print
PARAMETER_LIMIT: Final = 64
WORDS_KEPT: Final = 4_096
FAMILY_LENGTH: Final = 24


@dataclass(frozen=True, slots=True)
class ToolWords:
    """The words of a tool.

    Attributes:
        name: stems of its name, in order.
        description: stems of its description without the family's beginning, in order.
        parameters: names of its parameters, each as its stems.
        terms: different stems, and groups of like words ("~delete") of those in the name and the
            description.
        counts: [terms, fields] how often each is in each of ``FIELDS``.
        grams: character trigrams of the name's words, sorted.
        name_parts: the name's different stems, each followed by its groups.
        head: first stem of the name and of the description, mostly the verb, with their groups.
        named: all terms of ``name_parts`` and ``head``.
        family: the description's beginning that it shares with other tools, or "".
    """

    name: tuple[str, ...]
    description: tuple[str, ...]
    parameters: tuple[tuple[str, ...], ...]
    terms: tuple[str, ...]
    counts: Floats
    grams: tuple[str, ...]
    name_parts: tuple[tuple[str, ...], ...]
    head: tuple[str, ...]
    named: tuple[str, ...]
    family: str


def trigrams(text_words: Iterable[str]) -> set[str]:
    """Character trigrams of words, with marks at their ends."""
    found: set[str] = set()
    for word in text_words:
        padded = f"^{word[:NAME_LIMIT]}$"
        found.update([padded[i : i + 3] for i in range(len(padded) - 2)])
    return found


def as_words(tools: Sequence[ToolDescriptor]) -> list[ToolWords]:
    """Cut tools into words; an odd schema counts as one without parameters."""
    shared = _shared_beginnings([tool.description[:TEXT_LIMIT] for tool in tools])
    return [_tool_words(tool, length) for tool, length in zip(tools, shared, strict=True)]


def _shared_beginnings(texts: Sequence[str]) -> list[int]:
    """Of each description how many characters of its beginning a family of tools shares.

    Servers often begin every description with the same sentences; those say which family a tool
    is of, but not what it does. A family: three tools or more with the same first 24 characters.
    """
    families: dict[str, list[int]] = {}
    for i, text in enumerate(texts):
        if len(text) >= FAMILY_LENGTH:
            families.setdefault(text[:FAMILY_LENGTH], []).append(i)
    lengths = [0] * len(texts)
    for members in families.values():
        if len(members) < 3:
            continue
        low, high = min(texts[i] for i in members), max(texts[i] for i in members)
        pairs = enumerate(zip(low, high, strict=False))
        length = next((k for k, (a, b) in pairs if a != b), min(len(low), len(high)))
        for i in members:
            lengths[i] = low.rfind(" ", 0, length + 1) + 1
    return lengths


def _tool_words(tool: ToolDescriptor, shared: int) -> ToolWords:
    name_words = words(tool.name[:NAME_LIMIT])
    name = tuple(map(stem, name_words))
    description = stems(tool.description[shared:TEXT_LIMIT])
    parameters: list[tuple[str, ...]] = []
    texts: list[str] = []
    for key, value in _properties(tool.schema):
        parameters.append(tuple(map(stem, words(key[:NAME_LIMIT]))))
        text = value.get("description") if isinstance(value, Mapping) else None
        texts += stems(text[:NAME_LIMIT]) if isinstance(text, str) else ()
    asked = [one for parameter in parameters for one in parameter] + texts
    counts: dict[str, list[int]] = {}
    for field, found in enumerate((name, description, asked, stems(tool.description[:shared]))):
        for one in found:
            counts.setdefault(one, [0, 0, 0, 0])[field] += 1
            if field in (NAME, DESCRIPTION):
                for group in concept(one):
                    counts.setdefault(group, [0, 0, 0, 0])[field] += 1
    parts = tuple((one, *concept(one)) for one in dict.fromkeys(name))
    heads = (*name[:1], *description[:1])
    head = dict.fromkeys(term for one in heads for term in (one, *concept(one)))
    return ToolWords(
        name=name,
        description=description,
        parameters=tuple(parameters),
        terms=tuple(counts),
        counts=np.array(list(counts.values()), dtype=float).reshape(len(counts), len(FIELDS)),
        grams=tuple(sorted(trigrams(name_words))),
        name_parts=parts,
        head=tuple(head),
        named=tuple(dict.fromkeys([*chain.from_iterable(parts), *head])),
        family=tool.description[:shared],
    )


def _properties(schema: object) -> list[tuple[str, Any]]:
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    if not isinstance(properties, Mapping):
        return []
    named = [(key, value) for key, value in properties.items() if isinstance(key, str)]
    return named[:PARAMETER_LIMIT]


def inverse_frequency(frequency: npt.NDArray[Any], n: int) -> Floats:
    """ln(1 + (n - df + .5) / (df + .5)): above 0 even for a term that all of n tools have."""
    result: Floats = np.log1p((n - frequency + 0.5) / (frequency + 0.5))
    return result


def field_factors(lengths: Ints) -> Floats:
    """[n, fields] lengths -> w_f / (1 - b_f + b_f len_f / avglen_f)."""
    average = np.maximum(lengths.mean(axis=0), 1.0)
    result: Floats = FIELD_WEIGHTS / (1.0 - B + B * lengths / average)
    return result


def field_lengths(tools: Sequence[ToolWords]) -> Ints:
    """[n, fields] words per field; 0 for the family's, which is not normalised."""
    return np.array(
        [[len(t.name), len(t.description), len(t.parameters), 0] for t in tools], dtype=np.int64
    )


class Shelf:
    """A few tools as dense arrays.

    Args:
        tools: their words, n of them.
        wanted: terms that will be asked about; the others are left out, but those of names. None:
            all terms of the tools are kept.

    Attributes:
        tools: as given.
        vocabulary: term -> row.
        matches: [terms + 1, fields + 1, n] saturated term frequency tf' / (k1 + tf') times idf, of
            each field alone and last of all together; the row after the last term is 0.
        idf: [terms + 1] over the n tools.
        in_name: [terms + 1, n] 1 where the term is in the name.
        name_idf: [n] summed idf of the name's different stems (groups not counted).
    """

    def __init__(self, tools: Sequence[ToolWords], wanted: Iterable[str] | None = None) -> None:
        self.tools = tools
        n = len(tools)
        every = tuple(chain.from_iterable(tool.terms for tool in tools))
        if wanted is None:
            kept = dict.fromkeys(every)
        else:
            present = set(every)
            kept = dict.fromkeys(term for tool in tools for term in tool.named)
            kept.update(dict.fromkeys(term for term in wanted if term in present))
        self.vocabulary: dict[str, int] = {term: row for row, term in enumerate(kept)}
        rows = np.array([self.vocabulary.get(term, -1) for term in every], dtype=np.int64)
        columns = np.repeat(np.arange(n), [len(tool.terms) for tool in tools])
        counts = np.concatenate([tool.counts for tool in tools])
        counts *= field_factors(field_lengths(tools))[columns]
        asked = rows >= 0
        rows, columns, counts = rows[asked], columns[asked], counts[asked]
        shape = (len(kept) + 1, len(FIELDS) + 1, n)
        self.idf = inverse_frequency(np.bincount(rows, minlength=shape[0]), n)
        self.matches: Floats = np.zeros(shape)
        counts = np.concatenate([counts, counts.sum(axis=1, keepdims=True)], axis=1)
        counts = counts / (K1 + counts) * self.idf[rows, None]
        self.matches[rows, :, columns] = counts
        self.in_name: Floats = (self.matches[:, NAME] > 0).astype(float)
        names = [[self.vocabulary[part[0]] for part in tool.name_parts] for tool in tools]
        self.name_idf = np.array([float(self.idf[found].sum()) for found in names])
        self._gram_ids, self._gram_rows = _gram_table(tools)
        self._word_grams: dict[str, tuple[list[int], int]] = {}

    def letters(self, tokens: Iterable[str]) -> Floats:
        """[n] likeness of each name to words by their character trigrams, for any language."""
        kept = self._word_grams
        if len(kept) > WORDS_KEPT:
            kept.clear()
        found: list[int] = []
        count = 1
        for token in dict.fromkeys(tokens):
            entry = kept.get(token)
            if entry is None:
                grams = sorted(trigrams((token,)))
                ids = [self._gram_ids[gram] for gram in grams if gram in self._gram_ids]
                entry = kept[token] = ids, len(grams)
            found += entry[0]
            count += entry[1]
        result: Floats = self._gram_rows[found].sum(axis=0) / math.sqrt(count)
        return result


def _gram_table(tools: Sequence[ToolWords]) -> tuple[dict[str, int], Floats]:
    every = tuple(chain.from_iterable(tool.grams for tool in tools))
    ids = {gram: row for row, gram in enumerate(dict.fromkeys(every))}
    table = np.zeros((len(ids), len(tools)))
    rows = [ids[gram] for gram in every]
    table[rows, np.repeat(np.arange(len(tools)), [len(tool.grams) for tool in tools])] = 1.0
    table *= np.log1p(len(tools) / np.maximum(table.sum(axis=1, keepdims=True), 1.0))
    table /= np.maximum(np.sqrt((table * table).sum(axis=0)), 1e-9)
    return ids, table
