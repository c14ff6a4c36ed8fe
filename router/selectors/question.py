"""What a provider is asked: the state and the tools on offer as one choice question."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from router.config import RoutingConfig
from router.models import HarnessState, ToolDescriptor

__all__ = ["INSTRUCTIONS", "Question", "category_question", "describe", "tool_question"]

INSTRUCTIONS: Final = (
    "Choose the one tool that should run next to move `goal` forward, given what was done and seen."
)
CATEGORY_INSTRUCTIONS: Final = (
    "Choose the kind of tool that should run next to move `goal` forward, given what was done and "
    "seen."
)
NONE_OF_THESE: Final = "none_of_these"
NONE_TEXT: Final = "None of the others helps now: plan, answer, or ask the user first"
NAMES_PER_CATEGORY: Final = 8


@dataclass(frozen=True, slots=True)
class Question:
    """One choice question; the labels are the names asked about and one for "none fits"."""

    instructions: str
    criteria: dict[str, str | None]
    none_label: str

    def characters(self) -> int:
        """An estimate of its input, in characters."""
        texts = sum(len(label) + len(text or "") + 8 for label, text in self.criteria.items())
        return len(self.instructions) + texts


def tool_question(tools: Sequence[ToolDescriptor], config: RoutingConfig) -> Question:
    """Which of ``tools`` runs next?"""
    criteria: dict[str, str | None] = {
        tool.name: describe(tool, config.description_limit) for tool in tools
    }
    return _with_none(INSTRUCTIONS, criteria)


def category_question(groups: dict[str, list[ToolDescriptor]], config: RoutingConfig) -> Question:
    """Which category, the keys of ``groups``, holds the tool that runs next?"""
    criteria: dict[str, str | None] = {}
    for category, members in groups.items():
        names = ", ".join(tool.name for tool in members[:NAMES_PER_CATEGORY])
        more = ", ..." if len(members) > NAMES_PER_CATEGORY else ""
        criteria[category] = _cut(f"{names}{more}", config.description_limit)
    return _with_none(CATEGORY_INSTRUCTIONS, criteria)


def _with_none(instructions: str, criteria: dict[str, str | None]) -> Question:
    label = NONE_OF_THESE
    while label in criteria:
        label += "_"
    return Question(instructions, {**criteria, label: NONE_TEXT}, label)


def describe(tool: ToolDescriptor, limit: int) -> str:
    """One line on a tool: category and risk, then what it does, at most ``limit`` characters."""
    head = (
        f"{tool.category}, {tool.risk.value} risk" if tool.category else f"{tool.risk.value} risk"
    )
    return _cut(f"[{head}] {' '.join(tool.description[: 4 * limit].split())}", limit)


def state_payload(state: HarnessState, config: RoutingConfig) -> dict[str, Any]:
    """The state as a provider sees it: every text cut, empty fields left out."""
    limit = config.state_field_limit
    payload = state.compact(history_limit=config.history_limit)
    payload["goal"] = _cut(state.goal, limit)
    if state.observation is not None:
        payload["observation"] = _cut(state.observation, limit)
    payload["constraints"] = [_cut(text, limit) for text in state.constraints]
    payload["constraints"] = payload["constraints"][: config.constraint_limit]
    for action in payload["recent_actions"]:
        action["outcome"] = _cut(action["outcome"], max(64, limit // 4))
    return {key: value for key, value in payload.items() if key == "goal" or value}


def _cut(text: str, limit: int) -> str:
    """At most ``limit`` characters: the beginning and the end, where the news usually stands."""
    if len(text) <= limit:
        return text
    tail = limit // 3
    return f"{text[: limit - tail - 3]}...{text[len(text) - tail :]}"
