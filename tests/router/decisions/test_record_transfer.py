"""Records as JSON lines: nothing is lost on the way, and a broken line costs itself alone."""

import io
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from router.decisions import transfer
from router.decisions.outcome import Outcome
from router.decisions.query import RecordQuery
from router.decisions.record import DecisionRecord
from router.decisions.store import RecordStore
from router.decisions.transfer import export_records, import_records
from tests.router.decisions.samples import PICK, record, records, store_in


def exported(store: RecordStore, **more: Any) -> list[dict[str, Any]]:
    out = io.BytesIO()
    export_records(store, out, **more)
    return [json.loads(line) for line in out.getvalue().splitlines()]


def imported(store: RecordStore, lines: list[Any]) -> transfer.Imported:
    """Import lines: objects as JSON, text and bytes as they are."""
    text = b"".join(
        (line if isinstance(line, bytes) else json.dumps(line).encode()) + b"\n" for line in lines
    )
    return import_records(store, io.BytesIO(text))


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=25
)
@given(st.lists(records(), min_size=1, max_size=4), st.data())
def test_all_of_a_store_comes_out_of_its_lines(
    tmp_path: Path, made: list[DecisionRecord], data: st.DataObject
) -> None:
    with store_in(tmp_path / "a") as store, store_in(tmp_path / "b") as other:
        for each in (store, other):
            each.purge(RecordQuery())
        store.add_many(made)
        for one in made:
            if data.draw(st.booleans()):
                right = data.draw(st.none() | st.lists(st.sampled_from(one.options.names)))
                store.attach(one.id, Outcome("failure", right, 0.1, 3, "hook", 1.5))
            if data.draw(st.booleans()):
                store.attach(one.id, Outcome("success", by="ännä", time=2.5), force=True)
        out = io.BytesIO()
        assert export_records(store, out) == len(made)
        found = import_records(other, io.BytesIO(out.getvalue()))
        assert (found.records, found.duplicates, found.broken) == (len(made), 0, 0)
        assert list(other.records()) == list(store.records())
        for one in made:
            assert other.outcomes(one.id) == store.outcomes(one.id)
        again = io.BytesIO()
        export_records(other, again)
        assert again.getvalue() == out.getvalue()


def test_options_stand_once_before_the_first_record_that_names_them(tmp_path: Path) -> None:
    with store_in(tmp_path) as store:
        store.add_many([record() for _ in range(5)])
        lines = exported(store)
        assert ["options_key" in line for line in lines] == [True] + [False] * 5
        assert len(exported(store, limit=2)) == 3
        assert exported(store, query=RecordQuery(point="route")) == []


def test_a_record_that_is_there_is_left_alone_and_gets_the_outcome_it_lacks(tmp_path: Path) -> None:
    with store_in(tmp_path / "a") as store, store_in(tmp_path / "b") as other:
        made = [record() for _ in range(3)]
        for each in (store, other):
            each.add_many(made)
        other.attach(made[1].id, Outcome("success", by="anna"))
        other.attach(made[2].id, Outcome("success", by="anna"))
        store.attach(made[2].id, Outcome("failure", by="bert"))
        found = imported(store, exported(other))
        assert (found.records, found.duplicates, found.outcomes, found.broken) == (0, 3, 1, 1)
        assert "outcome: result: got 'success', bert said 'failure'" in found.problems[0][1]
        kept = [one.outcome and one.outcome.result for one in store.records()]
        assert kept == [None, "success", "failure"]


def lines_of_one(tmp_path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    with store_in(tmp_path / "source") as store:
        store.add(record())
        options, line = exported(store)
    return options, line


BROKEN: dict[str, Any] = {
    "no JSON": b"{not json",
    "no UTF-8": b"\xff\xfe\xfa",
    "NaN": b'{"confidence": NaN}',
    "too deep": b"[" * 100_000,
    "no object": [1, 2],
    "null": None,
    "an unknown version": {"v": 2},
    "no version": {"id": "x"},
    "options that never came": {"v": 1, "options": "0" * 32},
    "options that are no key": {"v": 1, "options": "../../etc"},
    "options under another key": {"options_key": "0" * 32, "options": []},
    "options that are none": {"options_key": "0" * 32, "options": [["a"]]},
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_line_is_told_by_its_number_and_the_others_are_taken(
    tmp_path: Path, name: str
) -> None:
    options, line = lines_of_one(tmp_path)
    with store_in(tmp_path) as store:
        found = imported(store, [options, BROKEN[name], b"", line])
        assert (found.records, found.broken) == (1, 1)
        assert [number for number, _ in found.problems] == [2]
        assert store.count() == 1


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("id", "x"),
        ("point", ""),
        ("point", None),
        ("confidence", 1.5),
        ("confidence", "0.9"),
        ("confidence", 10**400),
        ("probabilities", {"read_file": 2}),
        ("probabilities", [0.1]),
        ("none_fits", True),
        ("abstained", 0),
        ("source", "guess"),
        ("why", "text"),
        ("text", "some"),
        ("text", "none"),
        ("state", {"goal": "g"}),
        ("state", None),
        ("redacted", None),
        ("validation", "fine"),
        ("fallback", {"to": "host"}),
        ("fallback", {"to": "host", "reason": "x", "more": 1}),
        ("thresholds", {"values": {"a": 2}}),
        ("answer", {"choice": "a"}),
        ("outcomes", [{"result": "won"}]),
        ("outcomes", [{"result": "success", "right": ["rm"], "by": "x", "time": 1}]),
        ("outcomes", "x"),
        ("surprise", 1),
    ],
)
def test_a_field_that_is_not_usable_is_named(tmp_path: Path, field: str, value: object) -> None:
    options, line = lines_of_one(tmp_path)
    with store_in(tmp_path) as store:
        found = imported(store, [options, {**line, field: value}])
        assert (found.records, found.broken) == (0, 1)
        ((number, what),) = found.problems
        name = {"outcomes": "(outcome|right|result)", "text": "(text|state)"}.get(field, field)
        assert number == 2
        assert re.search(name, what), what
        assert store.count() == 0


def test_every_field_that_is_missing_is_missed(tmp_path: Path) -> None:
    options, line = lines_of_one(tmp_path)
    may_be_null = {"time", "category", "none_fits", "reason", "provider_error", "version", "answer"}
    may_be_null |= {"latency_ms", "session", "fallback", "thresholds", "prompt_hash", "outcomes"}
    may_be_null |= {"tool"}
    with store_in(tmp_path) as store:
        for name in line.keys() - may_be_null:
            cut = {key: value for key, value in line.items() if key != name}
            assert imported(store, [options, cut]).broken == 1, name


def test_a_line_without_end_is_not_read_into_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options, line = lines_of_one(tmp_path)
    monkeypatch.setattr(transfer, "LONGEST_LINE", 10_000)
    with store_in(tmp_path) as store:
        found = imported(store, [options, b"x" * 45_000, line, b"y" * 20_000])
        assert [number for number, _ in found.problems] == [2, 4]
        assert found.records == 1


def test_the_same_record_twice_in_a_file_is_a_duplicate(tmp_path: Path) -> None:
    options, line = lines_of_one(tmp_path)
    with store_in(tmp_path) as store:
        found = imported(store, [options, line, line])
        assert (found.records, found.duplicates, found.broken) == (1, 1, 0)


def test_many_records_are_taken_in_batches_and_progress_is_told(tmp_path: Path) -> None:
    with store_in(tmp_path / "a") as store, store_in(tmp_path / "b") as other:
        store.add_many([replace(record(replace(PICK, latency_ms=float(i)))) for i in range(1200)])
        out, told = io.BytesIO(), list[int]()
        export_records(store, out, progress=told.append)
        assert told == list(range(1, 1201))
        told.clear()
        found = import_records(other, io.BytesIO(out.getvalue()), progress=told.append)
        assert found.records == 1200
        assert told[-1] == len(out.getvalue())
        assert list(other.records()) == list(store.records())
