"""Results of ``har route-mcts`` for eyes (table, tree, page) and for machines (JSON)."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from router.mcts_result import LookaheadTree, MCTSResult
from simulators.graph import SimulationGraph

__all__ = ["as_json", "page", "progress_bar", "show"]

MOST_CHILDREN = 4


def as_json(result: MCTSResult) -> dict[str, Any]:
    """The result as a JSON object; every number is finite."""
    decision = result.decision
    return {
        "tool": decision.tool,
        "category": decision.category,
        "confidence": decision.confidence,
        "fallback": decision.fallback,
        "fallback_reason": decision.fallback_reason,
        "source": decision.source,
        "probabilities": dict(decision.probabilities),
        "probability_kind": result.probability_kind,
        "principal_variation": list(result.principal_variation),
        "root_visits": dict(result.root_visits),
        "root_values": dict(result.root_values),
        "proven": result.proven,
        "proven_by": result.proven_by,
        "proven_tools": list(result.proven_tools),
        "simulations": result.simulations,
        "nodes": result.nodes,
        "policy_evaluations": result.policy_evaluations,
        "prior": dict(result.prior),
        "prior_source": result.prior_source,
        "prior_error": result.prior_error,
        "none_fits": result.none_fits,
        "dead_tools": list(result.dead_tools),
        "stop_reason": result.stop_reason,
        "time_ms": round(result.time_ms, 3),
        "seed": result.seed,
    }


def show(result: MCTSResult, levels: int) -> None:
    """Print the decision, a short table of the root's tools, and ``levels`` levels of the tree."""
    from rich.console import Console

    console = Console(highlight=False)
    decision = result.decision
    if decision.fallback:
        console.print(f"[bold]abstains[/]: {decision.fallback_reason}", markup=True)
    else:
        console.print("[bold green]" + _plain(decision.tool) + "[/]  " + _evidence(result))
    if result.root_values:
        console.print(_table(result))
    for tool in result.dead_tools:
        console.print(f"[yellow]{_plain(tool)}[/] has no transition: it ends in place, reward -1")
    if result.tree is not None and levels > 0:
        console.print(
            _tree(result.tree, levels, counts=not result.proven),
            no_wrap=True,
            overflow="ellipsis",
            crop=True,
        )


def _evidence(result: MCTSResult) -> str:
    value = result.root_values[str(result.decision.tool)]
    if result.proven:
        how = f"proven best by {result.proven_by}"
    else:
        share = result.decision.confidence
        how = f"{share:.0%} of {result.simulations:,} simulations, seed {result.seed}"
    return f"value {value:.4g}, {how}, {result.time_ms:.3g} ms"


def _table(result: MCTSResult) -> Any:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("tool", "visits", "value", "share", "proven"):
        table.add_column(name, justify="left" if name == "tool" else "right")
    shares = result.decision.probabilities
    solved = result.simulations == 0
    order = sorted(
        result.prior, key=lambda t: (-result.root_visits[t], -result.root_values.get(t, -math.inf))
    )
    for tool in order:
        value = result.root_values.get(tool)
        table.add_row(
            _plain(tool),
            "-" if solved else f"{result.root_visits[tool]:,}",
            "-" if value is None else f"{value:.4f}",
            "-" if solved else f"{shares[tool]:.1%}",
            "yes" if tool in result.proven_tools else "no",
            style="bold" if tool == result.decision.tool else None,
        )
    return table


def _tree(tree: LookaheadTree, levels: int, *, counts: bool) -> Any:
    from rich.tree import Tree

    arrays = tree.arrays
    children: list[list[int]] = [[] for _ in range(len(arrays))]
    for node, parent in enumerate(arrays.parent.tolist()):
        if parent >= 0:
            children[parent].append(node)

    def rank(node: int) -> tuple[int, float]:
        return -int(arrays.visits[node]), -float(arrays.value[node])

    def grow(branch: Any, node: int, level: int) -> None:
        ordered = sorted(children[node], key=rank)
        for child in ordered[:MOST_CHILDREN]:
            chance = arrays.kind[node] == 1
            facts = f"value {arrays.value[child]:.4g}"
            if counts:
                facts = f"{arrays.visits[child]:,} visits, " + facts
            elif chance:
                facts = f"p {arrays.prior[child]:.3g}, " + facts
            first = child == ordered[0] and not chance
            name = _plain(tree.labels[child])
            text = f"[bold]{name}[/]" if first else name
            end = "  [dim]ends[/]" if arrays.ended[child] else ""
            state = f"  [dim]{_plain(tree.states[child])}[/]" if tree.states[child] else ""
            twig = branch.add(f"{text}  [dim]{facts}[/]{end}{state}")
            if level + (not chance) < levels and (first or chance):
                grow(twig, child, level + (not chance))
        if len(ordered) > MOST_CHILDREN:
            branch.add(f"[dim]and {len(ordered) - MOST_CHILDREN} more[/]")

    title = "search tree" if counts else "optimal policy"
    trunk = Tree(f"[dim]{title}:[/] {_plain(tree.labels[0])}")
    grow(trunk, 0, 0)
    return trunk


def page(graph: SimulationGraph, result: MCTSResult) -> str:
    """The tree as one self-contained HTML page."""
    import numpy as np

    from mcts_core.result import SearchTree
    from mcts_core.view import render_html

    tree = result.tree
    if tree is None:
        root = np.zeros(1, dtype=np.int32)
        zero = np.zeros(1)
        flag = np.zeros(1, dtype=np.uint8)
        arrays = SearchTree(
            root - 1,
            root - 1,
            root,
            root,
            zero,
            zero + 1,
            zero,
            flag,
            flag.astype(np.bool_),
            flag.astype(np.bool_),
            root,
        )
        tree = LookaheadTree(arrays, [next(s.goal for s in graph.states)], [""])
    decision = result.decision
    facts = {"decision": decision.tool or f"abstains: {decision.fallback_reason}"}
    if not decision.fallback:
        facts["evidence"] = _evidence(result)
        facts["first tools"] = " > ".join(result.principal_variation)
        facts["nodes"] = f"{len(tree.arrays):,}"
    return render_html(
        tree.arrays,
        tree.labels,
        title=decision.tool or "No decision",
        subtitle=tree.labels[0],
        facts=facts,
        details=tree.states,
    )


@contextmanager
def progress_bar(total: int) -> Iterator[Callable[[int], None]]:
    """A bar on stderr with the time left; yields what is told the simulations so far."""
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("simulations", total=total)
        yield lambda done: bar.update(task, completed=done)


def _plain(text: object) -> str:
    """Text that the terminal shows as it is: no markup, no control characters."""
    from rich.markup import escape

    return escape("".join(c if c.isprintable() else " " for c in str(text)))
