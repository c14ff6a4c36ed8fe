"""Does the selector know the game or the tools? Multi-turn steps with all tools of an API unseen.

    python -m experiments.tool_choice.unseen

The conversations of the sets share eight APIs, so a conversation that was held out still meets
tools whose words were learned from. Here, for each of the four APIs with most steps, the weights
are fitted without any conversation that has it, and asked about all that do.
"""

import json
from pathlib import Path
from typing import Final

import click
import numpy as np

from experiments.bar import bar
from experiments.tool_choice.baselines import bm25
from experiments.tool_choice.data import Problem, data_folder, load, load_cases
from experiments.tool_choice.learn import learn
from experiments.tool_choice.report import answers
from router.selectors.local import LexicalSelector
from router.selectors.model import Model

__all__ = ["split_by_api"]

APIS: Final = ("GorillaFileSystem", "TradingBot", "TravelAPI", "VehicleControlAPI")


def split_by_api(
    problems: list[Problem], names: frozenset[str]
) -> tuple[list[Problem], list[Problem]]:
    """Problems that offer none of the tools, and multi-turn problems that offer them all."""
    without = [p for p in problems if names.isdisjoint(tool.name for tool in p.tools)]
    having = [
        p
        for p in problems
        if p.source == "bfcl_multi_turn_steps" and names <= {tool.name for tool in p.tools}
    ]
    return without, having


def _names(folder: Path, api: str) -> frozenset[str]:
    catalog = json.loads((folder / "bfcl_multi_turn_catalog.json").read_text())
    return frozenset(entry["name"] for entry in catalog[api])


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Top-1 on multi-turn steps whose API was not seen in the fit."""
    folder = data_folder()
    if folder is None:
        raise click.ClickException("the tool-choice sets are not here: see data.py")
    problems = [*load(folder), *load_cases()]
    with bar() as progress:
        for api in progress.track(APIS):
            without, having = split_by_api(problems, _names(folder, api))
            model = Model(learn(without, folds=0) | {"version": f"without {api}"})
            right = [a.right for a in answers(LexicalSelector(model=model), having)]
            plain = [int(bm25(p).argmax()) == p.gold for p in having]
            click.echo(
                f"{api}: {len(having)} steps, {np.mean(right):.3f}, BM25 {np.mean(plain):.3f}"
            )


if __name__ == "__main__":
    main()
