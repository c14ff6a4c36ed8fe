"""Records for eyes: a table of many, a page of one, a bar while they move."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from router.decisions.outcome import Outcome
from router.decisions.record import DecisionRecord
from router.models import Usage

__all__ = ["progress_bar", "show_list", "show_record"]

ID_DIGITS = 16
"""Enough of an id to name one record: its time to a quarter of a microsecond."""
MOST_SHOWN = 12


def show_list(records: Iterable[DecisionRecord]) -> int:
    """Print a table; how many rows it has."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("time", "id", "point", "decision", "p", "of", "source", "fallback", "outcome"):
        table.add_column(name, justify="right" if name in ("p", "of") else "left", no_wrap=True)
    for record in records:
        table.add_row(
            _when(record.time),
            record.id[:ID_DIGITS],
            _plain(record.point),
            _decision(record),
            f"{record.decision.confidence:.2f}",
            str(len(record.options)),
            record.decision.source,
            _plain(f"{record.fallback.to}: {record.fallback.reason}") if record.fallback else "-",
            _outcome(record.outcome),
        )
    if table.row_count:
        _console(wide=True).print(table)
    return table.row_count


def show_record(record: DecisionRecord, outcomes: Sequence[Outcome]) -> None:
    """Print all that is known of one record, probabilities and options foremost."""
    console = _console()
    console.print(_decision(record) + f"  p {record.decision.confidence:.4g}")
    console.print(_facts(record))
    console.print(_options(record))
    if len(record.options) > MOST_SHOWN:
        console.print(f"[dim]and {len(record.options) - MOST_SHOWN} more options (--json)[/]")
    for outcome in outcomes:
        console.print(f"[dim]{_when(outcome.time)}[/] {_plain(outcome.by)}: {_outcome(outcome)}")


@contextmanager
def progress_bar(what: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """A bar on stderr, if that is a terminal; yields what is told the progress so far."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(what, total=total)
        yield lambda done: bar.update(task, completed=done)


def _facts(record: DecisionRecord) -> Any:
    from rich.table import Table

    decision, thresholds = record.decision, record.thresholds
    facts: dict[str, object] = {
        "id": record.id,
        "time": _when(record.time),
        "point": record.point,
        "session": record.session,
        "source": decision.source,
        "selector": decision.version,
        "model": record.model,
        "validation": record.validation,
        "fallback": f"{record.fallback.to}: {record.fallback.reason}" if record.fallback else None,
        "provider error": decision.provider_error,
        "none fits": None if decision.none_fits is None else f"{decision.none_fits:.4g}",
        "thresholds": thresholds
        and ", ".join(f"{name} {value:.4g}" for name, value in thresholds.values.items()),
        "certificate": thresholds and (thresholds.certificate or "none"),
        "latency": None if decision.latency_ms is None else f"{decision.latency_ms:.3g} ms",
        "usage": _usage(record.usage),
        "option set": record.options.set_hash,
        "prompt": record.prompt_hash,
        "text": record.text + (", a secret was taken out" if record.redacted else ""),
        **_state(record),
    }
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="dim")
    table.add_column()
    for name, fact in facts.items():
        if fact is not None:
            table.add_row(name, _plain(fact))
    return table


def _usage(usage: Usage) -> str | None:
    if not usage.input_tokens:
        return None
    tokens = f"{usage.input_tokens:,} + {usage.output_tokens or 0:,} tokens"
    return tokens if usage.cost is None else f"{tokens}, ${usage.cost:.3g}"


def _state(record: DecisionRecord) -> dict[str, object]:
    state = record.state
    if state is None:
        return {}
    actions = [f"{action.tool} ({action.outcome})" for action in state.recent_actions]
    return {
        "goal": state.goal,
        "observation": state.observation,
        "last action": state.last_action,
        "recent actions": ", ".join(actions) or None,
        "constraints": "; ".join(state.constraints) or None,
    }


def _options(record: DecisionRecord) -> Any:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("option", "p", "category", "risk", "label"):
        table.add_column(name, justify="right" if name == "p" else "left")
    shares = record.decision.probabilities
    right = record.outcome.right if record.outcome else None
    ranked = sorted(record.options.tools, key=lambda tool: -shares.get(tool.name, 0.0))
    for tool in ranked[:MOST_SHOWN]:
        share = shares.get(tool.name)
        mark = "  [green]right[/]" if tool.name in (right or ()) else ""
        table.add_row(
            _plain(tool.name) + mark,
            "-" if share is None else f"{share:.4f}",
            _plain(tool.category or "-"),
            tool.risk.value,
            _plain(tool.description),
            style="bold" if tool.name == record.decision.tool else None,
        )
    return table


def _decision(record: DecisionRecord) -> str:
    decision = record.decision
    if decision.tool is None:
        return f"abstains: {_plain(decision.fallback_reason)}"
    colour = "green" if record.validation == "accepted" else "red"
    end = "" if record.validation == "accepted" else f" ({record.validation})"
    return f"[{colour}]{_plain(decision.tool)}[/]{end}"


def _outcome(outcome: Outcome | None) -> str:
    if outcome is None:
        return "-"
    said: list[str] = [outcome.result or "unknown"]
    if outcome.right is not None:
        said.append(f"right: {', '.join(outcome.right) or 'none of them'}")
    if outcome.duration_ms is not None:
        said.append(f"{outcome.duration_ms:.4g} ms")
    if outcome.retries:
        said.append(f"{outcome.retries} retries")
    return _plain(", ".join(said))


def _when(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def _console(*, wide: bool = False) -> Any:
    """On a terminal as wide as that; elsewhere a table is not folded."""
    from rich.console import Console

    console = Console(highlight=False)
    if wide and not console.is_terminal:
        console = Console(highlight=False, width=240)
    return console


def _plain(text: object) -> str:
    """Text that the terminal shows as it is: no markup, no control characters."""
    from rich.markup import escape

    return escape("".join(c if c.isprintable() else " " for c in str(text)))
