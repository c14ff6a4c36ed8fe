"""Why the local selector prefers a tool: its largest contributions, in words for a person."""

from collections.abc import Callable, Sequence
from typing import Final, overload

import numpy as np
import numpy.typing as npt

from router.selectors.facts import CLASSES, Facts
from router.selectors.features import CONTEXTS, Features, tool_features
from router.selectors.model import Model
from router.selectors.reading import parameter_kinds
from router.selectors.stems import concept, stem
from router.words import words

__all__ = ["LaterTexts", "reasons", "reasons_for_none"]

Floats = npt.NDArray[np.float64]

LEAST: Final = 0.1
"""A contribution below this, in nats, is no reason."""

MOST: Final = 3

_TOPIC_OF: Final = {
    "name": "name",
    "name_share": "name",
    "name_known": "name",
    "cover_name": "name",
    "head": "name",
    "exact": "name",
    "letters": "name",
    "early": "name",
    "description": "description",
    "cover": "description",
    "hits": "description",
    "all": "description",
    "gap": "description",
    "best": "description",
    "name_group": "alike",
    "text_group": "alike",
    "name_soft": "alike",
    "group_hits": "alike",
    "parameters": "values",
    "fed": "values",
    "ready": "values",
    "arity": "values",
    "no_parameters": "values",
    "chained": "chained",
    "left": "left",
    "similarity": "similarity",
    "similarity_goal": "similarity",
    "similarity_tool": "similarity",
    "family": "family",
    "seen": "seen",
    "reads_path": "seen",
    "risk": "other",
}
TOPICS: Final = (*dict.fromkeys(_TOPIC_OF.values()), "history")
_DOES: Final = {
    "read": "reads",
    "search": "searches",
    "edit": "edits",
    "create": "creates",
    "delete": "deletes",
    "send": "sends",
    "run": "runs something",
    "test": "verifies",
    "auth": "signs in",
    "compute": "computes",
    "buy": "buys or books",
    "go": "goes somewhere",
    "stop": "stops something",
    "keep": "saves",
}
_DID: Final = {
    "read": "read",
    "search": "searched",
    "edit": "edited",
    "create": "created",
    "delete": "deleted",
    "send": "sent",
    "run": "ran something",
    "test": "verified",
    "auth": "signed in",
    "compute": "computed",
    "buy": "bought or booked",
    "go": "went somewhere",
    "stop": "stopped something",
    "keep": "saved",
}
_HOLDS: Final = {
    "new request": "a new request",
    "no calls": "nothing has been done yet",
    "it failed": "something failed",
    "it went well": "the last step went well",
    "path seen": "the observation names a file",
    "path in goal": "the goal names a file",
}


def _topics(similarity: bool) -> npt.NDArray[np.int64]:
    return np.array(
        [
            TOPICS.index(_TOPIC_OF.get(name.split(".")[0], "history"))
            for name in tool_features(similarity)
        ]
    )


_TOPICS: Final = {similarity: _topics(similarity) for similarity in (False, True)}


class LaterTexts(Sequence[str]):
    """Texts that are made when somebody reads them: most decisions are never explained."""

    __slots__ = ("_make", "_texts")

    def __init__(self, make: Callable[[], Sequence[str]]) -> None:
        self._make: Callable[[], Sequence[str]] | None = make
        self._texts: tuple[str, ...] = ()

    def _made(self) -> tuple[str, ...]:
        make = self._make
        if make is not None:
            self._texts = tuple(make())
            self._make = None
        return self._texts

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        return self._made()[index]

    def __len__(self) -> int:
        return len(self._made())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, (tuple, list, LaterTexts)):
            return NotImplemented
        return self._made() == tuple(other)

    def __hash__(self) -> int:
        return hash(self._made())

    def __repr__(self) -> str:
        return repr(self._made())

    def __reduce__(self) -> tuple[type, tuple[tuple[str, ...]]]:
        return tuple, (self._made(),)


def reasons(model: Model, found: Features, facts: Facts, pairs: Floats, top: int) -> list[str]:
    """At most three reasons for tool ``top`` against the mean of all, the strongest first."""
    row = found.tools[:, top]
    against = row - found.tools.mean(axis=1) if facts.n > 1 else row
    by_topic = np.bincount(_TOPICS[model.similarity], model.tools * against, len(TOPICS))
    effects: list[tuple[float, Callable[[], str | None]]] = [
        (float(value), lambda topic=topic: _text(topic, found, facts, top))  # type: ignore[misc]
        for topic, value in zip(TOPICS, by_topic, strict=True)
        if value > LEAST
    ]
    follows = (found.contexts[:, None] * model.contexts) * facts.kinds[top]
    if follows.sum() > LEAST:
        effects.append((float(follows.sum()), lambda: _follow_text(follows)))
    if pairs[top] > LEAST:
        effects.append((float(pairs[top]), lambda: _pair_text(model, found, facts, top)))
    effects.sort(key=lambda effect: -effect[0])
    texts: list[str] = []
    for _, make in effects:
        text = make()
        if text is not None and text not in texts:
            texts.append(text)
        if len(texts) == MOST:
            break
    return texts


def reasons_for_none(found: Features, facts: Facts, top: int) -> list[str]:
    """Why none fits: how little the best tool has of the goal."""
    shared = _shared(found, {*facts.shelf.tools[top].terms})
    name = facts.tools[top].name
    if not shared:
        return [f"no tool shares a word with the goal, {name} comes nearest"]
    return [f"too little of the goal is covered, {name} has only {_quoted(shared)}"]


def _text(topic: str, found: Features, facts: Facts, top: int) -> str | None:
    tool = facts.shelf.tools[top]
    if topic == "name":
        return _listing("goal words in its name", _shared(found, set(tool.name)))
    if topic == "description":
        shared = _shared(found, set(tool.description))
        return _listing("goal words in its description", shared)
    if topic == "alike":
        groups = {group for part in (*tool.name, *tool.description) for group in concept(part)}
        return _listing("words that mean alike", _shared_groups(found, groups))
    if topic == "values":
        kinds = {kind for p in tool.parameters for kind in parameter_kinds(p)} & found.goal.kinds
        return _listing("the goal holds values that it takes", sorted(kinds))
    return {
        "chained": "its parameters were known to earlier calls",
        "left": "it serves the part of the goal that is left",
        "similarity": "its description means much the same as the goal",
        "family": "the goal speaks of its family of tools",
        "seen": "the newest observation points to it",
        "history": "it goes on from the earlier calls" if found.last is not None else None,
    }.get(topic)


def _shared(found: Features, terms: set[str]) -> list[str]:
    """Words of the goal whose stems are among ``terms``, as they stand there."""
    wanted = terms & set(found.goal.terms)
    return list(dict.fromkeys(t for t in found.goal.tokens if stem(t) in wanted))


def _shared_groups(found: Features, groups: set[str]) -> list[str]:
    wanted = groups & set(found.goal.groups)
    return list(dict.fromkeys(t for t in found.goal.tokens if not wanted.isdisjoint(_groups(t))))


def _listing(text: str, items: list[str]) -> str | None:
    return f"{text}: {_quoted(items)}" if items else None


def _quoted(items: list[str]) -> str:
    return ", ".join(f'"{item[:40]}"' for item in items[:4])


def _follow_text(follows: Floats) -> str | None:
    context, kind = np.unravel_index(int(follows.argmax()), follows.shape)
    name, does = CONTEXTS[context], _DOES[CLASSES[kind]]
    if name.startswith("after "):
        return f"the last action {_DID[name.removeprefix('after ')]}, this one {does}"
    return f"{_HOLDS[name]}, this one {does}"


def _pair_text(model: Model, found: Features, facts: Facts, top: int) -> str | None:
    pair = model.pairs.strongest(found.pairs, facts.shelf.tools[top])
    if pair is None:
        return None
    kind, first, second = pair
    goal_words = _shared(found, {first}) or _shared_groups(found, {first})
    named = [
        word for word in words(facts.tools[top].name) if second in (stem(word), *_groups(word))
    ]
    if not named or (kind in ("goal", "group") and not goal_words):
        return None
    if kind in ("goal", "group"):
        return f'"{goal_words[0]}" in the goal goes with "{named[0]}" in its name'
    return f'"{named[0]}" often comes after the actions so far'


def _groups(word: str) -> tuple[str, ...]:
    return concept(stem(word))
