"""Stand-ins for tests of the router: a provider that says what it is told to, a fixed selector."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from router.models import ChoiceDecision, HarnessState, Selection, ToolDescriptor
from router.providers.base import LateAnswer

Answer = ChoiceDecision | BaseException | Callable[[Mapping[str, str | None]], ChoiceDecision]


class Scripted:
    """Gives ``answers`` in turn, the last one for ever; remembers what it was asked."""

    name = "scripted"
    model = "m"
    timeout_seconds = 2.0

    def __init__(self, *answers: Answer) -> None:
        self.answers = answers
        self.asked: list[dict[str, Any]] = []

    @property
    def requests_made(self) -> int:
        return len(self.asked)

    async def choose(
        self,
        *,
        state: str | Mapping[str, Any],
        instructions: str,
        criteria: Mapping[str, str | None],
        deadline: float | None = None,
        on_late: LateAnswer | None = None,
    ) -> ChoiceDecision:
        answer = self.answers[min(len(self.asked), len(self.answers) - 1)]
        self.asked.append(
            {
                "state": state,
                "instructions": instructions,
                "criteria": dict(criteria),
                "deadline": deadline,
                "on_late": on_late,
            }
        )
        if isinstance(answer, BaseException):
            raise answer
        return answer(criteria) if callable(answer) else answer

    async def prewarm(self) -> None: ...

    async def aclose(self) -> None: ...


class Hanging(Scripted):
    """Never answers, whatever deadline it is given."""

    timeout_seconds = 0.05

    async def choose(
        self,
        *,
        state: str | Mapping[str, Any],
        instructions: str,
        criteria: Mapping[str, str | None],
        deadline: float | None = None,
        on_late: LateAnswer | None = None,
    ) -> ChoiceDecision:
        await asyncio.Event().wait()
        raise AssertionError


class Fixed:
    """A local selector that gives each tool the share it is told, and "none fits" the rest."""

    version = "fixed"

    def __init__(self, weights: Mapping[str, float]) -> None:
        self.weights = weights
        self.selected = 0

    def select_now(self, state: HarnessState, tools: Sequence[ToolDescriptor]) -> Selection:
        self.selected += 1
        shares = {tool.name: self.weights.get(tool.name, 0.0) for tool in tools}
        none_fits = 1.0 - sum(shares.values())
        best = max(shares, key=shares.__getitem__)
        tool = best if shares[best] >= none_fits else None
        return Selection(tool, shares, none_fits, "local", self.version)

    def shortlist(
        self, state: HarnessState, tools: Sequence[ToolDescriptor], size: int
    ) -> list[int]:
        ranked = sorted(range(len(tools)), key=lambda i: -self.weights.get(tools[i].name, 0.0))
        return ranked[:size]


def sure_of(name: str, share: float = 0.93) -> Callable[[Mapping[str, str | None]], ChoiceDecision]:
    """An answer that gives ``name`` this share and the other options the rest, evenly."""

    def answer(criteria: Mapping[str, str | None]) -> ChoiceDecision:
        rest = (1.0 - share) / (len(criteria) - 1)
        shares = {label: share if label == name else rest for label in criteria}
        k = len(criteria)
        return ChoiceDecision(name, shares, (k * share - 1.0) / (k - 1.0), model="m-1")

    return answer
