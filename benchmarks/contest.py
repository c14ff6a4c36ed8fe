"""Contestants measured side by side: interleaved rounds, medians, ratios of the rounds' own."""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

__all__ = ["Cell", "Contestant", "Timed", "growth", "measure", "measure_world"]

ROUND = 0.02
"""Seconds that short searches are repeated for within a round."""

Timed = Callable[[int], tuple[float, int]]
"""simulations -> (seconds, simulations that were run in them)."""


@dataclass(slots=True)
class Contestant:
    """One line of a table: ``speeds`` [rounds] in simulations a second, or why there are none."""

    name: str
    timed: Timed | None
    note: str = ""  # a version, or why there is nothing to measure
    most: int = 2**31 - 2
    speeds: list[float] = field(default_factory=list)

    @property
    def median(self) -> float | None:
        return statistics.median(self.speeds) if self.speeds else None


@dataclass(slots=True)
class Cell:
    """What a contestant reached: medians by number of simulations.

    Attributes:
        note: as the contestant's.
        speed: size -> simulations a second, None where it was not measured.
        ours_over: size -> the first contestant's speed over its own, None for the first.
    """

    note: str
    speed: dict[int, float | None] = field(default_factory=dict)
    ours_over: dict[int, float | None] = field(default_factory=dict)


def measure_world(
    contestants: Sequence[Contestant],
    sizes: Sequence[int],
    rounds: int,
    seconds: float,
    each: Callable[[int], None] = lambda size: None,
) -> dict[str, Cell]:
    """name -> its cell. ``each`` is called after each size."""
    cells = {c.name: Cell(c.note) for c in contestants}
    for size in sizes:
        ratios = measure(contestants, size, rounds, seconds)
        for c in contestants:
            many = ratios.get(c.name)
            cells[c.name].note = c.note
            cells[c.name].speed[size] = c.median
            cells[c.name].ours_over[size] = statistics.median(many) if many else None
        each(size)
    return cells


def measure(
    contestants: Sequence[Contestant], simulations: int, rounds: int, seconds: float
) -> dict[str, list[float]]:
    """Interleaved rounds; a contestant drops out once it has had ``seconds``.

    Short searches are repeated within a round until it takes some 20 ms. Returns for each but the
    first [rounds] the first's speed over its own.
    """
    running = [c for c in contestants if c.timed and simulations <= c.most]
    spent = dict.fromkeys((c.name for c in running), 0.0)
    repeats: dict[str, int] = {}
    ratios: dict[str, list[float]] = {}
    for c in contestants:
        c.speeds = []
    for c in list(running):  # first for caches, arenas and compilation, uncounted
        assert c.timed is not None
        try:
            took = _warm(c.timed, simulations)
        except RuntimeError as error:
            c.note = str(error)
            running.remove(c)
            continue
        repeats[c.name] = max(1, min(1000, int(ROUND / max(took, 1e-9))))
        spent[c.name] = took if took > seconds / 2 else 0.0
    for turn in range(rounds):
        speeds: dict[str, float] = {}
        first = turn % max(len(running), 1)  # nobody always runs after the same one
        for c in running[first:] + running[:first]:
            if c.speeds and spent[c.name] > seconds:
                continue
            assert c.timed is not None
            if repeats[c.name] > 1:
                _warm(c.timed, simulations)  # others ran meanwhile, here or in another process
            runs = [c.timed(simulations) for _ in range(repeats[c.name])]
            took = sum(run[0] for run in runs)
            spent[c.name] += took
            speeds[c.name] = sum(run[1] for run in runs) / took
            c.speeds.append(speeds[c.name])
        ours = speeds.get(contestants[0].name)
        for name, speed in speeds.items():
            if ours is not None and name != contestants[0].name:
                ratios.setdefault(name, []).append(ours / speed)
    return ratios


def _warm(timed: Timed, simulations: int) -> float:
    """Run for as long as a round takes; the seconds of the last run."""
    spent = took = 0.0
    while spent < ROUND:
        took, _ = timed(simulations)
        spent += max(took, 1e-6)
    return took


def growth(cell: Cell, few: int, many: int) -> tuple[float | None, float | None]:
    """Time of a simulation among ``many`` over that among ``few``: the contestant's own, and the
    first contestant's over it (from the ratios within rounds). None where something is missing."""
    slow, fast = cell.speed.get(many), cell.speed.get(few)
    then, now = cell.ours_over.get(few), cell.ours_over.get(many)
    own = fast / slow if slow and fast else None
    return own, then / now if then and now else None
