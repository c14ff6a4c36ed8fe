"""``har route-mcts``: the first tool of a simulation graph, from a file or from stdin."""

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import click

from mcts_core import ConfigError, MCTSError
from router.cli import render
from router.config import MCTSConfig
from router.errors import RouterError
from router.mcts_result import MCTSResult
from router.mcts_router import MCTSToolRouter
from router.settings import load_settings
from simulators.asynchronous import drive
from simulators.graph import SimulationGraph, read_graph

__all__ = ["route_mcts"]

ABSTAINED = 3
BAD_INPUT = 2
MANY_SIMULATIONS = 1_000_000
"""From here on a search is long enough for a progress bar (some seconds)."""


@click.command("route-mcts")
@click.argument("graph", metavar="[GRAPH|-]", default="-")
@click.option("--simulations", type=int, help="Budget in simulations [graph's, else 64].")
@click.option("--max-depth", type=int, help="Horizon in tools [graph's, else 4].")
@click.option("--discount", type=float, help="Factor per step, 0 to 1 [graph's, else 0.95].")
@click.option("--time-limit-ms", type=float, help="Budget in milliseconds [graph's, else none].")
@click.option("--seed", type=int, help="Seed of the random generator [graph's, else 0].")
@click.option(
    "--solver",
    type=click.Choice(["auto", "exact", "mcts"]),
    help="auto solves exactly where that is cheap, and searches elsewhere [auto].",
)
@click.option(
    "--selection",
    type=click.Choice(["auto", "puct", "ucb1"]),
    help="Selection rule of the search [auto].",
)
@click.option(
    "--evaluation",
    type=click.Choice(["auto", "simulator", "forced", "rollout"]),
    help="How a new state is valued: as stated, after forced moves, or by random moves [auto].",
)
@click.option("--exploration", type=float, help="Weight of exploration, >= 0 [1.5].")
@click.option(
    "--levels",
    type=click.IntRange(min=0),
    default=3,
    show_default=True,
    help="How many levels of the tree to print.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option(
    "--html",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the tree as one self-contained page.",
)
def route_mcts(graph: str, levels: int, as_json: bool, html: Path | None, **options: Any) -> None:
    """Look ahead in a simulation graph (JSON, from a file or stdin): which tool comes first?

    Exit codes: 0 decided, 3 abstained, 2 bad input (one line that names the field).

    \b
    Example:
      har route-mcts examples/fix_failing_test.json
      my-graph-command | har route-mcts - --json
    """  # noqa: D301 (click wants the character itself)
    try:
        parsed = read_graph(_read(graph))
        result = _search(
            parsed, _config(parsed, options), keep_tree=not as_json or html is not None
        )
    except (MCTSError, RouterError) as error:
        _refuse(str(error))
    if html is not None:
        _write(html, render.page(parsed, result))
    if as_json:
        click.echo(json.dumps(render.as_json(result), allow_nan=False))
    else:
        render.show(result, levels)
    sys.exit(ABSTAINED if result.decision.fallback else 0)


def _read(graph: str) -> bytes:
    """The bytes of the graph; exits with one line if they cannot be had."""
    try:
        return sys.stdin.buffer.read() if graph == "-" else Path(graph).read_bytes()
    except OSError as error:
        _refuse(f"{graph}: {error.strerror or 'cannot be read'}")


def _config(graph: SimulationGraph, options: dict[str, Any]) -> MCTSConfig:
    """An option wins over the graph's own setting, which wins over the settings in force."""
    names = ("simulations", "max_depth", "discount", "time_limit_ms", "seed")
    given = {name: getattr(graph, name) for name in names}
    given |= {name: options[name] for name in names if options[name] is not None}
    given |= {name: options[name] for name in ("solver", "selection", "evaluation")}
    given["exploration_constant"] = options["exploration"]
    given = {name: value for name, value in given.items() if value is not None}
    try:
        return replace(load_settings().search, **given)
    except ConfigError as error:
        flag = "--exploration" if error.field == "exploration_constant" else f"--{error.field}"
        _refuse(f"{flag.replace('_', '-')}: got {error.got!r}, wanted {error.wanted}")


def _search(graph: SimulationGraph, config: MCTSConfig, *, keep_tree: bool) -> MCTSResult:
    router = MCTSToolRouter(graph, config=config)
    if config.simulations < MANY_SIMULATIONS or not sys.stderr.isatty():
        return drive(router.search(keep_tree=keep_tree))
    with render.progress_bar(config.simulations) as advance:
        return drive(router.search(keep_tree=keep_tree, progress=advance))


def _write(path: Path, page: str) -> None:
    """Write a file whole or not at all."""
    partial = path.with_name(path.name + ".partial")
    try:
        partial.write_text(page, encoding="utf-8")
        partial.replace(path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        _refuse(f"--html {path}: {error.strerror or 'cannot be written'}")


def _refuse(message: str) -> NoReturn:
    click.echo(f"har route-mcts: {message}", err=True)
    sys.exit(BAD_INPUT)
