"""The recorder: a decision goes on whatever happens to its record, and what happened is counted."""

import logging
import os
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from router.config import RoutingConfig
from router.decisions.errors import RecordFieldError
from router.decisions.outcome import Outcome
from router.decisions.record import Fallback, Thresholds
from router.decisions.recorder import Recorder
from router.decisions.store import RecordStore
from router.gate import pass_gate
from router.models import ChoiceDecision, RouteDecision, Selection, ToolDescriptor
from tests.router.decisions.samples import PICK, STATE, TOOLS, forked, store_in

ROOT = Path(__file__).parents[3]


def recorder(folder: Path, **more: object) -> Recorder:
    return Recorder(folder / "records.db", **more)  # type: ignore[arg-type]


def hold(path: Path) -> sqlite3.Connection:
    """Keep everybody else from writing, until it is closed."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    return connection


def test_a_decision_of_the_router_is_recorded_and_can_be_gated_again(tmp_path: Path) -> None:
    config = RoutingConfig(direct_execution_threshold=0.95)
    by_name = {tool.name: tool for tool in TOOLS}
    shares = {"read_file": 0.03, "edit_file": 0.93, "delete_all": 0.01}
    answer = ChoiceDecision("edit_file", {**shares, "none_of_these": 0.03}, 0.91, "m-1", "r-1")
    asked = Selection("edit_file", shares, 0.03, "jev", "jev@1", answer, why=("it says so",))
    decision = pass_gate(asked, by_name, config, source="jev")
    kept = recorder(tmp_path, text="full")
    record_id = kept.record(
        "tool", STATE, TOOLS, decision, session="s", thresholds=Thresholds.of(config)
    )
    assert record_id is not None
    found = kept.store.get(record_id)
    assert (found.decision, found.state, found.options.tools) == (decision, STATE, TOOLS)
    assert found.fallback == Fallback("planner", "planner_confirmation")
    assert found.model == "m-1"
    assert found.thresholds == Thresholds.of(config)
    assert found.prompt_hash is not None
    selection = found.selection()
    assert selection == asked
    again = pass_gate(selection, by_name, config, source=found.decision.source)
    assert again == decision
    assert selection is not None
    looser = pass_gate(selection, by_name, RoutingConfig(), source=found.decision.source)
    assert looser.tool == "edit_file"
    kept.close()


def test_only_a_question_put_to_a_provider_has_a_prompt(tmp_path: Path) -> None:
    kept = recorder(tmp_path)
    jev = replace(PICK, source="jev")
    ids = [
        kept.record("tool", STATE, TOOLS, PICK),
        kept.record("tool", STATE, TOOLS, jev),
        kept.record("tool", STATE, TOOLS, jev, prompt_hash="mine"),
        kept.record("lead", STATE, TOOLS, jev),
    ]
    hashes = [kept.store.get(str(one)).prompt_hash for one in ids]
    assert hashes[0] is hashes[3] is None
    assert hashes[2] == "mine"
    assert hashes[1] not in (None, "mine")
    kept.close()


def test_hashed_is_what_one_gets_without_asking(tmp_path: Path) -> None:
    kept = recorder(tmp_path)
    found = kept.store.get(str(kept.record("tool", STATE, TOOLS, PICK)))
    assert found.text == "hashed"
    kept.close()


def test_a_recorder_that_is_off_touches_nothing(tmp_path: Path) -> None:
    kept = recorder(tmp_path, enabled=False)
    assert kept.record("tool", STATE, TOOLS, PICK) is None
    kept.attach("x", Outcome("success"))
    assert kept.counts == {}
    assert list(tmp_path.iterdir()) == []


def test_outcomes_and_fallbacks_come_after(tmp_path: Path) -> None:
    kept = recorder(tmp_path)
    record_id = kept.record("tool", STATE, TOOLS, PICK)
    kept.set_fallback(record_id, Fallback("host", "rejected_stale"), validation="rejected_stale")
    kept.attach(record_id, Outcome("success"))
    kept.attach(record_id, Outcome("failure"))
    kept.attach("0" * 32, Outcome("failure"))
    kept.attach(None, Outcome("failure"))
    found = kept.store.get(str(record_id))
    assert found.outcome is not None
    assert (found.outcome.result, found.won, found.validation) == (
        "success",
        False,
        "rejected_stale",
    )
    assert kept.counts == {"written": 1, "conflict": 1, "refused": 1}
    kept.close()


def test_what_cannot_be_recorded_is_counted_and_told_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    kept = recorder(tmp_path)
    for _ in range(3):
        assert kept.record("tool", STATE, [TOOLS[0], TOOLS[0]], PICK) is None
        assert kept.record("tool", STATE, TOOLS, replace(PICK, confidence=float("nan"))) is None
    assert kept.record(None, STATE, TOOLS, PICK) is None  # type: ignore[arg-type]
    assert kept.record("tool", None, TOOLS, PICK) is None  # type: ignore[arg-type]
    assert kept.counts == {"refused": 7, "error": 1}
    assert [r.levelno for r in caplog.records] == [logging.WARNING] * 2
    assert kept.record("tool", STATE, TOOLS, PICK) is not None
    kept.close()


def test_a_busy_file_costs_little_and_then_nothing_for_a_while(tmp_path: Path) -> None:
    now = 100.0
    kept = recorder(tmp_path, busy_seconds=0.0, clock=lambda: now)

    def tried() -> bool:
        return kept.record("tool", STATE, TOOLS, PICK) is not None

    assert tried()
    holder = hold(kept.store.path)
    assert [tried() for _ in range(5)] == [False] * 5
    assert kept.counts == {"written": 1, "busy": 2, "paused": 3}
    now += 0.11
    assert not tried()
    now += 0.11  # the second pause is longer
    assert not tried()
    assert kept.counts == {"written": 1, "busy": 3, "paused": 4}
    holder.close()
    now += 0.2
    assert tried()
    holder = hold(kept.store.path)
    assert [tried(), tried(), tried()] == [False] * 3
    assert kept.counts == {"written": 2, "busy": 5, "paused": 5}
    holder.close()
    kept.close()


@pytest.mark.parametrize("trouble", ["folder", "link", "newer", "garbage"])
def test_a_file_that_cannot_be_used_disturbs_no_decision(tmp_path: Path, trouble: str) -> None:
    path = tmp_path / "records.db"
    if trouble == "folder":
        path.mkdir()
    elif trouble == "link":
        path.symlink_to("/dev/null")
    elif trouble == "newer":
        with store_in(tmp_path) as store:
            store.count()
        with sqlite3.connect(path) as connection:
            connection.execute("PRAGMA user_version = 99")
        connection.close()
    else:
        path.write_bytes(b"garbage" * 1000)
    kept = recorder(tmp_path)
    kinds = {"folder": "foreign", "link": "foreign", "newer": "newer", "garbage": None}
    record_id = kept.record("tool", STATE, TOOLS, PICK)
    assert (record_id is None) == (kinds[trouble] is not None)
    assert kept.counts == {kinds[trouble] or "written": 1}
    kept.close()


@pytest.mark.skipif(not os.access("/dev/full", os.W_OK), reason="no /dev/full on this system")
def test_a_folder_that_cannot_be_made_disturbs_no_decision() -> None:
    kept = Recorder("/dev/full/records.db")
    assert kept.record("tool", STATE, TOOLS, PICK) is None
    assert sum(kept.counts.values()) == 1


def test_a_full_disk_disturbs_no_decision(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")

    def limited() -> str:
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
        kept = recorder(tmp_path, text="full")
        ids = [kept.record("tool", STATE, TOOLS, PICK) for _ in range(2000)]
        kept.close()
        return " ".join([*kept.counts, *filter(None, ids)])

    words = forked(limited).split()
    ids = {word for word in words if len(word) == 32}
    assert {"written", "paused"} <= set(words)
    assert {"io", "full"} & set(words)
    with store_in(tmp_path) as store:
        assert {one.id for one in store.records()} == ids
        assert store.check() == []


def test_descriptors_made_anew_for_each_call_are_the_same_options(tmp_path: Path) -> None:
    kept = recorder(tmp_path)
    for _ in range(3):
        tools = [ToolDescriptor(t.name, t.description, t.category, t.risk, t.schema) for t in TOOLS]
        kept.record("tool", STATE, tools, PICK)
    assert len({one.options.key for one in kept.store.records()}) == 1
    kept.close()


def test_in_the_background_all_is_written_in_order_by_the_time_it_is_closed(tmp_path: Path) -> None:
    kept = recorder(tmp_path, background=True, queue_size=10_000)
    ids = []
    for i in range(500):
        ids.append(kept.record("tool", STATE, TOOLS, PICK))
        if i % 10 == 0:
            kept.attach(ids[-1], Outcome("success"))
            kept.set_fallback(ids[-1], Fallback("host", "late"))
    kept.close()
    with store_in(tmp_path) as store:
        found = list(store.records())
    assert [one.id for one in found] == ids
    assert [one.outcome is not None for one in found] == [i % 10 == 0 for i in range(500)]
    assert [one.fallback is not None for one in found] == [i % 10 == 0 for i in range(500)]
    assert kept.counts == {"written": 500}
    assert kept.record("tool", STATE, TOOLS, PICK) is not None  # and it begins again
    assert kept.flush()
    assert kept.store.count() == 501
    kept.close()


def test_a_full_queue_drops_and_counts(tmp_path: Path) -> None:
    kept = recorder(tmp_path, background=True, queue_size=5, busy_seconds=10.0)
    assert kept.record("tool", STATE, TOOLS, PICK) is not None
    assert kept.flush()
    holder = hold(kept.store.path)
    ids = [kept.record("tool", STATE, TOOLS, PICK) for _ in range(20)]
    assert sum(one is not None for one in ids) == 5
    assert kept.counts["queue_full"] == 15
    holder.close()
    assert kept.flush()
    assert kept.store.count() == 6
    kept.close()


def test_one_that_is_refused_takes_no_other_of_its_batch_with_it(tmp_path: Path) -> None:
    kept = recorder(tmp_path, background=True, busy_seconds=10.0)
    kept.record("tool", STATE, TOOLS, PICK)
    kept.flush()
    holder = hold(kept.store.path)
    for i in range(10):  # they wait together
        broken = replace(PICK, confidence=7.0) if i == 4 else PICK
        kept.record("tool", STATE, TOOLS, broken)
    holder.close()
    kept.close()
    assert kept.counts == {"written": 10, "refused": 1}


def test_what_waits_is_written_when_the_process_ends(tmp_path: Path) -> None:
    code = (
        "from tests.router.decisions.samples import *\n"
        "from router.decisions.recorder import Recorder\n"
        f"kept = Recorder({str(tmp_path / 'records.db')!r}, background=True)\n"
        "for _ in range(300): kept.record('tool', STATE, TOOLS, PICK)\n"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], cwd=ROOT, check=True)
    with store_in(tmp_path) as store:
        assert store.count() == 300


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.parametrize("background", [False, True])
def test_a_forked_child_records_for_itself(tmp_path: Path, background: bool) -> None:
    kept = recorder(tmp_path, background=background)
    kept.record("tool", STATE, TOOLS, PICK)
    kept.flush()

    def in_child() -> bool:
        kept.record("tool", STATE, TOOLS, PICK)
        return kept.flush()

    assert forked(in_child) == "True"
    kept.record("tool", STATE, TOOLS, PICK)
    kept.flush()
    assert kept.store.count() == 3
    kept.close()


def test_a_mode_that_is_unknown_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(RecordFieldError, match="text: got 'all'"):
        recorder(tmp_path, text="all")


def test_a_store_of_ones_own_can_be_given(tmp_path: Path) -> None:
    store = RecordStore(tmp_path / "mine.db", synchronous="full")
    kept = Recorder(store, "none")
    kept.record("tool", STATE, TOOLS, RouteDecision.fallback_to_planner("no_tools"))
    assert kept.store is store
    assert store.count() == 1
    kept.close()
