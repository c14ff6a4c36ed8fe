"""What kind of action a tool is, by its words: one of ten public categories."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from router.catalog.acts import LOW
from router.catalog.lexicon import lexicon
from router.catalog.risk import NAME_LIMIT, TEXT_LIMIT, Reading, read_tool
from router.words import words

__all__ = ["CATEGORIES", "infer_category"]

CATEGORIES: Final[tuple[str, ...]] = (
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
    weights, by_verb = _read(name[:NAME_LIMIT], description[:TEXT_LIMIT])
    fields = schema.get("properties") if isinstance(schema, Mapping) else None
    if isinstance(fields, Mapping) and not FIELDS.keys().isdisjoint(fields):
        weights = dict(weights)
        for field in FIELDS.keys() & fields.keys():
            weights[FIELDS[field]] = weights.get(FIELDS[field], 0) + FIELD_WEIGHT
    heaviest = max(weights, key=lambda category: weights[category], default="general")
    if weights.get(heaviest, 0) >= ENOUGH:
        return heaviest
    return by_verb or _by_annotations(annotations)


@lru_cache(maxsize=8_192)
def _read(name: str, description: str) -> tuple[dict[str, int], str | None]:
    """The weights of the fields of work, and the category by the verb, None if there is none."""
    named, reading = words(name), read_tool(name, description)
    if "_".join(named) in lexicon().finish:
        return {"finish": ENOUGH + FIELD_WEIGHT}, "finish"
    weights: dict[str, int] = {}
    known = lexicon().categories
    for telling, times in ((set(named), NAME_WEIGHT), (set(reading.described.words), 1)):
        for word in known.keys() & telling:
            for category, weight in known[word].items():
                weights[category] = weights.get(category, 0) + times * weight
    if not LOOKS.isdisjoint(named):  # "get_test_report" looks, it does not test
        weights = {field: w for field, w in weights.items() if field not in NOT_BY_READING}
    by_order = {field: weights[field] for field in CATEGORIES if field in weights}
    return by_order, _by_verb(reading)


def _by_verb(reading: Reading) -> str | None:
    named, described, level = reading
    acts = named.acts if named.is_clear or not described.lead else described.lead
    if acts and level == LOW:
        return "inspect"  # also what runs a query that only reads
    return OF_KIND[max(acts, key=lambda act: act.level).kind] if acts else None


def _by_annotations(annotations: Mapping[str, Any] | None) -> str:
    said = annotations if isinstance(annotations, Mapping) else {}
    if said.get("readOnlyHint") is True:
        return "inspect"
    return "mutate" if said.get("destructiveHint") is True else "general"
