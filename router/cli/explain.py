"""A decision of ``har route`` for eyes: the probabilities, the gate, and why."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from router.models import RouteDecision, RoutingMode, ToolDescriptor
from router.settings import Settings

__all__ = ["explain_decision"]

BAR = 24
MOST_ROWS = 12

REASONS = {
    "no_matching_tool": "that none of the tools fits is the most probable",
    "unknown_confidence": "no probabilities were given, and unknown is never enough",
    "low_confidence": "below the fallback threshold",
    "planner_confirmation": "between the thresholds: the planner is to confirm",
    "provider_error": "the provider failed, and the local selector is not sure enough",
    "planner_only": "the mode is planner_only",
    "no_tools": "no tools are on offer",
}
SOURCES = {
    "jev": "the provider",
    "cache": "the provider, remembered",
    "local": "the local selector",
    "obvious": "nobody: it is the only tool on offer",
    "none": "nobody",
}


def explain_decision(
    decision: RouteDecision, tools: Sequence[ToolDescriptor], settings: Settings
) -> None:
    """Print the choice or why there is none, the tools by probability, and what spoke for it."""
    console = Console(highlight=False)
    if decision.fallback:
        reason = str(decision.fallback_reason)
        console.print(Text.assemble(("abstains", "bold"), f": {reason}"))
        console.print(Text(f"  {REASONS.get(reason, reason)}", "dim"))
    else:
        console.print(
            Text.assemble((str(decision.tool), "bold green"), f"  {decision.confidence:.1%}")
        )
    if decision.probabilities:
        console.print(_table(decision, tools))
    for line in decision.why:
        console.print(Text(f"- {line}"))
    console.print(Text(_who(decision, settings), "dim"))


def _table(decision: RouteDecision, tools: Sequence[ToolDescriptor]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("tool", overflow="fold")
    table.add_column("probability", justify="right")
    table.add_column("")
    table.add_column("category")
    table.add_column("risk")
    by_name = {tool.name: tool for tool in tools}
    ranked = sorted(decision.probabilities.items(), key=lambda pair: -pair[1])
    for name, p in ranked[:MOST_ROWS]:
        tool = by_name[name]
        style = "bold green" if name == decision.tool else ""
        bar = Text("━" * round(p * BAR), style or "cyan")
        table.add_row(
            Text(name, style), f"{p:.1%}", bar, Text(tool.category or "-"), tool.risk.value
        )
    rest = ranked[MOST_ROWS:]
    if rest:
        share = sum(p for _, p in rest)
        table.add_row(Text(f"{len(rest)} more", "dim"), f"{share:.1%}", "", "", "")
    if decision.none_fits is not None:
        p = decision.none_fits
        table.add_row(Text("none fits", "italic"), f"{p:.1%}", Text("━" * round(p * BAR), "dim"))
    return table


def _who(decision: RouteDecision, settings: Settings) -> str:
    routing = settings.routing
    parts = [f"decided by {SOURCES.get(decision.source, decision.source)}"]
    if decision.version:
        parts.append(decision.version)
    if decision.provider_error:
        parts.append(f"the provider did not: {decision.provider_error}")
    if routing.mode is RoutingMode.HYBRID:
        parts.append(
            f"chosen from {routing.direct_execution_threshold:.0%} on, "
            f"confirmed from {routing.fallback_threshold:.0%} on"
        )
    if decision.answer is not None and decision.answer.usage.cost is not None:
        parts.append(f"${decision.answer.usage.cost:.7f}")
    if decision.latency_ms is not None:
        parts.append(f"{decision.latency_ms:.2f} ms")
    if decision.source == "local" and decision.provider_error is None:
        parts.append(f"no key: {settings.provider.api_key_env} is not set")
    return "; ".join(parts)
