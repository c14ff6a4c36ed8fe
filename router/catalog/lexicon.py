"""The words of lexicon.json, with their inflected forms, as tables to look words up in."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

__all__ = ["Form", "Lexicon", "Verb", "lexicon"]

Form = Literal["base", "s", "ing"]

FILE: Final = Path(__file__).with_name("lexicon.json")
VOWELS: Final = "aeiou"


class Verb(NamedTuple):
    """A form of a verb.

    Attributes:
        kind: what it does, a key of ``Lexicon.levels``.
        form: how it is inflected.
        noun_too: whether it is as often a noun (a post, an order), so that its place must tell.
    """

    kind: str
    form: Form
    noun_too: bool


@dataclass(frozen=True, slots=True)
class Lexicon:
    """Tables made of lexicon.json.

    Attributes:
        levels: kind of verb -> index of the risk level of a plain verb of that kind, 0 to 3.
        verbs: base form -> kind.
        forms: base form, third person or gerund -> verb; base forms win where two coincide.
        alarms: words that say that an effect is grave.
        grave_words: these, participles such as "deleted", and "undone".
        objects: class of thing that a verb is applied to -> its words; pairs with "_".
        telling_objects: all words of ``objects``, and the parts of its pairs.
        particles: "up" of "clean up".
        grammar: small words by their part in a sentence.
        categories: word -> category -> weight.
        finish: whole names of tools that end the work, words joined with "_".
    """

    levels: Mapping[str, int]
    verbs: Mapping[str, Verb]
    forms: Mapping[str, Verb]
    alarms: frozenset[str]
    grave_words: frozenset[str]
    objects: Mapping[str, frozenset[str]]
    telling_objects: frozenset[str]
    particles: frozenset[str]
    grammar: Mapping[str, frozenset[str]]
    categories: Mapping[str, Mapping[str, int]]
    finish: frozenset[str]


@cache
def lexicon() -> Lexicon:
    """The lexicon that comes with the package, read once."""
    return _lexicon_of(json.loads(FILE.read_text(encoding="utf-8")))


def _lexicon_of(raw: Mapping[str, Any]) -> Lexicon:
    verbs: dict[str, Verb] = {}
    for group, noun_too in (("verbs", False), ("nouns_too", True)):
        for kind, text in raw[group].items():
            for verb in text.split():
                assert verb not in verbs, f"{verb} stands in the lexicon twice"
                verbs[verb] = Verb(kind, "base", noun_too)
    forms = {
        form: verb._replace(form=how)
        for base, verb in verbs.items()
        for form, how in ((_third_person(base), "s"), (_gerund(base), "ing"))
    }
    objects = _word_sets(raw["objects"])
    return Lexicon(
        levels=raw["levels"],
        verbs=verbs,
        forms={**forms, **verbs},
        alarms=frozenset(raw["alarms"].split()),
        grave_words=frozenset(["undone", *raw["alarms"].split(), *raw["participles"].split()]),
        objects=objects,
        telling_objects=frozenset(
            word for group in objects.values() for pair in group for word in pair.split("_")
        ),
        particles=frozenset(raw["grammar"]["particles"].split()),
        grammar=_word_sets(raw["grammar"]),
        categories=_by_word(raw["categories"]),
        finish=frozenset(raw["finish"].split()),
    )


def _word_sets(groups: Mapping[str, str]) -> dict[str, frozenset[str]]:
    return {name: frozenset(text.split()) for name, text in groups.items()}


def _by_word(categories: Mapping[str, Mapping[str, int]]) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for category, weights in categories.items():
        for word, weight in weights.items():
            found.setdefault(word, {})[category] = weight
    return found


def _third_person(verb: str) -> str:
    if verb.endswith(("s", "x", "z", "ch", "sh")):
        return verb + "es"
    if verb.endswith("y") and verb[-2] not in VOWELS:
        return verb[:-1] + "ies"
    return verb + "s"


def _gerund(verb: str) -> str:
    if verb.endswith("e") and not verb.endswith("ee"):
        return verb[:-1] + "ing"
    if len(verb) < 5 and verb[-1] not in VOWELS + "wxy" and verb[-2:-1] in tuple(VOWELS):
        return f"{verb}{verb[-1]}ing"
    return verb + "ing"
