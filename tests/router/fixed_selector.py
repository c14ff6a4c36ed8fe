"""A local selector for tests of the router: it knows its shares beforehand."""

from collections.abc import Mapping, Sequence

from router.models import HarnessState, Selection, ToolDescriptor


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
