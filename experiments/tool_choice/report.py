"""Figures of the local selector on the tool-choice sets, beside plain BM25, chance and a bigram.

    python -m experiments.tool_choice.report [--json] [--no-cross-validation] [--similarity]

Two views. "report": the weights that the package ships, on the part of the sets that no weight and
no decision of design has seen. "cross-validated": grouped 5-fold over both parts, all weights and
temperatures fitted anew for each fold; more items, less noise. Intervals are 95 % by bootstrap over
groups. Calibration is of the probability of the best tool, against whether it is right; where none
fits it is wrong.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import click
import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.table import Table

from experiments.bar import bar
from experiments.tool_choice.augment import augmented
from experiments.tool_choice.baselines import Bigram, bm25, chance
from experiments.tool_choice.data import (
    SETS,
    Problem,
    data_folder,
    fold_of,
    load,
    load_cases,
    part_of,
    registry,
)
from experiments.tool_choice.fit import similarity_or_reason
from experiments.tool_choice.learn import learn
from experiments.tool_choice.measures import (
    area,
    calibration_error,
    error_if_calibrated,
    interval,
)
from router.selectors.local import LexicalSelector, Similarity
from router.selectors.model import Model

__all__ = ["Answer", "answers", "recall", "summary"]

Floats = npt.NDArray[np.float64]
PICKING: Final = ("bfcl_live_multiple", "bfcl_multi_turn_steps", "metatool_similar")
MADE: Final = ("alone", "removed", "other")


@dataclass(frozen=True)
class Answer:
    """What was said about a problem.

    Attributes:
        problem: the problem.
        top: index of the most probable tool.
        probability: of that tool, 0 to 1.
        none: probability that none fits.
        gold: probability of the right answer.
    """

    problem: Problem
    top: int
    probability: float
    none: float
    gold: float

    @property
    def right(self) -> bool:
        """Whether the top tool is the right one."""
        return self.top == self.problem.gold


def answers(selector: LexicalSelector, problems: Sequence[Problem]) -> Iterator[Answer]:
    """Ask the selector."""
    for problem in problems:
        selection = selector.select_now(problem.state, problem.tools)
        values = list(selection.probabilities.values())
        none = selection.none_fits or 0.0
        top = int(np.argmax(values))
        gold = none if problem.gold is None else values[problem.gold]
        yield Answer(problem, top, values[top], none, gold)


def bigram_share(train: Sequence[Problem], asked: Sequence[Problem]) -> tuple[int, int]:
    """(right, asked) of a bigram that counts on ``train``, over the multi-turn problems."""
    steps = "bfcl_multi_turn_steps"
    bigram = Bigram([p for p in train if p.source == steps])
    right = [int(bigram.scores(p).argmax()) == p.gold for p in asked if p.source == steps]
    return sum(right), len(right)


def summary(found: Sequence[Answer], bigram: tuple[int, int]) -> dict[str, Any]:
    """All figures of one view; ``bigram``: right and asked of the baseline."""
    by_set = {name: [a for a in found if a.problem.source == name] for name in SETS}
    figures: dict[str, Any] = {"sets": {}}
    for name in PICKING:
        figures["sets"][name] = _set_figures(by_set[name])
    figures["sets"]["bfcl_multi_turn_steps"]["bigram"] = bigram[0] / max(bigram[1], 1)
    figures["none_fits"] = _none_figures(found)
    natural = [a for name in SETS for a in by_set[name]]
    figures["calibration"] = _calibration(natural)
    for name in PICKING:
        figures["sets"][name]["ece"] = _errors(by_set[name])
    cases = [a for a in found if a.problem.source == "agent_cases"]
    if cases:
        figures["agent_cases"] = {
            "n": len(cases),
            "right": float(np.mean([_right_with_none(a) for a in cases])),
            "bm25": float(
                np.mean([int(bm25(a.problem).argmax()) == a.problem.gold for a in cases])
            ),
        }
    return figures


def _right_with_none(answer: Answer) -> bool:
    """Whether the tool is right and preferred to none, or none fits and none is preferred."""
    if answer.problem.gold is None:
        return answer.none > answer.probability
    return answer.right and answer.probability >= answer.none


def _set_figures(found: Sequence[Answer]) -> dict[str, Any]:
    right = np.array([a.right for a in found], dtype=float)
    groups = [a.problem.group for a in found]
    plain = [int(bm25(a.problem).argmax()) == a.problem.gold for a in found]
    return {
        "n": len(found),
        "top1": float(right.mean()),
        "interval": interval(groups, lambda rows: float(right[rows].mean())),
        "log_loss": float(-np.log(np.maximum([a.gold for a in found], 1e-12)).mean()),
        "bm25": float(np.mean(plain)),
        "chance": chance([a.problem for a in found]),
    }


def _none_figures(found: Sequence[Answer]) -> dict[str, Any]:
    def none(source: str, keep: Callable[[Answer], bool] = lambda _: True) -> Floats:
        return np.array([a.none for a in found if a.problem.source == source and keep(a)])

    fits = [a for a in found if a.problem.source == "bfcl_live_multiple"]
    wrong = [a for a in found if a.problem.source == "bfcl_irrelevance"]
    groups = [a.problem.group for a in (*fits, *wrong)]
    values = np.array([a.none for a in (*fits, *wrong)])
    labels = np.array([0] * len(fits) + [1] * len(wrong))

    def of_rows(rows: npt.NDArray[np.int64]) -> float:
        drawn, kinds = values[rows], labels[rows]
        return area(drawn[kinds == 0], drawn[kinds == 1])

    plain = [np.array([-bm25(a.problem).max() for a in side]) for side in (fits, wrong)]
    alone = none("bfcl_live_multiple+alone")
    return {
        "auroc": of_rows(np.arange(len(values))),
        "interval": interval(groups, of_rows),
        "bm25": area(plain[0], plain[1]),
        "one tool each": area(alone, none("bfcl_irrelevance", lambda a: len(a.problem.tools) == 1)),
        "several tools each": area(
            none("bfcl_live_multiple"),
            none("bfcl_irrelevance", lambda a: len(a.problem.tools) > 1),
        ),
        "right tool taken away": area(
            none("bfcl_live_multiple"), none("bfcl_live_multiple+removed")
        ),
    }


def _errors(found: Sequence[Answer]) -> dict[str, float]:
    p, right = _pairs(found)
    return {
        "equal mass": calibration_error(p, right),
        "equal width": calibration_error(p, right, equal_mass=False),
        "equal mass, if calibrated": error_if_calibrated(p),
        "equal width, if calibrated": error_if_calibrated(p, equal_mass=False),
        "mean gap": float(p.mean() - right.mean()),
    }


def _pairs(found: Sequence[Answer]) -> tuple[Floats, Floats]:
    return (
        np.array([a.probability for a in found]),
        np.array([a.right for a in found], dtype=float),
    )


def _calibration(found: Sequence[Answer]) -> dict[str, Any]:
    p, right = _pairs(found)
    groups = [a.problem.group for a in found]
    return {
        "n": len(found),
        **_errors(found),
        "equal mass interval": interval(groups, lambda r: calibration_error(p[r], right[r]), 300),
        "brier": float(((p - right) ** 2).mean()),
    }


def recall(
    selector: LexicalSelector, problems: Sequence[Problem], folder: Path, every: int = 1
) -> dict[str, Any]:
    """Share of goals whose right tool is on the shortlist of all tools of all sets together."""
    tools = registry(folder)
    index = {tool.name: i for i, tool in enumerate(tools)}
    figures: dict[str, Any] = {"tools": len(tools)}
    for name in PICKING:
        asked = [p for p in problems if p.source == name][::every]
        ranks = []
        for p in asked:
            assert p.gold is not None
            wanted = index[p.tools[p.gold].name]
            order = selector.shortlist(p.state, tools, 64)
            ranks.append(order.index(wanted) if wanted in order else len(tools))
        found = np.array(ranks)
        figures[name] = {
            "n": len(asked),
            **{f"recall@{k}": float((found < k).mean()) for k in (1, 8, 32, 64)},
        }
    return figures


def cross_validated(
    problems: Sequence[Problem], similarity: Similarity | None, tick: Callable[[], None]
) -> list[Answer]:
    """Answers to all problems by selectors that have not seen their groups."""
    found: list[Answer] = []
    for fold in range(5):
        inside = [p for p in problems if fold_of(p) != fold]
        held = [p for p in problems if fold_of(p) == fold]
        model = Model(learn(inside, similarity=similarity) | {"version": f"fold {fold}"})
        selector = LexicalSelector(similarity, model)
        found += answers(selector, [*held, *_made(held)])
        tick()
    return found


def _crossed_bigram(problems: Sequence[Problem]) -> tuple[int, int]:
    right, asked = 0, 0
    for fold in range(5):
        inside = [p for p in problems if fold_of(p) != fold]
        one = bigram_share(inside, [p for p in problems if fold_of(p) == fold])
        right, asked = right + one[0], asked + one[1]
    return right, asked


def _made(problems: Sequence[Problem]) -> list[Problem]:
    made = [p for p, _ in augmented(problems)]
    return [p for p in made if p.source.split("+")[1] in MADE]


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of tables.")
@click.option("--cross-validation/--no-cross-validation", default=True, show_default=True)
@click.option("--similarity", "extra", is_flag=True, help="With the embeddings extra.")
@click.option(
    "--part",
    type=click.Choice(["report", "fit"]),
    default="report",
    show_default=True,
    help="Which part the shipped weights are asked about.",
)
def main(as_json: bool, cross_validation: bool, extra: bool, part: str) -> None:
    """Figures of the local selector."""
    folder = data_folder()
    if folder is None:
        raise click.ClickException("the tool-choice sets are not here: see data.py")
    similarity: Similarity | None = None
    if extra:
        scorer = similarity_or_reason()
        if isinstance(scorer, str):
            raise click.ClickException(f"the embeddings extra is not there: {scorer}")
        similarity = scorer
    problems = [*load(folder), *load_cases()]
    fit = [p for p in problems if part_of(p) == "fit"]
    asked = [p for p in problems if part_of(p) == part]
    selector = LexicalSelector(similarity)
    views: dict[str, Any] = {"version": selector.version}
    with bar() as progress:
        task = progress.add_task("asking", total=7 if cross_validation else 2)
        found = list(answers(selector, [*asked, *_made(asked)]))
        views[part] = summary(found, bigram_share(fit, asked))
        progress.advance(task)
        views["registry"] = recall(selector, asked, folder)
        progress.advance(task)
        if cross_validation:
            crossed = cross_validated(problems, similarity, lambda: progress.advance(task))
            views["cross-validated"] = summary(crossed, _crossed_bigram(problems))
    if as_json:
        click.echo(json.dumps(views))
        return
    for name in (part, "cross-validated"):
        if name in views:
            _show(f"{name}, {views['version']}", views[name])
    _show_recall(views["registry"])


def _show(title: str, view: Mapping[str, Any]) -> None:
    console = Console(width=110)
    table = Table(title=title)
    for column in ("set", "n", "top-1", "95 %", "BM25", "bigram", "chance", "log loss", "ECE"):
        table.add_column(column)
    for name, row in view["sets"].items():
        low, high = row["interval"]
        table.add_row(
            *(name, str(row["n"]), f"{row['top1']:.3f}", f"{low:.3f}-{high:.3f}"),
            *(f"{row['bm25']:.3f}", f"{row['bigram']:.3f}" if "bigram" in row else ""),
            *(f"{row['chance']:.3f}", f"{row['log_loss']:.3f}", f"{row['ece']['equal mass']:.3f}"),
        )
    console.print(table)
    none = view["none_fits"]
    low, high = none["interval"]
    span = f"{none['auroc']:.3f} ({low:.3f}-{high:.3f})"
    console.print(f"none fits, AUROC: {span}, BM25 {none['bm25']:.3f}")
    for name in ("one tool each", "several tools each", "right tool taken away"):
        console.print(f"  {name}: {none[name]:.3f}")
    ece = view["calibration"]
    low, high = ece["equal mass interval"]
    console.print(
        f"ECE of the best tool, 15 bins, all sets, n {ece['n']}, Brier {ece['brier']:.3f}:"
    )
    for kind, span in (("equal mass", f" ({low:.3f}-{high:.3f})"), ("equal width", "")):
        floor = ece[f"{kind}, if calibrated"]
        console.print(f"  {kind}: {ece[kind]:.3f}{span}; {floor:.3f} if perfectly calibrated")
    if "agent_cases" in view:
        cases = view["agent_cases"]
        console.print(f"agent cases, {cases['n']}: {cases['right']:.3f}, BM25 {cases['bm25']:.3f}")


def _show_recall(view: Mapping[str, Any]) -> None:
    table = Table(title=f"shortlist of {view['tools']} tools")
    for column in ("queries", "n", "@1", "@8", "@32", "@64"):
        table.add_column(column)
    for name in PICKING:
        row = view[name]
        shares = [f"{row[f'recall@{k}']:.3f}" for k in (1, 8, 32, 64)]
        table.add_row(name, str(row["n"]), *shares)
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
