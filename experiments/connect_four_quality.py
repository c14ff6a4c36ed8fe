"""Connect four: how often does the search name a move that keeps the value of the position?

    python -m experiments.connect_four_quality [--positions 150] [--evaluation decisive] [--json]
    python -m experiments.connect_four_quality --peers-python /tmp/peers/bin/python

The second asks OpenSpiel's MCTSBot with its solver too, both for equal times, position by position.

Positions of 12 to 26 plies from random play in which not every move keeps the value; the truth is
from a solver of our own (negamax with alpha-beta and a transposition table, numba).
"""

import itertools
import json
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from subprocess import PIPE
from typing import Any

import click
import numba
import numpy as np

from mcts_core import SearchConfig, search
from mcts_core.config import MAX_COUNT, Evaluation
from simulators.native_games import connect_four

BUDGETS = (1_000, 10_000, 100_000)
TIMES_MS = (5.0, 20.0, 100.0)
SETTINGS = SearchConfig(
    max_depth=42,
    selection="ucb1",
    exploration=2**0.5 / 2,
    value_range=(-1.0, 1.0),
    seed=1,
)
TABLE_BITS = 22
ORDER = np.array([3, 2, 4, 1, 5, 0, 6])
BOTTOM = np.uint64(sum(1 << 7 * column for column in range(7)))
FULL = np.uint64(sum(0x3F << 7 * column for column in range(7)))
ONE = np.uint64(1)


@numba.njit(cache=True)
def wins(stones: Any) -> bool:
    """Are there four in a row?"""
    for direction in (1, 6, 7, 8):
        pairs = stones & (stones >> np.uint64(direction))
        if pairs & (pairs >> np.uint64(2 * direction)):
            return True
    return False


@numba.njit(cache=True)
def drop(taken: Any, column: int) -> Any:
    """The stone that falls into a column, 0 if the column is full."""
    shift = np.uint64(7 * column)
    return (taken + (ONE << shift)) & (np.uint64(0x3F) << shift)


@numba.njit(cache=True)
def wins_at_once(mine: Any, taken: Any) -> bool:
    """Can the mover make four in a row now?"""
    for column in range(7):
        stone = drop(taken, column)
        if stone and wins(mine | stone):
            return True
    return False


@numba.njit(cache=True)
def negamax(mine: Any, theirs: Any, low: int, high: int, table: Any) -> Any:
    """1, 0 or -1 for the mover, within [low, high]; nobody has won yet. ``table``: structured array
    of 2**TABLE_BITS entries (key, 4 * (value + 1) + kind: 0 exact, 1 lower bound, 2 upper bound).
    """
    taken = mine | theirs
    if taken == FULL:
        return 0
    if wins_at_once(mine, taken):
        return 1
    key = (mine + taken + BOTTOM) * np.uint64(0x9E3779B97F4A7C15)
    entry = table[key >> np.uint64(64 - TABLE_BITS)]
    if entry.key == key:
        bound, kind = entry.bound // 4 - 1, entry.bound % 4
        if kind == 0:
            return bound
        low = max(low, bound) if kind == 1 else low
        high = min(high, bound) if kind == 2 else high
        if low >= high:
            return bound
    best, start = -1, low
    for column in ORDER:
        stone = drop(taken, column)
        if stone:
            best = max(best, -negamax(theirs, mine | stone, -high, -low, table))
            low = max(low, best)
            if low >= high:
                break
    entry.key = key
    entry.bound = 4 * (best + 1) + (1 if best >= high else (2 if best <= start else 0))
    return best


@dataclass(frozen=True)
class Position:
    """Stones of the mover and of the other, plies so far, value, the moves that keep it, and the
    moves that led here."""

    mine: int
    theirs: int
    plies: int
    value: int
    keeping: tuple[int, ...]
    moves: tuple[int, ...]


def move_values(mine: np.uint64, theirs: np.uint64, table: Any) -> dict[int, int]:
    """The value of each legal move for the mover."""
    found = {}
    for column in range(7):
        stone = drop(mine | theirs, column)
        if stone:
            after = mine | stone
            won = wins(after)
            found[column] = 1 if won else -negamax(theirs, after, -1, 1, table)
    return found


def positions(count: int, seed: int = 0) -> list[Position]:
    """Solved positions in which a move can be wrong."""
    rng = np.random.default_rng(seed)
    table = np.zeros(1 << TABLE_BITS, [("key", np.uint64), ("bound", np.int64)])
    found: list[Position] = []
    with click.progressbar(length=count, label="solving positions") as bar:
        while len(found) < count:
            mine, theirs, plies = np.uint64(0), np.uint64(0), int(rng.integers(12, 27))
            moves: list[int] = []
            for _ in range(plies):
                legal = [c for c in range(7) if drop(mine | theirs, c)]
                moves.append(int(rng.choice(legal)))
                mine, theirs = theirs, mine | drop(mine | theirs, moves[-1])
                if wins(theirs):
                    break
            if wins(theirs) or (mine | theirs) == FULL:
                continue
            by_move = move_values(mine, theirs, table)
            best = max(by_move.values())
            keeping = tuple(c for c, v in by_move.items() if v == best)
            if len(keeping) < len(by_move):
                stones = int(mine), int(theirs)
                found.append(Position(*stones, plies, best, keeping, tuple(moves)))
                bar.update(1)
    return found


def score(game: Any, solved: Sequence[Position], config: SearchConfig) -> dict[str, float]:
    """Share of positions with a keeping move, and mean simulations used."""
    results = [search(game, (p.mine, p.theirs), config) for p in solved]
    right = [r.action in p.keeping for r, p in zip(results, solved, strict=True)]
    return {
        "right": float(np.mean(right)),
        "proven": float(np.mean([r.proven for r in results])),
        "simulations": float(np.mean([r.simulations for r in results])),
        "ms": float(np.mean([r.time_ms for r in results])),
    }


def beside_openspiel(solved: Sequence[Position], python: str) -> Iterator[dict[str, Any]]:
    """Both for equal times, in turn at each position: share right, simulations and time a move."""
    game = connect_four(decisive=True)
    settings = SETTINGS.replace(simulations=MAX_COUNT, evaluation="decisive", solver=True)
    command = [python, "-m", "experiments.openspiel_bot"]
    with subprocess.Popen(command, stdin=PIPE, stdout=PIPE, text=True) as bot:
        assert bot.stdin is not None
        assert bot.stdout is not None
        for limit in TIMES_MS:
            config = settings.replace(time_limit_ms=limit)
            rows = []
            for position in solved:
                ask = {"moves": position.moves, "time_limit_ms": limit}
                print(json.dumps(ask), file=bot.stdin, flush=True)
                theirs = json.loads(bot.stdout.readline())
                result = search(game, (position.mine, position.theirs), config)
                ours = (result.action, result.simulations, result.time_ms)
                peer = (theirs["action"], theirs["simulations"], theirs["time_ms"])
                rows.append([(a in position.keeping, n, ms) for a, n, ms in (ours, peer)])
            right, simulations, ms = np.mean(np.array(rows, dtype=float), axis=0).T.tolist()
            for i, name in enumerate(("ours", "OpenSpiel")):
                yield {
                    "engine": name,
                    "time_limit_ms": limit,
                    "right": right[i],
                    "simulations": simulations[i],
                    "ms": ms[i],
                }


@click.command(help=__doc__)
@click.option("--positions", "count", default=150, show_default=True)
@click.option("--seed", default=0, show_default=True)
@click.option(
    "--evaluation",
    "evaluations",
    type=click.Choice(["rollout", "decisive"]),
    multiple=True,
    default=["rollout", "decisive"],
    help="Of leaves; may be repeated. [default: both]",
)
@click.option("--peers-python", help="An interpreter that has open_spiel: play for equal times.")
@click.option("--json", "as_json", is_flag=True)
def main(
    count: int,
    seed: int,
    evaluations: Sequence[Evaluation],
    peers_python: str | None,
    as_json: bool,
) -> None:
    """Print the table."""
    solved = positions(count, seed)
    if peers_python is not None:
        for line in beside_openspiel(solved, peers_python):
            click.echo(
                json.dumps(line)
                if as_json
                else f"{line['engine']:<10}{line['time_limit_ms']:>6g} ms{line['right']:>8.3f}"
                f"{line['simulations']:>12,.0f} simulations{line['ms']:>8.2f} ms used"
            )
        return
    games = {how: connect_four(decisive=how == "decisive") for how in evaluations}
    table = []
    for evaluation, solver, budget in itertools.product(evaluations, (False, True), BUDGETS):
        config = SETTINGS.replace(simulations=budget, evaluation=evaluation, solver=solver)
        row: dict[str, Any] = {"evaluation": evaluation, "solver": solver, "budget": budget}
        table.append(row | score(games[evaluation], solved, config))
    if as_json:
        click.echo(json.dumps(table))
        return
    click.echo("leaves    solver    budget   right   proven   simulations        ms")
    for row in table:
        click.echo(
            f"{row['evaluation']:<10}{row['solver']!s:<6}{row['budget']:>10,}{row['right']:>8.3f}{row['proven']:>9.3f}"
            f"{row['simulations']:>14,.0f}{row['ms']:>10.2f}"
        )


if __name__ == "__main__":
    main()
