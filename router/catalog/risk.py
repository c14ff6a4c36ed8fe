"""How grave the effects of a tool may be, from what its server says of it, else from its words.

The costly error is a destructive tool that is called low, so doubt goes upwards: low needs a verb
of reading in a place where it can be nothing else; a tool whose words say nothing is medium.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from router.catalog.acts import CRITICAL, HIGH, LOW, MEDIUM, gravest
from router.catalog.lexicon import lexicon
from router.catalog.names import NameReading, read_name
from router.catalog.sentences import Description, read_description
from router.models import RiskLevel
from router.words import words

__all__ = ["infer_risk", "read_tool"]

LEVELS: Final = tuple(RiskLevel)
CODE_FIELDS: Final = frozenset(
    {"command", "commands", "cmd", "code", "script", "sql", "javascript", "expression", "shell"}
)
ACTION_FIELDS: Final = ("action", "operation", "method", "subcommand", "subCommand", "command")


def infer_risk(
    name: str,
    description: str,
    schema: Mapping[str, Any] | None = None,
    annotations: Mapping[str, Any] | None = None,
) -> RiskLevel:
    """The risk of a tool whose host did not state it.

    Low: it only reads. Medium: changes that are local or can be undone. High: destroys, acts on
    the outside (sends, publishes, merges), changes rights or infrastructure, or runs any code.
    Critical: money, credentials, or the loss of a whole store of things.

    The annotations of MCP come first, as far as they say something:

    - ``readOnlyHint`` true: low; medium where the name is clearly that of a grave effect, or
      ``destructiveHint`` is true as well, since then one of the two is wrong.
    - ``destructiveHint`` true: high or critical. By the protocol it is true by default where
      ``readOnlyHint`` is false, but a server that gives neither has said nothing.
    - ``destructiveHint`` false: what the words of the description alone say is lost or spoilt does
      not count; a grave verb in the name still does.
    - ``openWorldHint`` false: nothing that it sends leaves its own world: medium.
    - ``idempotentHint`` says nothing about how grave an effect is.

    Then the words: the verb of the name weighs most, then the verb of the first sentence, then
    what later sentences state of this tool, then the fields of its schema: a list of actions to
    choose from, a field for code. They are whole words (see lexicon.json), in English.

    Args:
        name: of the tool.
        description: in words; may be empty.
        schema: JSON schema of its arguments, or None.
        annotations: of MCP, or None; values that are no booleans are ignored.
    """
    said = annotations if isinstance(annotations, Mapping) else {}
    reads, destroys = said.get("readOnlyHint"), said.get("destructiveHint")
    named, described = read_tool(name, description)
    if reads is True:
        contradicted = destroys is True or named.is_clear and (gravest(named.acts) or LOW) >= HIGH
        return RiskLevel.MEDIUM if contradicted else RiskLevel.LOW
    level = _level_of_schema(_level_of_words(name, description), named, described, schema)
    if destroys is True or reads is False and destroys is not False:
        level = max(level, HIGH)
    elif destroys is False:
        level = _not_destructive(level, named, described)
    if said.get("openWorldHint") is False and level == HIGH and destroys is not True:
        level = _in_a_closed_world(level, named, described)
    if reads is False:
        level = max(level, MEDIUM)
    return LEVELS[level]


@lru_cache(maxsize=8_192)
def read_tool(name: str, description: str) -> tuple[NameReading, Description]:
    """What name and description say."""
    return read_name(words(name)), read_description(description)


@lru_cache(maxsize=8_192)
def _level_of_words(name: str, description: str) -> int:
    named, described = read_tool(name, description)
    level = _level_of_verbs(named, described)
    if described.reads_only and _may_be_a_mere_query(named, described):
        return LOW
    graver = gravest(described.later) or LOW
    if graver >= HIGH or described.alarms:
        level = max(level, min(level + 1, HIGH))
        if level >= HIGH and described.alarms and _destroys_many(named, described):
            return CRITICAL
    return level


def _level_of_verbs(named: NameReading, described: Description) -> int:
    """What the verbs of the name and of the leading sentence make of it together."""
    name, lead = gravest(named.acts), gravest(described.lead)
    if name is None:
        if lead is None:
            return MEDIUM
        return lead if described.is_clear else max(lead, MEDIUM)
    if named.is_clear:
        if lead is None or lead <= name or not described.is_clear:
            return name
        if name > LOW:
            return lead
        # "Send a GET request", "Run a search": the name knows better; "Remove ..." it does not.
        gone = any(act.kind in ("destroy", "end", "pay", "rights") for act in described.lead)
        return min(lead, HIGH) if gone else MEDIUM
    if lead is not None and described.is_clear:
        return lead if lead == LOW else max(name, lead)
    if name == LOW and not named.begins_with_verb:
        return MEDIUM  # "..._list" of an unknown verb
    return max(name, lead or LOW)


def _may_be_a_mere_query(named: NameReading, described: Description) -> bool:
    """Whether no verb contradicts the claim to be read-only: "Run a read-only SQL query"."""
    acts = [*(named.acts if named.is_clear else ()), *described.lead]
    return all(act.kind in ("read", "run") for act in acts)


def _destroys_many(named: NameReading, described: Description) -> bool:
    many = {"all", "every", "everything", "entire", "whole"}
    return any(
        act.kind in ("destroy", "end") and not many.isdisjoint(act.phrase)
        for act in (*named.acts, *described.lead)
    )


def _level_of_schema(
    level: int, named: NameReading, described: Description, schema: Mapping[str, Any] | None
) -> int:
    """Raise ``level`` by what the arguments tell."""
    fields = schema.get("properties") if isinstance(schema, Mapping) else None
    if not isinstance(fields, Mapping) or level >= HIGH:
        return level
    for field in ACTION_FIELDS:
        if field in fields:
            level = max(level, _level_of_choices(fields[field]))
    kinds = {act.kind for act in (*named.acts, *described.lead)}
    if kinds <= {"run"} and not described.reads_only and not CODE_FIELDS.isdisjoint(fields):
        return max(level, HIGH)
    return level


def _level_of_choices(field: object) -> int:
    """The level of the gravest verb among the values that a field may have."""
    choices = field.get("enum") if isinstance(field, Mapping) else None
    if not isinstance(choices, list):
        return LOW
    short = [c for c in choices[:64] if isinstance(c, str) and len(c) <= 64]
    begins = [lexicon().verbs.get(words(choice)[0]) for choice in short if words(choice)]
    levels = [lexicon().levels[verb.kind] for verb in begins if verb and not verb.noun_too]
    return min(max(levels, default=LOW), HIGH)


def _not_destructive(level: int, named: NameReading, described: Description) -> int:
    """``level`` where the server says that nothing is destroyed."""
    if named.is_clear and gravest(named.acts) == level:
        return level
    kinds = {act.kind for act in (*named.acts, *described.lead)}
    return level if kinds & {"send", "run", "rights", "pay"} else min(level, MEDIUM)


def _in_a_closed_world(level: int, named: NameReading, described: Description) -> int:
    """``level`` where nothing leaves the server's own world."""
    kinds = {act.kind for act in (*named.acts, *described.lead) if act.level() == HIGH}
    return MEDIUM if kinds == {"send"} else level
