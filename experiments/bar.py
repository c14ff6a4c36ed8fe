"""The progress bar of the experiments: on a terminal only, and never in the output."""

from rich.console import Console
from rich.progress import Progress

__all__ = ["bar"]


def bar() -> Progress:
    """A bar on standard error that goes when it is done; silent where that is no terminal."""
    console = Console(stderr=True)
    return Progress(console=console, transient=True, disable=not console.is_terminal)
