"""What the description of a tool says that it does, sentence by sentence.

Descriptions mention other tools ("use delete_file instead"), what is not done ("does not delete"),
and what others do ("before it is deleted"); only what is said of this tool counts.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Final, NamedTuple

from router.catalog.acts import Act, act_of
from router.catalog.lexicon import Verb, lexicon

__all__ = ["Description", "read_description"]

# Code, examples, asides and markup: not statements about this tool.
_ASIDE: Final = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`|\([^()]*\)|<[^<>\n]*>", re.S)
# Names of tools and fields ("delete_file", "deleteFile") stay whole, and so are no verbs.
_TOKEN: Final = re.compile(r"[a-z][\w'-]*|[,/&;|\n\u2022\u2014]|[.!?:](?!\S)|(?<=\s)-(?=\s)")
_ENDS: Final = frozenset(".!?:;|\n\u2022\u2014-")

CLAIMS: Final = frozenset({"read-only", "readonly", "non-destructive"})


class Description(NamedTuple):
    """What a description says.

    Attributes:
        lead: acts of the first sentence that has any.
        is_clear: that sentence begins with its verb.
        later: acts that later sentences state of this tool.
        alarms: a sentence speaks of effects that are grave or stay.
        reads_only: a sentence says that nothing is changed.
        words: of the sentence of ``lead``, or of the first one.
    """

    lead: tuple[Act, ...] = ()
    is_clear: bool = False
    later: tuple[Act, ...] = ()
    alarms: bool = False
    reads_only: bool = False
    words: tuple[str, ...] = ()


def read_description(text: str) -> Description:
    """Read a description, or the beginning of a long one."""
    lead: tuple[Act, ...] = ()
    later: list[Act] = []
    is_clear = alarms = reads_only = False
    first: tuple[str, ...] = ()
    telling = _telling()
    for clause in _clauses(text):
        if not lead and not _speaks_of_others(clause):
            lead, is_clear = _lead(clause)
            first = clause if lead or not first else first
            only_reads = all(act.kind == "read" for act in lead)
            alarms = alarms or not (lead and only_reads) and _alarms(clause)
            reads_only = reads_only or _says_read_only(clause, len(clause))
        elif not telling.isdisjoint(clause) and not _speaks_of_others(clause):
            later += _statements(clause)
            alarms = alarms or _alarms(clause)
            reads_only = reads_only or _says_read_only(clause, 4)
    return Description(lead, is_clear, tuple(later), alarms, reads_only, first)


def _clauses(text: str) -> Iterator[tuple[str, ...]]:
    """The words of each sentence, or part of one between colons and the like, with its commas."""
    tokens = _TOKEN.findall(_ASIDE.sub(" ", text).lower())
    start = 0
    for i, token in enumerate(tokens):
        if token in _ENDS:
            if i > start:
                yield tuple(tokens[start:i])
            start = i + 1
    if len(tokens) > start:
        yield tuple(tokens[start:])


@cache
def _telling() -> frozenset[str]:
    """Words without one of which a later sentence says nothing of interest."""
    known = lexicon()
    grave = {word for word, verb in known.forms.items() if known.levels[verb.kind] > 1}
    return known.grave_words | known.grammar["mutates"] | grave | CLAIMS


def _speaks_of_others(clause: Sequence[str]) -> bool:
    """Whether it is advice on other tools: "use X instead", but not "use this to delete"."""
    grammar = lexicon().grammar
    at, last = 0, len(clause) - 1
    while at < last and clause[at] in grammar["asks"]:
        at += 1
    return clause[at] in grammar["others"] and not (at < last and clause[at + 1] in ("this", "it"))


def _lead(clause: tuple[str, ...]) -> tuple[tuple[Act, ...], bool]:
    """The acts of a sentence, and whether it begins with the first of them."""
    known = lexicon()
    start = _after_light_words(clause, 0)
    if start < len(clause) and _verb_at(clause, start) is not None:
        return _acts_from(clause, start), True
    performs = start < len(clause) and clause[start] in known.grammar["performs"]
    for i in range(start + 1, len(clause)):
        if clause[i] in known.grammar["conditions"]:
            break
        verb = _verb_at(clause, i)
        if verb is None or _is_negated(clause, i):
            continue
        if performs or not (verb.noun_too or clause[i - 1] in known.grammar["determiners"]):
            return _acts_from(clause, i), performs
    return (), False


def _statements(clause: tuple[str, ...]) -> tuple[Act, ...]:
    """The acts that a later sentence states: "it also removes", "use this to delete"."""
    known = lexicon()
    start = _after_light_words(clause, 0)
    verb = _verb_at(clause, start) if start < len(clause) else None
    if verb is None or _is_negated(clause, start):
        return ()
    said_of_this = clause[0] in known.grammar["subjects"] or clause[:2] == ("use", "this")
    return _acts_from(clause, start) if said_of_this or verb.form == "s" else ()


def _after_light_words(clause: Sequence[str], at: int) -> int:
    light = lexicon().grammar["light"]
    while at < len(clause) and (clause[at] in light or clause[at].endswith("ly")):
        at += 1
    return at


def _verb_at(clause: Sequence[str], at: int) -> Verb | None:
    known = lexicon()
    if at + 1 < len(clause) and clause[at + 1] in known.particles:
        joined = known.forms.get(clause[at] + clause[at + 1])  # "clean up"
        if joined is not None:
            return joined
    return known.forms.get(clause[at])


def _acts_from(clause: tuple[str, ...], at: int) -> tuple[Act, ...]:
    """The act whose verb stands at ``at`` and those joined to it: "read, edit or delete"."""
    known = lexicon()
    first = _verb_at(clause, at)
    assert first is not None
    acts = [_act(clause, at, first)]
    joins, stops = known.grammar["joins"], known.grammar["stops"]
    for i in range(at + 1, len(clause) - 1):
        if clause[i] in stops:
            break
        if clause[i] in joins:
            j = _after_light_words(clause, i + 1)
            verb = _verb_at(clause, j) if j < len(clause) and clause[j] not in joins else None
            if verb is not None and verb.form == first.form and not verb.noun_too:
                acts.append(_act(clause, j, verb))
    return tuple(acts)


def _act(clause: tuple[str, ...], at: int, verb: Verb) -> Act:
    """The verb at ``at`` with what it is applied to: "delete a file and ..." deletes a file."""
    grammar = lexicon().grammar
    phrase = [clause[at]]
    for i in range(at + 1, len(clause)):
        word, follows_a_join = clause[i], clause[i - 1] in grammar["joins"]
        if word in grammar["stops"] or (word in grammar["joins"] and len(phrase) > 1):
            break
        if word in grammar["joins"] or word in ("a", "an", "the"):
            continue
        if not (follows_a_join and _verb_at(clause, i)):  # "edit or delete a file"
            phrase.append(word)
    return act_of(verb.kind, tuple(phrase), clause)


def _is_negated(clause: Sequence[str], at: int) -> bool:
    negations = lexicon().grammar["negations"]
    return any(w in negations or w.endswith("n't") for w in clause[max(at - 3, 0) : at])


def _alarms(clause: Sequence[str]) -> bool:
    """Whether it speaks of grave effects: "permanently", "cannot be undone", "is deleted"."""
    known = lexicon()
    if known.grave_words.isdisjoint(clause):
        return False
    for i, word in enumerate(clause):
        if word == "undone":
            if _is_negated(clause, i):
                return True
        elif word in known.grave_words and not _is_negated(clause, i):
            if word in known.alarms or _is_passive(clause, i):
                return True
    return False


def _is_passive(clause: Sequence[str], at: int) -> bool:
    """Whether a participle says what happens: "is deleted", "will be permanently deleted"."""
    before = at - 2 if at > 1 and clause[at - 1].endswith("ly") else at - 1
    return before >= 0 and clause[before] in lexicon().grammar["be"]


def _says_read_only(clause: Sequence[str], within: int) -> bool:
    """Whether one of the first ``within`` words begins a claim that nothing is changed."""
    mutates = lexicon().grammar["mutates"]
    if mutates.isdisjoint(clause) and CLAIMS.isdisjoint(clause):
        return False
    for i, word in enumerate(clause[:within]):
        if word in CLAIMS and not _is_negated(clause, i):
            return True
        if word in mutates and _is_negated(clause, i):
            return True
    return False
