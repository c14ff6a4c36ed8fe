"""Regret curves as a figure: one panel for each world, one line with its interval per algorithm."""

from pathlib import Path
from typing import Any

import click

__all__ = ["draw"]

LEAST = 1e-3
"""Where a regret of 0 is drawn on the logarithmic axis."""


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """Write the figure (PNG, SVG or PDF by the name's ending).

    Args:
        rows: of ``experiments.regret.run``.
        path: the file to write.

    Raises:
        click.UsageError: matplotlib is not installed, or does not know the ending.
    """
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError:
        raise click.UsageError("--figure needs matplotlib: pip install matplotlib") from None
    mpl.rcParams["svg.hashsalt"] = "regret"  # the same bytes for the same rows
    worlds = list(dict.fromkeys(row["world"] for row in rows))
    figure = Figure(figsize=(5.2 * min(3, len(worlds)), 4.2 * -(-len(worlds) // 3)))
    panels = figure.subplots(-(-len(worlds) // 3), min(3, len(worlds)), squeeze=False).ravel()
    for panel, world in zip(panels, worlds, strict=False):
        draw_world(panel, world, [row for row in rows if row["world"] == world])
    for panel in panels[len(worlds) :]:
        panel.set_axis_off()
    panels[0].legend(fontsize="small", frameon=False)
    figure.tight_layout()
    try:
        figure.savefig(path, dpi=120, metadata={"Date": None} if path.suffix == ".svg" else None)
    except ValueError as error:
        raise click.UsageError(f"--figure: {error}") from None


def draw_world(panel: Any, world: str, rows: list[dict[str, Any]]) -> None:
    """One line for each algorithm, its 95 % interval shaded."""
    for label in dict.fromkeys(row["algorithm"] for row in rows):
        curve = [row for row in rows if row["algorithm"] == label]
        budgets = [row["budget"] for row in curve]
        (line,) = panel.plot(budgets, [max(row["regret"], LEAST) for row in curve], label=label)
        panel.fill_between(
            budgets,
            [max(row["regret_95"][0], LEAST) for row in curve],
            [max(row["regret_95"][1], LEAST) for row in curve],
            color=line.get_color(),
            alpha=0.12,
            linewidth=0,
        )
    panel.set(xscale="log", yscale="log", title=world, xlabel="simulations", ylabel="mean regret")
    panel.grid(alpha=0.3)
