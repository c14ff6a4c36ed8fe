"""How long records are kept: by age, by size, and until they are purged for good."""

import time
from dataclasses import replace
from pathlib import Path

from router.decisions.ids import first_id
from router.decisions.outcome import Outcome
from router.decisions.privacy import Privacy
from router.decisions.query import RecordQuery
from router.decisions.record import DecisionRecord
from router.decisions.retention import Retention
from router.decisions.store import RecordStore
from router.models import HarnessState, ToolDescriptor
from tests.router.decisions.samples import PICK, PRIVATE, TOOLS, record, store_in


def aged(days: float, number: int = 0) -> DecisionRecord:
    made = first_id(time.time() - days * 86_400)
    return replace(record(), id=f"{made[:-4]}{number:04x}")


def ids(store: RecordStore) -> list[str]:
    return [one.id for one in store.records()]


def rows(store: RecordStore, table: str) -> int:
    found = store._database.connection().execute(f"SELECT count(*) FROM {table}").fetchone()
    return int(found[0])


def test_records_older_than_the_limit_go_with_their_outcomes_and_options(tmp_path: Path) -> None:
    with store_in(tmp_path) as store:
        old = DecisionRecord.from_decision(
            "tool", HarnessState("g"), TOOLS[:2], PICK, PRIVATE, record_id=aged(40).id
        )
        new = aged(10)
        store.add_many([old, new])
        for one in (old, new):
            store.attach(one.id, Outcome("success"))
        assert store.prune(max_age_days=30).records == 1
        assert ids(store) == [new.id]
        assert (rows(store, "outcome"), rows(store, "option_set")) == (1, 1)
        assert store.prune(max_age_days=30).records == 0


def test_the_oldest_go_until_the_file_is_small_enough_and_it_shrinks(tmp_path: Path) -> None:
    with store_in(tmp_path) as store:
        made = [aged(20 - i / 100, i) for i in range(2000)]
        store.add_many(made)
        store.prune()
        before = store.path.stat().st_size
        gone = store.prune(max_bytes=before // 2)
        assert store.path.stat().st_size <= before // 2
        assert gone.bytes >= before // 2 - 4096
        left = ids(store)
        assert left == [one.id for one in made[gone.records :]]
        assert len(left) > 600
        assert store.check() == []


def test_a_limit_of_nothing_empties_the_file(tmp_path: Path) -> None:
    with store_in(tmp_path) as store:
        store.add_many([record() for _ in range(600)])
        assert store.prune(max_bytes=0).records == 600
        assert (store.count(), rows(store, "option_set")) == (0, 0)
        assert store.add(record())


def test_writing_alone_keeps_to_the_limits(tmp_path: Path) -> None:
    retention = Retention(max_age_days=30, max_bytes=600_000)
    with store_in(tmp_path, retention=retention) as store:
        store.add_many([aged(40, i) for i in range(100)])
        most = 0
        for _ in range(4000):
            store.add(record())
            most = max(most, store.path.stat().st_size)
        assert store.count(RecordQuery(until=time.time() - 35 * 86_400)) == 0
        assert most < 1_200_000
        assert 256 <= store.count() < 2000


def test_options_that_change_all_the_time_do_not_fill_the_file(tmp_path: Path) -> None:
    with store_in(tmp_path, retention=Retention(max_bytes=400_000)) as store:
        for i in range(1024):
            tools = [ToolDescriptor(f"tool_{i}", "some words " * 20, schema={"n": i})]
            decision = replace(PICK, tool=f"tool_{i}", probabilities={f"tool_{i}": 1.0})
            store.add(
                DecisionRecord.from_decision("tool", HarnessState("g"), tools, decision, PRIVATE)
            )
        assert rows(store, "option_set") == store.count() < 1024


def test_what_was_purged_is_gone_from_the_files(tmp_path: Path) -> None:
    with store_in(tmp_path) as store:
        privacy = Privacy("full", store.key)
        for i in range(300):
            state = HarnessState(f"private-goal-{i} " + "private-words " * 50)
            store.add(
                DecisionRecord.from_decision("tool", state, TOOLS, PICK, privacy, session="s1")
            )
        kept = record(session="s2")
        store.add(kept)
        gone = store.purge(RecordQuery(session=store.session_hash("s1")))
        assert (gone.records, ids(store)) == (300, [kept.id])
        assert gone.bytes > 0
        for path in tmp_path.iterdir():
            assert b"private" not in path.read_bytes(), path.name
        assert store.check() == []
