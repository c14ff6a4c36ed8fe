"""Sudden death of writers: the small form of ``python -m experiments.record_crash``."""

from pathlib import Path

from experiments.record_crash import run


def test_sixteen_processes_that_are_killed_lose_nothing_they_acknowledged(tmp_path: Path) -> None:
    found = run(tmp_path / "records.db", records=4000, processes=16, kills=40, seed=3)
    assert found.damage == []
    assert (found.lost, found.lost_outcomes) == (0, 0)
    assert found.acknowledged >= 4000
    assert found.outcomes > 100
    assert found.kills > 30
    assert 0 <= found.stored - found.acknowledged <= found.kills
    assert found.holds
