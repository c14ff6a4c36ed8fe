"""Fit the weights of the local selector and write them to where the package ships them.

    python -m experiments.tool_choice.fit [--check] [--list]

Only the "fit" part of the sets is used (see ``experiments.tool_choice.data``), with our own agent
cases of the same part. Two files: without and with a similarity of texts (the ``embeddings``
extra); the second is left as it is, with the reason, where the extra is not there. The same data
and code give the same files, byte for byte.
"""

import hashlib
import json
import math
import platform
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
import numpy as np

from experiments.tool_choice.data import (
    Problem,
    data_folder,
    data_hash,
    fold_of,
    load,
    load_cases,
    part_of,
    registry,
)
from experiments.tool_choice.learn import Settings, Shelves, Similarity, learn
from router.errors import EmbeddingsError
from router.selectors.embedding import MiniLM
from router.selectors.embedding_features import similarity_of
from router.selectors.local import SHELF, LexicalSelector
from router.selectors.model import WEIGHTS, WEIGHTS_WITH_SIMILARITY, Model

__all__ = ["fitted", "similarity_or_reason"]

LICENCES = {
    "agent_cases": "our own, part of this repository",
    "bfcl_irrelevance": "Berkeley Function Calling Leaderboard v4 (half), Apache-2.0",
    "bfcl_live_multiple": "Berkeley Function Calling Leaderboard v4 (half), Apache-2.0",
    "bfcl_multi_turn_steps": "Berkeley Function Calling Leaderboard v4 (half), Apache-2.0",
    "metatool_similar": "MetaTool / ToolE (half), MIT",
}


def similarity_or_reason() -> Similarity | str:
    """The scorer of the ``embeddings`` extra, or why it is not there."""
    try:
        model = MiniLM()
        model.load()
    except EmbeddingsError as error:
        return str(error)
    return similarity_of(model)


def missed_share(problems: Sequence[Problem], settings: Settings, folder: Path) -> float:
    """Share of goals whose right tool is not among the 64 first by words in a large registry.

    Goals of one fold, pairs of words learned from the others. At least .01.
    """
    held = [p for p in problems if fold_of(p) == 0 and p.gold is not None]
    inside = [p for p in problems if fold_of(p) != 0]
    model = Model(learn(inside, settings, folds=0) | {"version": ""})
    selector, tools = LexicalSelector(model=model), registry(folder)
    index = {tool.name: i for i, tool in enumerate(tools)}
    asked = [p for p in held if p.tools[p.gold or 0].name in index]
    hits = [
        index[p.tools[p.gold or 0].name] in selector.shortlist(p.state, tools, SHELF) for p in asked
    ]
    return round(max(1.0 - float(np.mean(hits)), 0.01), 3) if hits else 0.05


def fitted(
    problems: Sequence[Problem],
    name: str,
    folder: Path,
    settings: Settings,
    similarity: Similarity | None = None,
) -> dict[str, Any]:
    """The content of a weights file."""
    shelves = Shelves(similarity)
    data = learn(problems, settings, shelves=shelves)
    data["missed"] = missed_share(problems, settings, folder)
    groups = sorted({problem.group for problem in problems})
    body = json.dumps(data, sort_keys=True)
    provenance = {
        "script": "python -m experiments.tool_choice.fit",
        "data": {
            source: {"licence": LICENCES[source], "items": count}
            for source, count in sorted(Counter(p.source for p in problems).items())
        },
        "data_sha256": data_hash(folder),
        "split": "fit part: sha256('part:' + group) below 0.6 of its range",
        "groups": len(groups),
        "groups_sha256": hashlib.sha256("\n".join(groups).encode()).hexdigest()[:16],
        "settings": _plain(asdict(settings)),
        "seed": 0,
        "training_log_loss": training_loss(problems, Model(data | {"version": ""}), similarity),
    }
    version = f"{name}-{hashlib.sha256(body.encode()).hexdigest()[:8]}"
    return {"version": version, "provenance": provenance, **data}


def training_loss(
    problems: Sequence[Problem], model: Model, similarity: Similarity | None
) -> dict[str, float]:
    """Mean -ln p(right answer) of each set, on what the weights were fitted to."""
    selector = LexicalSelector(similarity, model)
    losses: dict[str, list[float]] = {}
    for problem in problems:
        selection = selector.select_now(problem.state, problem.tools)
        values = [*selection.probabilities.values(), selection.none_fits or 0.0]
        right = values[-1 if problem.gold is None else problem.gold]
        losses.setdefault(problem.source, []).append(-math.log(max(right, 1e-12)))
    return {source: round(float(np.mean(found)), 4) for source, found in sorted(losses.items())}


def _plain(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings as JSON: the prior's keys are pairs."""
    prior = {" -> ".join(key): value for key, value in settings["prior"].items()}
    return {**settings, "prior": prior}


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--check", is_flag=True, help="Fit, but only say whether the files are the same.")
@click.option("--list", "listing", is_flag=True, help="Print the ids that are used, and stop.")
def main(check: bool, listing: bool) -> None:
    """Fit the weights of the local selector."""
    folder = data_folder()
    if folder is None:
        raise click.ClickException("the tool-choice sets are not here: see data.py")
    problems = [p for p in (*load(folder), *load_cases()) if part_of(p) == "fit"]
    if listing:
        click.echo("\n".join(problem.id for problem in problems))
        return
    similarity = similarity_or_reason()
    jobs: list[tuple[str, Path, Similarity | None]] = [("local", WEIGHTS, None)]
    if isinstance(similarity, str):
        click.echo(f"weights with a similarity: left as they are ({similarity})", err=True)
    else:
        jobs.append(("local+minilm", WEIGHTS_WITH_SIMILARITY, similarity))
    for name, path, scorer in jobs:
        click.echo(f"{path.name}: fitting on {len(problems)} problems", err=True)
        data = fitted(problems, name, folder, Settings(), scorer)
        text = json.dumps(data, indent=None, separators=(",", ":"), ensure_ascii=False) + "\n"
        same = path.exists() and path.read_text(encoding="utf-8") == text
        if check:
            click.echo(f"{path.name}: {'the same' if same else 'differs'} ({platform.machine()})")
            continue
        path.write_text(text, encoding="utf-8")
        click.echo(f"{path.name}: {data['version']}, {len(text)} bytes")


if __name__ == "__main__":
    main()
