"""The store: what goes in comes out, by whom and in which order; outcomes; many processes."""

import os
import sqlite3
import stat
import threading
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from router.decisions.errors import RecordConflictError, RecordFieldError, UnknownRecordError
from router.decisions.ids import first_id, id_time, new_id
from router.decisions.outcome import Outcome
from router.decisions.places import default_path, project_path, user_path
from router.decisions.privacy import Privacy
from router.decisions.query import RecordQuery
from router.decisions.record import DecisionRecord, Fallback
from router.decisions.retention import Retention
from router.decisions.store import RecordStore
from router.models import HarnessState, RouteDecision, ToolDescriptor
from tests.router.decisions.samples import (
    PICK,
    PRIVATE,
    STATE,
    forked,
    forked_together,
    record,
    records,
    store_in,
    texts,
)


@pytest.fixture
def shared(tmp_path: Path) -> Iterator[RecordStore]:
    """One file for all examples of a test: making one takes longer than all else."""
    with store_in(tmp_path) as store:
        yield store


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(records(), max_size=4))
def test_what_goes_in_comes_out(shared: RecordStore, made: list[DecisionRecord]) -> None:
    assert [shared.add(one) for one in made] == [True] * len(made)
    kept = [shared.get(one.id) for one in made]
    assert kept == made
    assert [one.options.tools for one in kept] == [one.options.tools for one in made]
    for one, other in zip(kept, made, strict=True):
        schemas = [dict(tool.schema) for tool in other.options.tools]
        assert [tool.schema for tool in one.options.tools] == schemas
        assert list(one.decision.probabilities) == list(other.decision.probabilities)


def test_the_same_id_is_written_once(tmp_path: Path) -> None:
    with store_in(tmp_path) as store:
        one = record()
        assert store.add(one)
        assert not store.add(replace(one, point="other"))
        assert store.add_many([one, record(), one]) != []
        assert store.count() == 2
        assert store.get(one.id).point == "tool"


def test_options_are_kept_once_however_many_records_name_them(tmp_path: Path) -> None:
    tools = [ToolDescriptor(f"tool_{i}", "word " * 40, schema={"n": i}) for i in range(64)]
    shares = {tool.name: 1 / 64 for tool in tools}
    decision = RouteDecision("tool_1", None, 1 / 64, shares, source="local", version="v")
    with store_in(tmp_path) as store:
        for _ in range(200):
            store.add(
                DecisionRecord.from_decision(
                    "tool", STATE, tools, decision, Privacy("none", b"k" * 32)
                )
            )
        store.prune()
        size = store.path.stat().st_size
        assert store.get(next(store.records()).id).options.tools == tuple(tools)
    assert size / 200 < 2500  # the options of one record alone are 13 kB


def test_records_are_found_by_what_is_known_of_them(tmp_path: Path) -> None:
    with store_in(tmp_path) as store:
        private = Privacy("none", store.key)
        first = record(privacy=private, session="s1")
        route = record(privacy=private, point="route", session="s2", prompt_hash="p")
        failed = record(RouteDecision.fallback_to_planner("no_tools"), private)
        store.add_many([first, route, failed])
        store.attach(first.id, Outcome("success"))

        def found(**query: object) -> list[str]:
            return [one.id for one in store.records(RecordQuery(**query))]  # type: ignore[arg-type]

        assert found(point="route") == [route.id]
        assert found(session=store.session_hash("s1")) == [first.id]
        assert found(fallbacks_only=True) == [failed.id]
        assert found(prompt_hash="p") == [route.id]
        assert found(version="local@1") == [first.id, route.id]
        assert found(option_set=first.options.set_hash, point="tool") == [first.id, failed.id]
        assert found(with_outcome=True) == [first.id]
        assert found(with_outcome=False) == [route.id, failed.id]
        assert found(model="m") == []
        assert found(since=route.time, until=failed.time) == [route.id]
        assert found(until=first.time) == []
        assert store.count(RecordQuery(point="tool")) == 2


def test_a_query_of_no_time_is_refused() -> None:
    for bad in (-1.0, float("nan"), "yesterday"):
        with pytest.raises(RecordFieldError, match="since"):
            RecordQuery(since=bad)  # type: ignore[arg-type]


@pytest.mark.parametrize("newest_first", [False, True])
def test_records_stream_in_the_order_of_time_over_pages(tmp_path: Path, newest_first: bool) -> None:
    with store_in(tmp_path) as store:
        ids = [record().id for _ in range(600)]
        store.add_many([replace(record(), id=one) for one in reversed(ids)])
        found = [one.id for one in store.records(newest_first=newest_first)]
        assert found == (ids[::-1] if newest_first else ids)
        limited = [one.id for one in store.records(newest_first=newest_first, limit=300)]
        assert limited == found[:300]
        assert list(store.records(limit=0)) == []


def test_a_reader_holds_no_lock_between_records(tmp_path: Path) -> None:
    with store_in(tmp_path) as store, store_in(tmp_path, busy_seconds=0.0) as writer:
        store.add_many([record() for _ in range(300)])
        reading = store.records()
        next(reading)
        writer.add(record())
        writer.purge(RecordQuery(until=4e9))
        assert len(list(reading)) == 255  # of the page that was read


def test_an_id_is_found_by_its_first_digits_if_no_other_begins_so(tmp_path: Path) -> None:
    with store_in(tmp_path) as store:
        now = id_time(new_id())
        one, other = first_id(now)[:-1] + "1", first_id(now)[:-1] + "2"
        store.add_many([replace(record(), id=one), replace(record(), id=other)])
        assert store.get(one).id == one
        assert store.get(other.upper()).id == other
        with pytest.raises(UnknownRecordError, match="several"):
            store.get(one[:20])
        with pytest.raises(UnknownRecordError, match="no record"):
            store.get("ffff")
        for bad in ("", "abc", "wxyz", "%%%%"):
            with pytest.raises(RecordFieldError, match="id: got"):
                store.get(bad)


def test_an_outcome_is_attached_once_joined_with_more_and_not_contradicted(tmp_path: Path) -> None:
    with store_in(tmp_path) as store:
        one = record()
        store.add(one)
        seen = Outcome("failure", duration_ms=3.5, retries=1, by="hook", time=5.0)
        assert store.attach(one.id, seen)
        assert not store.attach(one.id, seen)
        assert not store.attach(one.id, replace(seen, time=6.0, by="other"))
        assert store.get(one.id).outcome == seen
        assert store.attach(one.id, Outcome(None, ["read_file"], by="anna", time=7.0))
        joined = Outcome("failure", ("read_file",), 3.5, 1, "anna", 7.0)
        assert store.get(one.id).outcome == joined
        with pytest.raises(RecordConflictError, match="result: got 'success', anna said 'failure'"):
            store.attach(one.id, Outcome("success"))
        assert store.get(one.id).outcome == joined
        corrected = Outcome("success", by="anna", time=8.0)
        assert store.attach(one.id, corrected, force=True)
        assert store.get(one.id).outcome == corrected
        assert store.outcomes(one.id) == (seen, joined, corrected)
        assert next(store.records()).outcome == corrected


def test_an_outcome_of_nothing_or_of_what_was_not_offered_is_refused(tmp_path: Path) -> None:
    with store_in(tmp_path) as store:
        one = record()
        store.add(one)
        with pytest.raises(UnknownRecordError):
            store.attach(new_id(), Outcome("success"))
        with pytest.raises(UnknownRecordError):
            store.outcomes(new_id())
        with pytest.raises(RecordFieldError, match="right: got 'rm', wanted an option that was"):
            store.attach(one.id, Outcome("success", ["edit_file", "rm"]))
        assert store.outcomes(one.id) == ()


def test_a_fallback_found_later_is_noted_and_never_taken_back(tmp_path: Path) -> None:
    with store_in(tmp_path) as store:
        one = record()
        store.add(one)
        died = Fallback("host", "provider_died")
        assert store.set_fallback(one.id, died)
        assert not store.set_fallback(one.id, died)
        kept = store.get(one.id)
        assert (kept.fallback, kept.validation) == (died, "accepted")
        with pytest.raises(RecordConflictError, match="fallback: got 'planner'"):
            store.set_fallback(one.id, Fallback("planner", "x"))
        store.attach(one.id, Outcome("success"))
        assert not store.get(one.id).won

        stand_in = record(replace(PICK, provider_error="timeout"))
        store.add(stand_in)
        stale = Fallback("host", "rejected_stale")
        assert store.set_fallback(stand_in.id, stale, validation="rejected_stale")
        assert store.get(stand_in.id).validation == "rejected_stale"
        abstained = record(RouteDecision.fallback_to_planner("x"))
        store.add(abstained)
        with pytest.raises(RecordConflictError):
            store.set_fallback(abstained.id, stale)


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=30
)
@given(texts, texts)
def test_any_text_survives(shared: RecordStore, goal: str, label: str) -> None:
    tools = [ToolDescriptor("a", label)]
    decision = RouteDecision("a", None, 1.0, {"a": 1.0}, source="obvious")
    made = DecisionRecord.from_decision("tool", HarnessState(goal), tools, decision, PRIVATE)
    shared.add(made)
    assert shared.get(made.id) == made


def test_a_value_that_the_file_cannot_hold_is_refused(tmp_path: Path) -> None:
    decision = RouteDecision("\ud800", None, 1.0, {"\ud800": 1.0}, source="obvious")
    tools = [ToolDescriptor("\ud800", "x")]
    with store_in(tmp_path) as store:
        made = DecisionRecord.from_decision("tool", STATE, tools, decision, PRIVATE)
        with pytest.raises(RecordFieldError, match="record: got 'UnicodeEncodeError'"):
            store.add(made)
        for add in (store.add, lambda one: store.add_many([one, record()])):
            with pytest.raises(RecordFieldError, match="record: got 'ProgrammingError'"):
                add(record(replace(PICK, latency_ms=Decimal(1))))  # type: ignore[arg-type]
        assert store.add(record())
        assert store.count() == 1


def test_file_folder_and_key_are_for_their_owner_alone(tmp_path: Path) -> None:
    path = project_path(tmp_path)
    with RecordStore(path) as store:
        store.add(record())
        assert len(store.key) == 32
        modes = {p.name: stat.S_IMODE(p.stat().st_mode) for p in path.parent.iterdir()}
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert {modes[name] for name in ("records.db", "records.db-wal", "records.key")} == {0o600}
    assert (path.parent / ".gitignore").read_text() == "*\n"


def test_a_folder_and_a_file_that_are_open_to_others_are_closed(tmp_path: Path) -> None:
    path = project_path(tmp_path)
    path.parent.mkdir(mode=0o777)
    path.parent.chmod(0o777)
    path.touch()
    path.chmod(0o666)
    with RecordStore(path) as store:
        store.add(record())
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_folder_of_another_name_keeps_its_mode(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    with store_in(tmp_path) as store:
        store.add(record())
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o755
    assert not (tmp_path / ".gitignore").exists()


def test_records_lie_with_the_project_else_with_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HARNESS_ROUTER_RECORDS", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    inner = tmp_path / "project" / "src"
    inner.mkdir(parents=True)
    assert default_path(inner) == user_path() == tmp_path / "state/harness-router/records.db"
    (tmp_path / "project" / ".harness-router").mkdir()
    assert default_path(inner) == project_path(tmp_path / "project")
    monkeypatch.setenv("HARNESS_ROUTER_RECORDS", str(tmp_path / "x.db"))
    assert default_path(inner) == tmp_path / "x.db"
    monkeypatch.setenv("XDG_STATE_HOME", "relative")
    monkeypatch.setenv("HOME", "/home/anna")
    assert user_path() == Path("/home/anna/.local/state/harness-router/records.db")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to somebody else")
def test_a_folder_of_somebody_else_above_the_project_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HARNESS_ROUTER_RECORDS", raising=False)
    theirs = tmp_path / ".harness-router"
    theirs.mkdir()
    os.chown(theirs, 12345, 12345)
    assert default_path(tmp_path) == user_path()


def test_what_was_not_said_to_be_looked_at_is_not_made(tmp_path: Path) -> None:
    RecordStore(tmp_path / "a" / "records.db")
    assert list(tmp_path.iterdir()) == []


def test_threads_share_one_store(tmp_path: Path) -> None:
    with store_in(tmp_path) as store:
        threads = [
            threading.Thread(target=lambda: [store.add(record()) for _ in range(50)])
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert store.count() == 200
        assert store.check() == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.parametrize("damaged", [False, True])
def test_processes_that_make_the_file_at_the_same_moment_all_succeed(
    tmp_path: Path, damaged: bool
) -> None:
    if damaged:
        (tmp_path / "records.db").write_bytes(b"garbage" * 1000)

    def write() -> str:
        store = store_in(tmp_path, busy_seconds=30.0)
        return f"{len(store.key)} {[store.add(record()) for _ in range(20)].count(True)}"

    assert forked_together(write, 6) == ["32 20"] * 6
    with store_in(tmp_path) as store:
        assert store.count() == 120
        assert store.check() == []
    assert len(list(tmp_path.glob("records.db.corrupt-*"))) == damaged


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_child_uses_a_connection_of_its_own(tmp_path: Path) -> None:
    with store_in(tmp_path) as store:
        store.add(record())
        assert forked(lambda: store.add(record())) == "True"
        store.add(record())
        assert store.count() == 3
        assert store.check() == []


def test_an_unknown_setting_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RecordFieldError, match="synchronous"):
        store_in(tmp_path, synchronous="off; DROP TABLE record")
    for bad in (-1, float("nan"), 1e9):
        with pytest.raises(RecordFieldError, match="busy_seconds"):
            store_in(tmp_path, busy_seconds=bad)
    for bad_retention in ({"max_age_days": -1}, {"max_bytes": -1}, {"max_bytes": 1.5}):
        with pytest.raises(RecordFieldError, match="max_"):
            Retention(**bad_retention)


@pytest.mark.parametrize(("synchronous", "number"), [("normal", 1), ("full", 2)])
def test_the_setting_for_a_loss_of_power_reaches_sqlite(
    tmp_path: Path, synchronous: str, number: int
) -> None:
    store = store_in(tmp_path, synchronous=synchronous)
    store.add(record())
    connection: sqlite3.Connection = store._database.connection()
    assert connection.execute("PRAGMA synchronous").fetchone() == (number,)
    assert connection.execute("PRAGMA wal_autocheckpoint").fetchone() == (0,)
    store.close()


def test_the_log_is_copied_into_the_file_every_256_records(tmp_path: Path) -> None:
    with store_in(tmp_path) as store:
        sizes = []
        for _ in range(255):
            store.add(record())
        sizes.append(store.path.stat().st_size)
        store.add(record())
        sizes.append(store.path.stat().st_size)
        log = store.path.with_name("records.db-wal").stat().st_size
        for _ in range(1000):
            store.add(record())
        assert store.path.with_name("records.db-wal").stat().st_size < 3 * log
    assert sizes[0] == 4096 < sizes[1]  # the header alone was there
