"""The benchmark of records measures what it says it does."""

from pathlib import Path

from benchmarks.record_store import measure


def test_it_counts_the_bytes_and_times_every_way_of_writing(tmp_path: Path) -> None:
    little = measure(tmp_path, "none", 10, records=40)
    assert (little.text, little.options) == ("none", 10)
    assert 150 < little.row_bytes < 300
    assert little.disk_bytes > little.row_bytes
    times = (little.floor, little.add, *little.record, little.anew, little.background)
    assert all(time > 0 for time in times)
    assert list(little.record) == sorted(little.record)
