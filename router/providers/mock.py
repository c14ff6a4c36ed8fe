"""A provider without a key and without a network, for tests and examples."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from router.models import ChoiceDecision
from router.providers.base import LateAnswer

__all__ = ["MockProvider", "MockQuestion", "sure_of"]


@dataclass(frozen=True, slots=True)
class MockQuestion:
    """What a ``MockProvider`` was asked; the fields are the arguments of ``choose``."""

    state: str | Mapping[str, Any]
    instructions: str
    criteria: Mapping[str, str | None]
    deadline: float | None
    on_late: LateAnswer | None


Answer = ChoiceDecision | Exception | Callable[[MockQuestion], ChoiceDecision]


class MockProvider:
    """Says what it is told to.

    Args:
        answers: given in turn, the last one for ever: an answer, an exception that is raised, or a
            function of the question. Answers are given as they are, so that a test can break the
            contract.
        pause: awaited before each answer, given the question; e.g. a function that sleeps.
        timeout_seconds: see ``DecisionProvider``.
        name, model: likewise.

    Raises:
        ValueError: no answers.
    """

    def __init__(
        self,
        *answers: Answer,
        pause: Callable[[MockQuestion], Any] | None = None,
        timeout_seconds: float = 2.0,
        name: str = "mock",
        model: str = "mock-1",
    ) -> None:
        if not answers:
            raise ValueError("answers: got none, wanted at least one")
        self.name = name
        self.model = model
        self.timeout_seconds = timeout_seconds
        self.questions: list[MockQuestion] = []
        self._answers = answers
        self._pause = pause

    @property
    def requests_made(self) -> int:
        """How many questions it was asked."""
        return len(self.questions)

    async def choose(
        self,
        *,
        state: str | Mapping[str, Any],
        instructions: str,
        criteria: Mapping[str, str | None],
        deadline: float | None = None,
        on_late: LateAnswer | None = None,
    ) -> ChoiceDecision:
        """The next answer."""
        answer = self._answers[min(len(self.questions), len(self._answers) - 1)]
        question = MockQuestion(state, instructions, dict(criteria), deadline, on_late)
        self.questions.append(question)
        if self._pause is not None:
            await self._pause(question)
        if isinstance(answer, Exception):
            raise answer
        return answer(question) if callable(answer) else answer

    async def prewarm(self) -> None:
        """Nothing to warm."""

    async def aclose(self) -> None:
        """Nothing to close."""


def sure_of(choice: str, share: float = 0.95) -> Callable[[MockQuestion], ChoiceDecision]:
    """An answer that gives ``choice`` this share, and the other options the rest in equal parts.

    Args:
        choice: one of the options that will be asked about.
        share: its probability, 0 to 1.
    """

    def answer(question: MockQuestion) -> ChoiceDecision:
        k = len(question.criteria)
        rest = (1.0 - share) / (k - 1)
        shares = {label: share if label == choice else rest for label in question.criteria}
        return ChoiceDecision(choice, shares, (k * share - 1.0) / (k - 1.0), model="mock-1")

    return answer
