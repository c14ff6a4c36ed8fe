"""What a selector is."""

from collections.abc import Sequence
from typing import Protocol

from router.models import HarnessState, Selection, ToolDescriptor

__all__ = ["LocalSelector", "Selector"]


class Selector(Protocol):
    """Thinks about the tools on offer; a gate decides later whether that is enough to act on."""

    @property
    def version(self) -> str:
        """Name and version: decisions of different versions are not comparable."""

    async def select(
        self, state: HarnessState, tools: Sequence[ToolDescriptor], deadline: float | None = None
    ) -> Selection:
        """The distribution over ``tools`` and "none fits".

        Args:
            state: where the agent is.
            tools: on offer, names distinct and not blank, at least one.
            deadline: ``time.monotonic()`` after which no answer is wanted, or None.

        Raises:
            ProviderError: a remote selector had no usable answer.
        """


class LocalSelector(Protocol):
    """A selector that needs no network: it answers at once and never raises on checked input."""

    @property
    def version(self) -> str:
        """As in ``Selector``."""

    def select_now(self, state: HarnessState, tools: Sequence[ToolDescriptor]) -> Selection:
        """As ``Selector.select``; an empty list gives an empty selection."""

    def shortlist(
        self, state: HarnessState, tools: Sequence[ToolDescriptor], size: int
    ) -> list[int]:
        """Indices of the ``size`` most likely tools (all if there are fewer), best first."""
