"""The tables of speed say what was measured: medians, ratios within rounds, what is missing."""

from collections.abc import Callable

import pytest

from benchmarks.contest import Cell, Contestant, growth, measure, measure_world


def taking(*seconds: float) -> Callable[[int], tuple[float, int]]:
    """Runs that claim these times, one after the other, then the last again and again."""
    left = list(seconds)

    def run(simulations: int) -> tuple[float, int]:
        return (left.pop(0) if len(left) > 1 else left[0]), simulations

    return run


def test_a_ratio_is_taken_within_each_round_and_the_first_run_is_not_counted() -> None:
    ours = Contestant("ours", taking(9.0, 1.0, 2.0, 4.0))
    floor = Contestant("floor", taking(9.0, 0.5, 1.0, 1.0))
    ratios = measure([ours, floor], 100, 3, seconds=60.0)
    assert ratios == {"floor": [0.5, 0.5, 0.25]}
    assert ours.speeds == [100.0, 50.0, 25.0]
    assert ours.median == 50.0


def test_a_short_search_is_warmed_up_and_repeated_within_a_round() -> None:
    calls = []

    def run(simulations: int) -> tuple[float, int]:
        calls.append(simulations)
        return 0.004, simulations

    measure([Contestant("ours", run)], 10, 2, seconds=60.0)
    warm = 5  # of 4 ms each make the 20 ms that are not counted
    assert len(calls) == warm + 2 * (warm + 5)


def test_who_has_had_enough_time_drops_out_after_one_round_at_least() -> None:
    slow = Contestant("slow", taking(10.0))
    quick = Contestant("quick", taking(1.0))
    ratios = measure([quick, slow], 100, 3, seconds=5.0)
    assert len(slow.speeds) == 1
    assert len(quick.speeds) == 3
    assert ratios == {"slow": [10.0]}


def test_who_cannot_run_is_a_line_with_the_reason() -> None:
    def fail(simulations: int) -> tuple[float, int]:
        raise RuntimeError("no memory")

    cells = measure_world(
        [
            Contestant("ours", taking(1.0)),
            Contestant("absent", None, "not installed"),
            Contestant("broken", fail),
            Contestant("small", taking(1.0), most=50),
        ],
        *([10, 100], 2),
        seconds=60.0,
    )
    assert cells["ours"].speed == {10: 10.0, 100: 100.0}
    assert cells["absent"] == Cell("not installed", {10: None, 100: None}, {10: None, 100: None})
    assert cells["broken"].note == "no memory"
    assert cells["small"].speed == {10: 10.0, 100: None}
    assert cells["small"].ours_over == {10: 1.0, 100: None}


def test_growth_is_the_time_among_many_over_the_time_among_few() -> None:
    ours = Cell("", {1: 100.0, 2: 50.0}, {1: None, 2: None})
    floor = Cell("", {1: 400.0, 2: 100.0}, {1: 0.25, 2: 0.5})
    assert growth(ours, 1, 2) == (2.0, None)
    assert growth(floor, 1, 2) == (4.0, 0.5)  # ours grew twofold, the floor fourfold
    assert growth(Cell(""), 1, 2) == (None, None)


@pytest.mark.parametrize("sizes", [[1], [1, 2, 3]])
def test_each_column_is_told_for_the_bar(sizes: list[int]) -> None:
    told: list[int] = []
    measure_world([Contestant("ours", taking(1.0))], sizes, 1, 60.0, told.append)
    assert told == sizes
