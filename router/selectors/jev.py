"""The selector that asks a provider: one choice question, its answer checked and calibrated."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, TypeVar

from router.config import RoutingConfig
from router.models import ChoiceDecision, HarnessState, Selection, ToolDescriptor, Usage
from router.providers.answers import check_choice
from router.providers.base import DecisionProvider
from router.selectors.question import Question, category_question, state_payload, tool_question
from router.selectors.temperature import IDENTITY, Temperatures, temper

__all__ = ["JevSelector", "LateSelection"]

ROUNDING: Final = 0.0101
"""Stated probabilities have two decimals: two equal ones may differ by this."""

LateSelection = Callable[[Selection], None]
"""Told what an answer that came after the deadline would have been; for a cache."""

Number = TypeVar("Number", int, float)

PROMPT_VERSION = "p1"
"""Changed with every word of ``router.selectors.question``: decisions are comparable within one."""


class JevSelector:
    """Asks a provider which tool fits; of many tools, which category first where that saves input.

    Args:
        provider: who answers.
        config: limits of what it sees, and when a category is asked first.
        temperatures: calibration of its probabilities, by number of options.
    """

    def __init__(
        self,
        provider: DecisionProvider,
        config: RoutingConfig,
        temperatures: Temperatures = IDENTITY,
    ) -> None:
        self._provider = provider
        self._config = config
        self._temperatures = temperatures

    @property
    def provider_name(self) -> str:
        """Name of the provider."""
        return self._provider.name

    @property
    def timeout_seconds(self) -> float:
        """Total time of one call of the provider at most."""
        return self._provider.timeout_seconds

    @property
    def version(self) -> str:
        """Provider, model asked for, prompt and calibration."""
        provider = self._provider
        return f"{provider.name}:{provider.model}/{PROMPT_VERSION}/{self._temperatures.version}"

    async def select(
        self,
        state: HarnessState,
        tools: Sequence[ToolDescriptor],
        deadline: float | None = None,
        on_late: LateSelection | None = None,
    ) -> Selection:
        """As ``Selector.select``; at most 254 tools."""
        groups = self._groups(tools)
        if groups is not None:
            return await self._by_category(state, tools, groups, deadline)
        question = tool_question(tools, self._config)

        def late(answer: ChoiceDecision) -> None:
            assert on_late is not None
            checked = check_choice(answer, question.criteria, self._provider.name)
            on_late(self._selection(checked, question, tools))

        answer = await self._ask(state, question, deadline, late if on_late else None)
        return self._selection(answer, question, tools)

    async def _ask(
        self,
        state: HarnessState,
        question: Question,
        deadline: float | None,
        on_late: Callable[[ChoiceDecision], None] | None = None,
    ) -> ChoiceDecision:
        answer = await self._provider.choose(
            state=state_payload(state, self._config),
            instructions=question.instructions,
            criteria=question.criteria,
            deadline=deadline,
            on_late=on_late,
        )
        return check_choice(answer, question.criteria, self._provider.name)

    def _groups(self, tools: Sequence[ToolDescriptor]) -> dict[str, list[ToolDescriptor]] | None:
        """The tools by category, if asking for a category first is worth it; else None."""
        config = self._config
        if len(tools) <= config.hierarchical_threshold:
            return None
        groups: dict[str, list[ToolDescriptor]] = {}
        for tool in tools:
            groups.setdefault(tool.category or "general", []).append(tool)
        if len(groups) < 2:
            return None
        flat = tool_question(tools, config).characters()
        first = category_question(groups, config).characters()
        # A later question is as long as the group that is chosen: taken by its share of the tools.
        then = sum(
            tool_question(members, config).characters() * len(members) / len(tools)
            for members in groups.values()
        )
        return groups if first + then <= flat * (1.0 - config.hierarchical_min_savings) else None

    async def _by_category(
        self,
        state: HarnessState,
        tools: Sequence[ToolDescriptor],
        groups: dict[str, list[ToolDescriptor]],
        deadline: float | None,
    ) -> Selection:
        """P(tool) = P(category) P(tool | category); tools of a category that was not asked about
        further share its probability evenly.
        """
        question = category_question(groups, self._config)
        first = await self._ask(state, question, deadline)
        if first.choice == question.none_label or not first.probabilities:
            return self._none_or_unknown(first, question, tools, groups)
        shares, none_fits = self._calibrated(first, question)
        members = groups[first.choice]
        inner_question = tool_question(members, self._config)
        second = await self._ask(state, inner_question, deadline)
        if not second.probabilities:
            return self._selection(second, inner_question, tools)
        inner, inner_none = self._calibrated(second, inner_question)
        chosen = shares[first.choice]
        probabilities = {
            tool.name: chosen * inner[tool.name]
            if tool.name in inner
            else shares[tool.category or "general"] / len(groups[tool.category or "general"])
            for tool in tools
        }
        return self._of(probabilities, none_fits + chosen * inner_none, _joined(first, second))

    def _none_or_unknown(
        self,
        first: ChoiceDecision,
        question: Question,
        tools: Sequence[ToolDescriptor],
        groups: dict[str, list[ToolDescriptor]],
    ) -> Selection:
        if not first.probabilities:
            return Selection(None, {}, None, "jev", self._built(first), first)
        shares, none_fits = self._calibrated(first, question)
        spread = {
            tool.name: shares[category] / len(members)
            for category, members in groups.items()
            for tool in members
        }
        return self._of({tool.name: spread[tool.name] for tool in tools}, none_fits, first)

    def _selection(
        self, answer: ChoiceDecision, question: Question, tools: Sequence[ToolDescriptor]
    ) -> Selection:
        if not answer.probabilities:
            tool = None if answer.choice == question.none_label else answer.choice
            return Selection(tool, {}, None, "jev", self._built(answer), answer)
        shares, none_fits = self._calibrated(answer, question)
        return self._of({tool.name: shares[tool.name] for tool in tools}, none_fits, answer)

    def _calibrated(
        self, answer: ChoiceDecision, question: Question
    ) -> tuple[dict[str, float], float]:
        """Label -> calibrated probability without "none fits", and that of "none fits"."""
        labels = list(question.criteria)
        stated = [answer.probabilities[label] for label in labels]
        tempered = temper(stated, self._temperatures.at(len(labels)))
        shares = dict(zip(labels, tempered, strict=True))
        return shares, shares.pop(question.none_label)

    def _of(
        self, probabilities: dict[str, float], none_fits: float, answer: ChoiceDecision
    ) -> Selection:
        # The provider's own choice, not our arg-max: they differ where rounding makes a tie.
        probable = probabilities.get(answer.choice, -1.0) >= none_fits - ROUNDING
        tool = answer.choice if probable else None
        return Selection(tool, probabilities, none_fits, "jev", self._built(answer), answer)

    def _built(self, answer: ChoiceDecision) -> str:
        return f"{self.version}@{answer.model}" if answer.model else self.version


def _joined(first: ChoiceDecision, second: ChoiceDecision) -> ChoiceDecision:
    """The second answer with what both took."""
    a, b = first.usage, second.usage
    usage = Usage(
        _sum(a.input_tokens, b.input_tokens),
        _sum(a.output_tokens, b.output_tokens),
        _sum(a.cost, b.cost),
    )
    return replace(second, usage=usage, latency_ms=_sum(first.latency_ms, second.latency_ms))


def _sum(a: Number | None, b: Number | None) -> Number | None:
    return None if a is None or b is None else a + b
