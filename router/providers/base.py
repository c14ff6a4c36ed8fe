"""What a decision provider is."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from router.models import ChoiceDecision

__all__ = ["DecisionProvider", "LateAnswer"]

LateAnswer = Callable[[ChoiceDecision], None]
"""Told a checked answer that came after the deadline: for a cache, never for the decision."""


class DecisionProvider(Protocol):
    """Answers one choice among named options. Safe for many concurrent calls of one event loop."""

    @property
    def name(self) -> str:
        """Short and stable, e.g. "openrouter"."""

    @property
    def model(self) -> str:
        """The model that is asked for; answers name the exact build."""

    @property
    def requests_made(self) -> int:
        """Requests sent so far, retries included."""

    @property
    def timeout_seconds(self) -> float:
        """Total time of one call at most, > 0."""

    async def choose(
        self,
        *,
        state: str | Mapping[str, Any],
        instructions: str,
        criteria: Mapping[str, str | None],
        deadline: float | None = None,
        on_late: LateAnswer | None = None,
    ) -> ChoiceDecision:
        """One checked answer.

        Args:
            state: what the question refers to: text or a JSON object.
            instructions: the question.
            criteria: option -> what it means (None: the label says it), 2 to 255 options.
            deadline: ``time.monotonic()`` by which to answer or raise; the provider's own total
                timeout holds as well, whichever comes first.
            on_late: see ``LateAnswer``.

        Raises:
            ProviderError: no usable answer; its ``kind`` says why.
        """

    async def prewarm(self) -> None:
        """Open a connection ahead of the first call; never raises."""

    async def aclose(self) -> None:
        """Close connections and end what is still on its way."""
