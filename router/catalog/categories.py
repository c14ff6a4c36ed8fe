"""What kind of action a tool is, by its words: one of ten public categories."""

from collections.abc import Mapping
from typing import Any, Final

from router.catalog.acts import LOW
from router.catalog.lexicon import lexicon
from router.catalog.risk import read_tool
from router.words import words

__all__ = ["CATEGORIES", "infer_category"]

CATEGORIES: Final = (
    "inspect",
    "mutate",
    "execute",
    "verify",
    "git",
    "browser",
    "memory",
    "network",
    "finish",
    "general",
)
OF_KIND: Final = {
    "read": "inspect",
    "change": "mutate",
    "input": "mutate",
    "end": "mutate",
    "destroy": "mutate",
    "rights": "mutate",
    "run": "execute",
    "send": "network",
    "pay": "network",
}
FIELDS: Final = {"url": "network", "urls": "network", "command": "execute", "code": "execute"}
NAME_WEIGHT: Final = 3
FIELD_WEIGHT: Final = 2
ENOUGH: Final = 6  # one telling word of the name, or two such words of the first sentence
NOT_BY_READING: Final = frozenset({"verify", "execute"})
LOOKS: Final = frozenset(
    {"get", "list", "read", "show", "view", "find", "search", "query", "describe"}
)


def infer_category(
    name: str,
    description: str,
    schema: Mapping[str, Any] | None = None,
    annotations: Mapping[str, Any] | None = None,
) -> str:
    """The category of a tool whose host did not state it; one of ``CATEGORIES``.

    Words of a field of work (git, a browser, memory, the network, tests, commands) add up, those
    of the name three times as heavy as those of the first sentence. Where none weighs enough, the
    verb tells: what reads is "inspect", what changes is "mutate".

    Args:
        name: of the tool.
        description: in words; may be empty.
        schema: JSON schema of its arguments, or None: fields such as "url" or "command" count.
        annotations: of MCP, or None; its ``readOnlyHint`` and ``destructiveHint`` stand in for a
            verb where there is none.
    """
    named = words(name)
    if "_".join(named) in lexicon().finish:
        return "finish"
    heaviest = _field_of_work(named, read_tool(name, description).described.words, schema)
    if heaviest is not None:
        return heaviest
    return _by_verb(name, description, annotations)


def _field_of_work(
    named: tuple[str, ...], sentence: tuple[str, ...], schema: Mapping[str, Any] | None
) -> str | None:
    known = lexicon().categories
    weights: dict[str, int] = {}
    for words_of, times in ((set(named), NAME_WEIGHT), (set(sentence), 1)):
        for word in words_of & known.keys():
            for category, weight in known[word].items():
                weights[category] = weights.get(category, 0) + times * weight
    fields = schema.get("properties") if isinstance(schema, Mapping) else None
    if isinstance(fields, Mapping):
        for field in FIELDS.keys() & fields.keys():
            weights[FIELDS[field]] = weights.get(FIELDS[field], 0) + FIELD_WEIGHT
    if not LOOKS.isdisjoint(named):  # "get_test_report" looks, it does not test
        weights = {name: w for name, w in weights.items() if name not in NOT_BY_READING}
    enough = [category for category in CATEGORIES if weights.get(category, 0) >= ENOUGH]
    return max(enough, key=lambda category: weights[category], default=None)


def _by_verb(name: str, description: str, annotations: Mapping[str, Any] | None) -> str:
    named, described, level = read_tool(name, description)
    acts = named.acts if named.is_clear or not described.lead else described.lead
    if acts and level == LOW:
        return "inspect"  # also what runs a query that only reads
    if acts:
        return OF_KIND[max(acts, key=lambda act: act.level).kind]
    said = annotations if isinstance(annotations, Mapping) else {}
    if said.get("readOnlyHint") is True:
        return "inspect"
    return "mutate" if said.get("destructiveHint") is True else "general"
