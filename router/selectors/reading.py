"""What a state says, cut up: the goal's words in their clauses, its values, the calls so far."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from router.models import HarnessState
from router.selectors.stems import STOP, concept, stem, stems
from router.words import words

__all__ = [
    "KINDS",
    "Call",
    "Goal",
    "Observed",
    "calls_so_far",
    "observed_terms",
    "parameter_kinds",
    "parameter_stems",
    "read_goal",
    "read_observation",
]

GOAL_LIMIT: Final = 4_000
OBSERVATION_LIMIT: Final = 8_000
CALL_LIMIT: Final = 32

_MARKS: Final = (", ", ". ", "! ", "? ", "; ", ": ", "\n")
_JOINING: Final = frozenset(
    {
        "and",
        "then",
        "after",
        "afterwards",
        "once",
        "before",
        "finally",
        "next",
        "also",
        "while",
        "by",
    }
)
_QUOTED: Final = re.compile(
    r"(?<!\w)'[^'\n]{1,200}'(?!\w)|(?<!\w)\"[^\"\n]{1,200}\"(?!\w)|`[^`\n]{1,200}`|“[^”\n]{1,200}”"
)
QUOTED_WEIGHT: Final = 0.35
"""Of words within quotation marks: they are more often a value than a wish."""

KINDS: Final = (*("email", "url", "date", "time", "money", "path", "number", "quoted", "proper"),)
"""Kinds of value that a text may hold and a parameter may take."""

_EMAIL: Final = re.compile(r"[\w.+-]+@[\w-]+\.\w+")
_DATE: Final = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{2,4}|\b\d{1,2}(?:st|nd|rd|th)\b")
_TIME: Final = re.compile(r"\b\d{1,2}:\d{2}\b|\b\d{1,2}\s?(?:am|pm|a\.m|p\.m)\b", re.I)
_PATH: Final = re.compile(r"[\w.~-]*/[\w./-]+|\b[\w-]+\.[a-z]{1,5}\b")
_PROPER: Final = re.compile(r"(?<=[a-z,'] )[A-Z][a-z]+|\b[A-Z]{2,5}\b")
_DAY_NAMES: Final = """
today tomorrow yesterday tonight weekend monday tuesday wednesday thursday friday saturday sunday
january february march april june july august september october november december
"""
_DAYS: Final = frozenset(_DAY_NAMES.split())
_HALVES: Final = frozenset({"am", "pm", "a", "p"})
_INNER_DOT: Final = re.compile(r"\.[a-z]")
_CURRENCIES: Final = frozenset({"usd", "eur", "gbp", "dollars", "euros", "rmb", "yen", "yuan"})

_PARAMETER_KINDS: Final = {
    "email": "email mail recipient receiver",
    "url": "url link website web page site uri",
    "date": "date day start end from to check in out year month deadline expir",
    "time": "time hour start end minute when",
    "money": "price amount cost budget fee fare rate money salary limit currency",
    "path": "path file folder directory source destination dir filename repo",
    "number": "number num count amount quantity size limit id price year age n x y a b value lines "
    "page top radius distance length width height zip code hours minutes days guests adults",
    "quoted": "query text message content title name keyword pattern question comment note body "
    "description prompt",
    "proper": "city location place name symbol country state person user title origin destination "
    "company ticker artist currency from to address actor director author team",
}


def _parameter_table() -> dict[str, frozenset[str]]:
    table: dict[str, set[str]] = {}
    for kind, names in _PARAMETER_KINDS.items():
        for name in names.split():
            table.setdefault(stem(name), set()).add(kind)
    return {key: frozenset(kinds) for key, kinds in table.items()}


_KINDS_OF: Final = _parameter_table()


_FAILED: Final = frozenset(
    map(
        stem,
        ("error", "fail", "failed", "failure", "exception", "traceback", "refused", "invalid"),
    )
) | {stem("denied"), stem("unknown"), stem("undefined")}
_EXIT: Final = re.compile(r"\bexit (?:code )?[1-9]|\b(?:no such|not found|cannot)\b", re.I)
_WENT_WELL: Final = frozenset(
    map(
        stem,
        ("ok", "success", "successful", "passed", "done", "updated", "wrote", "created", "saved"),
    )
)


@lru_cache(maxsize=8_192)
def parameter_kinds(name: tuple[str, ...]) -> frozenset[str]:
    """Kinds of value that a parameter takes, guessed from the stems of its name; may be empty."""
    return frozenset().union(*(_KINDS_OF.get(part, frozenset()) for part in name))


@dataclass(frozen=True, slots=True)
class Goal:
    """The goal, cut up.

    Attributes:
        text: lower case, cut to a limit.
        terms: different stems, in order of their first place.
        positions: of each term its place in the goal, 0 (first) to 1.
        groups: different groups of like words.
        group_weights: of each group the greatest weight of its terms.
        clauses: how many clauses there are, about: 1 and one for each mark or word between them.
        weights: of each term 1, or less if it stands between quotation marks only.
        kinds: kinds of value that occur, of ``KINDS``.
        tokens: words of the goal, lower case, stop words too.
    """

    text: str
    terms: tuple[str, ...]
    positions: tuple[float, ...]
    groups: tuple[str, ...]
    group_weights: tuple[float, ...]
    clauses: int
    weights: tuple[float, ...]
    kinds: frozenset[str]
    tokens: tuple[str, ...]


def values_in(text: str, tokens: Collection[str], quoted: bool) -> frozenset[str]:
    """Kinds of value, of ``KINDS``, that occur in a text.

    Args:
        text: the text.
        tokens: its words, lower case.
        quoted: whether something stands between quotation marks.
    """
    digits = any(token.isdigit() for token in tokens)
    holds = {
        "email": "@" in text and _EMAIL.search(text),
        "url": "http" in text or "www." in text,
        "date": not _DAYS.isdisjoint(tokens) or (digits and _DATE.search(text)),
        "time": digits and (":" in text or not _HALVES.isdisjoint(tokens)) and _TIME.search(text),
        "money": digits and (not _CURRENCIES.isdisjoint(tokens) or any(c in text for c in "$€£")),
        "path": ("/" in text or _INNER_DOT.search(text)) and _PATH.search(text),
        "number": digits,
        "quoted": quoted,
        "proper": _PROPER.search(text),
    }
    return frozenset(kind for kind, found in holds.items() if found)


def cut(text: str, limit: int) -> str:
    """``text`` with its middle taken out if it is longer than ``limit``."""
    return text if len(text) <= limit else text[: limit // 2] + " " + text[-limit // 2 :]


@lru_cache(maxsize=64)
def read_goal(text: str) -> Goal:
    """Cut up a goal; any text will do."""
    text = cut(text, GOAL_LIMIT)
    quotes = _QUOTED.findall(text)
    plain = _QUOTED.sub(" ", text) if quotes else text
    tokens = words(plain)
    first: dict[str, int] = {}
    for place, token in enumerate(tokens):
        if token not in STOP:
            first.setdefault(stem(token), place)
    clauses = sum(map(plain.count, _MARKS)) + sum(token in _JOINING for token in tokens)
    spoken = len(first)
    for quote in quotes:
        for term in stems(quote):
            first.setdefault(term, len(tokens) // 2)
    digits = [term for term in first if term.isdigit()]
    weights = (1.0,) * spoken + (QUOTED_WEIGHT,) * (len(first) - spoken)
    groups: dict[str, float] = {}
    for term, weight in zip(first, weights, strict=True):
        for group in concept(term):
            groups[group] = max(groups.get(group, 0.0), weight)
    length = max(len(tokens) - 1, 1)
    return Goal(
        text=text.lower(),
        terms=tuple(first),
        positions=tuple(position / length for position in first.values()),
        weights=weights,
        groups=tuple(groups),
        group_weights=tuple(groups.values()),
        clauses=1 + min(clauses, 50),
        kinds=values_in(text, {*tokens, *digits}, bool(quotes)),
        tokens=tokens,
    )


@dataclass(frozen=True, slots=True)
class Observed:
    """What an observation says.

    Attributes:
        terms: its different stems, the first so many.
        path: it names a file.
        failed, went_well: words of failure or of success occur.
    """

    terms: tuple[str, ...] = ()
    path: bool = False
    failed: bool = False
    went_well: bool = False


def read_observation(text: str) -> Observed:
    """Read the beginning and the end of an observation; any text will do."""
    if not text:
        return Observed()
    text = cut(text, OBSERVATION_LIMIT // 8)
    found = dict.fromkeys(stems(text))
    return Observed(
        terms=tuple(found)[:60],
        path=_PATH.search(text) is not None,
        failed=not _FAILED.isdisjoint(found) or _EXIT.search(text) is not None,
        went_well=not _WENT_WELL.isdisjoint(found),
    )


def observed_terms(state: HarnessState) -> tuple[str, ...]:
    """Stems of an observation that may be asked about."""
    return read_observation(state.observation or "").terms


@lru_cache(maxsize=8_192)
def parameter_stems(name: str) -> tuple[str, ...]:
    """Stems of a parameter's name."""
    return tuple(map(stem, words(name[:200])))


@dataclass(frozen=True, slots=True)
class Call:
    """An earlier action.

    Attributes:
        tool: its name.
        arguments: name and value as text, as far as known.
        outcome: how it ended, or "".
        written: True if it was found in the text of an observation.
    """

    tool: str
    arguments: tuple[tuple[str, str], ...] = ()
    outcome: str = ""
    written: bool = False

    @property
    def failed(self) -> bool:
        """Whether the outcome speaks of failure."""
        return read_outcome(self.outcome)[0]

    @property
    def went_well(self) -> bool:
        """Whether the outcome speaks of success."""
        return read_outcome(self.outcome)[1]


@lru_cache(maxsize=1_024)
def read_outcome(text: str) -> tuple[bool, bool]:
    """(failed, went well) as an outcome says; both may be False."""
    seen = read_observation(text)
    return seen.failed, seen.went_well


_CALL: Final = re.compile(r"([A-Za-z_][\w.\-]{0,200})\(")
_ARGUMENT: Final = re.compile(
    r"""\s*(?:([A-Za-z_]\w*)\s*=)?\s*('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|\[[^\]]*\]|[^,()]+)"""
)


def calls_so_far(state: HarnessState, offered: Collection[str]) -> tuple[Call, ...]:
    """Earlier calls, oldest first.

    From ``recent_actions``; where that is empty, calls of offered tools that the observation
    writes as ``name(argument='value', ...)``; else ``last_action`` alone.
    """
    recent: Sequence[Call] = [
        Call(action.tool, (), action.outcome[:400]) for action in state.recent_actions[-CALL_LIMIT:]
    ]
    if not recent and state.observation:
        recent = _written_calls(state.observation[-OBSERVATION_LIMIT:], offered)[-CALL_LIMIT:]
    if not recent and state.last_action:
        recent = [Call(state.last_action)]
    return tuple(recent)


def _written_calls(text: str, offered: Collection[str]) -> list[Call]:
    found, end = [], 0
    for match in _CALL.finditer(text):
        if match.start() < end or match.group(1) not in offered:
            continue
        arguments, end = [], match.end()
        while (argument := _ARGUMENT.match(text, end)) is not None:
            arguments.append((argument.group(1) or "", argument.group(2).strip("'\" ")))
            end = argument.end()
            if text[end : end + 1] != ",":
                break
            end += 1
        found.append(Call(match.group(1), tuple(arguments), written=True))
    return found
