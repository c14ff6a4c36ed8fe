"""How grave the effects of a tool may be, from what its server says of it, else from its words.

The costly error is a destructive tool that is called low, so doubt goes upwards: low needs a verb
of reading in a place where it can be nothing else; a tool whose words say nothing is medium.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple

from router.catalog.acts import CRITICAL, HIGH, LOW, MEDIUM, Act, gravest
from router.catalog.lexicon import lexicon
from router.catalog.names import NameReading, read_name
from router.catalog.sentences import Description, read_description
from router.models import RiskLevel
from router.words import words

__all__ = ["Reading", "infer_risk", "read_tool"]

NAME_LIMIT: Final = 200
TEXT_LIMIT: Final = 600
"""Characters of a description that are looked at: what a tool does stands at the beginning."""

LEVELS: Final = tuple(RiskLevel)
CODE_FIELDS: Final = frozenset(
    {"command", "commands", "cmd", "code", "script", "sql", "javascript", "expression", "shell"}
)
ACTION_FIELDS: Final = frozenset(
    {"action", "operation", "method", "subcommand", "subCommand", "command"}
)
MANY: Final = frozenset({"all", "every", "everything", "entire", "whole"})


class Reading(NamedTuple):
    """What a tool's words say.

    Attributes:
        named: what its name says.
        described: what its description says.
        level: index of the risk level that follows from both, 0 to 3.
    """

    named: NameReading
    described: Description
    level: int

    def acts(self) -> Iterator[Act]:
        """What name and leading sentence say that it does."""
        yield from self.named.acts
        yield from self.described.lead


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
      ``readOnlyHint`` is false; but a server that gives neither has said nothing.
    - ``destructiveHint`` false: what the description says is destroyed does not count; a grave
      verb in the name still does, and so do sending, paying, rights and running code.
    - ``openWorldHint`` false: what it sends stays in its own world, which is medium.
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
    reading = read_tool(name, description)
    if reads is True:
        in_doubt = destroys is True or _has_a_grave_name(reading)
        return RiskLevel.MEDIUM if in_doubt else RiskLevel.LOW
    level = _with_schema(reading, schema)
    if destroys is True or (reads is False and destroys is not False):
        return LEVELS[max(level, HIGH)]
    if destroys is False:
        level = _not_destructive(level, reading)
    if said.get("openWorldHint") is False and level == HIGH:
        grave = {act.kind for act in reading.acts() if act.level == HIGH}
        level = MEDIUM if grave == {"send"} else level
    return LEVELS[max(level, MEDIUM) if reads is False else level]


def read_tool(name: str, description: str) -> Reading:
    """What the beginnings of name and description say; remembered for the next time."""
    return _read(name[:NAME_LIMIT], description[:TEXT_LIMIT])


@lru_cache(maxsize=8_192)
def _read(name: str, description: str) -> Reading:
    named, described = read_name(words(name)), read_description(description)
    return Reading(named, described, _level_of_words(named, described))


def _level_of_words(named: NameReading, described: Description) -> int:
    level = _level_of_verbs(named, described)
    acts = (*named.acts, *described.lead)
    if described.reads_only and _may_be_a_mere_query(named, described):
        return LOW
    if described.alarms or (gravest(described.later) or LOW) >= HIGH:
        level = max(level, min(level + 1, HIGH))
        if level == HIGH and described.alarms and any(map(_destroys_many, acts)):
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
    acts = (*named.acts, *described.lead) if named.is_clear else described.lead
    return all(act.kind in ("read", "run") for act in acts)


def _destroys_many(act: Act) -> bool:
    return act.kind in ("destroy", "end") and not MANY.isdisjoint(act.phrase)


def _has_a_grave_name(reading: Reading) -> bool:
    return reading.named.is_clear and (gravest(reading.named.acts) or LOW) >= HIGH


def _not_destructive(level: int, reading: Reading) -> int:
    """``level`` where the server says that nothing is destroyed."""
    if level < HIGH or _has_a_grave_name(reading):
        return level
    grave = any(act.kind in ("send", "run", "rights", "pay") for act in reading.acts())
    return level if grave else MEDIUM


def _with_schema(reading: Reading, schema: Mapping[str, Any] | None) -> int:
    """The level of the words, raised by what the arguments tell."""
    level = reading.level
    fields = schema.get("properties") if isinstance(schema, Mapping) else None
    if level >= HIGH or not isinstance(fields, Mapping):
        return level
    for field in ACTION_FIELDS & fields.keys():
        level = max(level, _level_of_choices(fields[field]))
    takes_code = not CODE_FIELDS.isdisjoint(fields) and not reading.described.reads_only
    if takes_code and all(act.kind == "run" for act in reading.acts()):
        return HIGH
    return level


def _level_of_choices(field: object) -> int:
    """The level of the gravest verb with which one of the values of a field begins."""
    choices = field.get("enum") if isinstance(field, Mapping) else None
    level = LOW
    for choice in choices[:64] if isinstance(choices, list) else ():
        begins = words(choice)[:1] if isinstance(choice, str) and len(choice) <= 64 else ()
        verb = lexicon().verbs.get(begins[0]) if begins else None
        if verb is not None and not verb.noun_too:
            level = max(level, lexicon().levels[verb.kind])
    return min(level, HIGH)
