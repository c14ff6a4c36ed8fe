"""What a tool does, as verbs and what they are applied to, and how grave that is."""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from router.catalog.lexicon import lexicon

__all__ = ["CRITICAL", "HIGH", "LOW", "MEDIUM", "Act", "act_of", "gravest"]

# Indices of the risk levels.
LOW: Final = 0
MEDIUM: Final = 1
HIGH: Final = 2
CRITICAL: Final = 3


class Act(NamedTuple):
    """One thing that a tool does.

    Attributes:
        kind: kind of the verb, a key of ``Lexicon.levels``.
        level: index of its risk level, 0 (low) to 3 (critical).
        phrase: the verb, then the words that it is applied to, as far as they are known.
    """

    kind: str
    level: int
    phrase: tuple[str, ...]


def act_of(kind: str, phrase: tuple[str, ...], around: Sequence[str]) -> Act:
    """The act of a verb of ``kind``.

    Args:
        kind: of the verb.
        phrase: as in ``Act``.
        around: all words of the name or sentence.
    """
    known = lexicon()
    if kind != "run" and known.telling_objects.isdisjoint(around):
        return Act(kind, known.levels[kind], phrase)
    return Act(kind, _level(kind, phrase, around), phrase)


def gravest(acts: Iterable[Act]) -> int | None:
    """Index of the highest risk level among ``acts``; None if there are none."""
    level: int | None = None
    for act in acts:
        if level is None or act.level > level:
            level = act.level
    return level


def _level(kind: str, phrase: tuple[str, ...], around: Sequence[str]) -> int:
    objects = lexicon().objects
    if kind == "read":
        return HIGH if _is_of("secret", phrase) else LOW
    if _is_of("money", phrase) or _is_of("secret", phrase):
        return CRITICAL
    if kind == "destroy" and _is_of_a_whole(phrase):
        return CRITICAL
    level = _level_of_running(phrase, around) if kind == "run" else lexicon().levels[kind]
    if level > LOW:
        if not objects["rights"].isdisjoint(phrase):
            return max(level, HIGH)
        if not objects["infrastructure"].isdisjoint(around):
            return max(level, HIGH)
    return level


def _level_of_running(phrase: tuple[str, ...], around: Sequence[str]) -> int:
    known = lexicon()
    if len(phrase) == 1 or not known.objects["code"].isdisjoint(around):
        return HIGH
    verbs = [known.verbs[word] for word in phrase if word in known.verbs]
    reads = any(verb.kind == "read" and not verb.noun_too for verb in verbs)
    looks = reads or not known.objects["looking"].isdisjoint(phrase)
    return LOW if looks else MEDIUM  # "run a search" only looks


def _is_of(what: str, phrase: tuple[str, ...]) -> bool:
    """Whether a phrase names a thing of a class; some are pairs of words: "api_key"."""
    found = lexicon().objects[what]
    return not found.isdisjoint(phrase) or any(
        f"{phrase[i]}_{phrase[i + 1]}" in found for i in range(len(phrase) - 1)
    )


def _is_of_a_whole(phrase: tuple[str, ...]) -> bool:
    """Whether what is destroyed holds many things: its last word says what it is."""
    whole, things = lexicon().objects["whole"], phrase[1:]
    return bool(things) and (things[-1] in whole or things[0] == "all")
