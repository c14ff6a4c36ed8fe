"""The ``har`` command. Each subcommand's module is loaded only when it runs."""

import importlib
from typing import Final

import click

__all__ = ["main"]

# name -> (module, attribute, one line of help)
COMMANDS: Final = {
    "config": ("router.cli.config", "config", "Show the settings and where each came from."),
    "route": ("router.cli.route", "route", "Choose the next tool among those on offer."),
    "records": (
        "router.cli.records",
        "records",
        "Records of decisions: list, show, export, import, purge, and how they ended.",
    ),
    "route-mcts": (
        "router.cli.route_mcts",
        "route_mcts",
        "Look ahead in a simulation graph and name the best first tool.",
    ),
}


class _LazyGroup(click.Group):
    """A group that lists its commands without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, attribute, _ = COMMANDS[cmd_name]
        command = getattr(importlib.import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name][2]) for name in self.list_commands(ctx)])


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="harness-router", prog_name="har")
def main() -> None:
    """Harness Router: which tool runs next.

    A choice never authorises anything: permissions stay with the host.

    Exit codes: 0 decided, 3 abstained, 2 bad input, 1 the provider failed (mode jev_only).
    """
