"""What a tool does, as verbs and what they are applied to, and how grave that is."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from router.catalog.lexicon import lexicon

__all__ = ["Act", "gravest"]

LOW: Final = 0
MEDIUM: Final = 1
HIGH: Final = 2
CRITICAL: Final = 3


@dataclass(frozen=True, slots=True)
class Act:
    """One thing that a tool does.

    Attributes:
        kind: kind of the verb, a key of ``Lexicon.levels``.
        phrase: the verb, then the words that it is applied to, as far as they are known.
        around: all words of the name or sentence.
    """

    kind: str
    phrase: tuple[str, ...]
    around: tuple[str, ...]

    def level(self) -> int:
        """Index of its risk level, 0 (low) to 3 (critical)."""
        level = lexicon().levels[self.kind]
        if self.kind == "read":
            return HIGH if self._is_of("secret") else LOW
        if self._is_of("money") or self._is_of("secret"):
            return CRITICAL
        if self.kind == "destroy" and self._is_of_a_whole():
            return CRITICAL
        if self.kind == "run":
            level = self._level_of_running()
        if level > LOW and (self._is_of("rights") or self._is_near("infrastructure")):
            level = max(level, HIGH)
        return level

    def _level_of_running(self) -> int:
        if len(self.phrase) == 1 or self._is_near("code"):
            return HIGH
        return LOW if self._is_of("looking") else MEDIUM  # "run a search" only looks

    def _is_of(self, what: str) -> bool:
        """Whether it is applied to a thing of a class; some are pairs of words: "api_key"."""
        found, phrase = lexicon().objects[what], self.phrase
        return not found.isdisjoint(phrase) or any(
            f"{phrase[i]}_{phrase[i + 1]}" in found for i in range(len(phrase) - 1)
        )

    def _is_of_a_whole(self) -> bool:
        """Whether what is destroyed holds many things: its last word says what it is."""
        whole, things = lexicon().objects["whole"], self.phrase[1:]
        return bool(things) and (things[-1] in whole or things[0] == "all")

    def _is_near(self, what: str) -> bool:
        return not lexicon().objects[what].isdisjoint(self.around)


def gravest(acts: Sequence[Act]) -> int | None:
    """Index of the highest risk level among ``acts``; None if there are none."""
    return max((act.level() for act in acts), default=None)
