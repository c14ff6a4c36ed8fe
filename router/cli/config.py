"""``har config``: the settings in force and where each came from."""

import json
import os
import sys
from pathlib import Path
from typing import Any, Final

import click

from mcts_core import MCTSError
from router.errors import SettingsError
from router.settings import SECTIONS, Settings, load_settings, settings_files

__all__ = ["config"]

BAD_INPUT: Final = 2

PROJECT = click.option(
    "--project",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder where the search for harness-router.toml begins [working directory].",
)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def config() -> None:
    """Settings: options, then HARNESS_ROUTER_* variables, the project's harness-router.toml, yours
    in the folder of configurations, defaults; the first that has a value wins.
    """


@config.command("show")
@PROJECT
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def show(project: Path | None, as_json: bool) -> None:
    """Every setting, its value and where it came from. No key is ever shown."""
    try:
        settings = load_settings(project)
    except (SettingsError, MCTSError) as error:
        click.echo(f"har config show: {error}", err=True)
        sys.exit(BAD_INPUT)
    key = settings.provider.api_key_env
    key_is_set = bool(os.environ.get(key, "").strip())
    rows = [
        (f"{section}.{field}", value, settings.origins[f"{section}.{field}"])
        for section in SECTIONS
        for field, value in _values(settings, section).items()
    ]
    if as_json:
        found = {name: {"value": value, "source": source} for name, value, source in rows}
        click.echo(json.dumps({"settings": found, "key_variable": key, "key_is_set": key_is_set}))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in ("setting", "value", "source"):
        table.add_column(column, overflow="fold")
    for name, value, source in rows:
        style = "dim" if source == "default" else "bold"
        table.add_row(*(Text(cell, style) for cell in (name, _shown(value), source)))
    console = Console(highlight=False)
    console.print(table)
    said = "is set: Jev decides" if key_is_set else "is not set: the local selector decides"
    console.print(Text(f"\nThe key variable {key} {said}."))


@config.command("path")
@PROJECT
def path(project: Path | None) -> None:
    """The files that are read, the one that goes before first, and whether they are there."""
    users, projects = settings_files(project)
    for kind, file in (("project", projects), ("user", users)):
        click.echo(f"{kind:8} {file}{'' if file.is_file() else '  (not there)'}")


def _values(settings: Settings, section: str) -> dict[str, Any]:
    from dataclasses import asdict

    values = asdict(getattr(settings, section))
    return {name: getattr(value, "value", value) for name, value in values.items()}


def _shown(value: Any) -> str:
    return "-" if value is None else str(value)
