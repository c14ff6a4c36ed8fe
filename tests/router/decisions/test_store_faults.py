"""A disk that is full, closed, locked or damaged: what the store says, and how it goes on."""

import os
import sqlite3
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from router.decisions.errors import RecordError, StoreError
from router.decisions.store import RecordStore
from tests.router.decisions.samples import forked, record, store_in


def written_until_it_fails(folder: Path) -> str:
    """The kind of trouble that ends the writing, and the ids that were acknowledged before."""
    acknowledged: list[str] = []
    with store_in(folder) as store:
        try:
            while len(acknowledged) < 20_000:
                one = record()
                store.add(one)
                acknowledged.append(one.id)
        except StoreError as error:
            return " ".join([error.kind, *acknowledged])
    return "never"


def kind_of(action: Callable[[], object]) -> str:
    """The kind of the ``StoreError`` that ``action`` ends with."""
    with pytest.raises(StoreError) as caught:
        action()
    return caught.value.kind


def test_a_limit_on_the_size_of_files_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")

    def limited() -> str:
        resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))
        return written_until_it_fails(tmp_path)

    kind, *acknowledged = forked(limited).split()
    assert kind in ("full", "io")
    assert len(acknowledged) > 10
    with store_in(tmp_path) as store:
        assert store.check() == []
        assert [one.id for one in store.records()] == acknowledged
        assert store.add(record())


def test_a_full_disk_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    mount = ["mount", "-t", "tmpfs", "-o", "size=600k", "tmpfs", str(tmp_path)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("no small disk can be mounted here: needs root")
    try:
        kind, *acknowledged = forked(lambda: written_until_it_fails(tmp_path)).split()
        assert kind == "full"
        assert len(acknowledged) > 10
        with store_in(tmp_path) as store:
            assert store.check() == []
            assert [one.id for one in store.records()] == acknowledged
    finally:
        subprocess.run(["umount", "-l", str(tmp_path)], check=True)


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that other users can enter and read, but not write."""
    if os.geteuid():
        pytest.skip("only root can be another user, whom the folder is closed to")
    with tempfile.TemporaryDirectory() as path:
        Path(path).chmod(0o755)
        yield Path(path)


def as_nobody(action: Callable[[], object]) -> str:
    def changed() -> object:
        os.setgid(65534)
        os.setuid(65534)
        return action()

    return forked(changed)


def kind_or_done(action: Callable[[], object]) -> object:
    try:
        return action()
    except StoreError as error:
        return error.kind


@pytest.mark.parametrize("there", [False, True])
def test_a_folder_that_may_not_be_written_is_said_to_be_so(folder: Path, there: bool) -> None:
    if there:
        with store_in(folder) as store:
            store.add(record())
        (folder / "records.db").chmod(0o444)
    assert as_nobody(lambda: kind_or_done(lambda: store_in(folder).add(record()))) == "read_only"


def test_what_may_only_be_read_can_be_read(folder: Path) -> None:
    with store_in(folder) as store:
        store.add(record())
    (folder / "records.db").chmod(0o444)
    assert as_nobody(lambda: len(list(store_in(folder, reading=True).records()))) == "1"


def test_a_file_that_may_not_be_read_is_said_to_be_so(folder: Path) -> None:
    with store_in(folder) as store:
        store.add(record())
    found = as_nobody(lambda: kind_or_done(lambda: store_in(folder, reading=True).count()))
    assert found in ("missing", "read_only")


def test_a_file_that_another_process_holds_is_busy_and_then_is_not(tmp_path: Path) -> None:
    with store_in(tmp_path, busy_seconds=0.0) as store:
        store.add(record())
        holder = sqlite3.connect(store.path, isolation_level=None)
        holder.execute("BEGIN IMMEDIATE")
        assert kind_of(lambda: store.add(record())) == "busy"
        assert kind_of(lambda: store.add_many([record(), record()])) == "busy"
        assert store.count() == 1  # readers are not held up
        holder.execute("COMMIT")
        holder.close()
        assert store.add(record())


def damage_header(path: Path) -> None:
    path.write_bytes(b"no database at all" * 500)


def damage_middle(path: Path) -> None:
    whole = bytearray(path.read_bytes())
    for at in range(4096, len(whole), 4096):
        whole[at : at + 64] = b"\xff" * 64
    path.write_bytes(bytes(whole))


def cut_off(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:5000])


@pytest.mark.parametrize("damage", [damage_header, damage_middle, cut_off])
def test_a_damaged_file_is_moved_aside_and_a_new_one_begun(
    tmp_path: Path, damage: Callable[[Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    with store_in(tmp_path) as store:
        store.add_many([record() for _ in range(50)])
    damage(store.path)
    broken = store.path.read_bytes()
    new = record()
    assert store.add(new)
    assert [one.id for one in store.records()] == [new.id]
    store.close()
    (aside,) = tmp_path.glob("records.db.corrupt-*")
    assert aside.read_bytes() == broken
    assert "moved aside" in caplog.text
    assert str(tmp_path) not in caplog.text


def test_others_that_have_a_damaged_file_open_go_over_to_the_new_one(tmp_path: Path) -> None:
    with store_in(tmp_path) as store, store_in(tmp_path) as other:
        store.add_many([record() for _ in range(50)])
        store.prune()
        other.add(record())
        with store.path.open("r+b") as file:
            file.write(b"\xff" * 40_000)
        store.close()
        new = [record(), record()]
        assert store.add(new[0])
        assert other.add(new[1])
        assert list(store.records()) == list(other.records()) == new
        assert store.check() == []
    assert len([p for p in tmp_path.glob("records.db.corrupt-*") if "-wal" not in p.name]) >= 1


def test_a_reader_leaves_a_damaged_file_where_it_is(tmp_path: Path) -> None:
    path = tmp_path / "records.db"
    damage_header(path)
    assert kind_of(lambda: store_in(tmp_path, reading=True).count()) == "corrupt"
    assert [p.name for p in tmp_path.iterdir()] == ["records.db"]


def test_a_reader_makes_no_file(tmp_path: Path) -> None:
    assert kind_of(lambda: store_in(tmp_path, reading=True).count()) == "missing"
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_was_deleted_while_it_was_open_is_begun_anew(tmp_path: Path) -> None:
    folder = tmp_path / ".harness-router"
    with RecordStore(folder / "records.db") as store:
        store.add(record())
        for path in folder.iterdir():
            path.unlink()
        folder.rmdir()
        new = record()
        assert store.add(new)
        assert [one.id for one in store.records()] == [new.id]
        assert store.check() == []


def test_a_database_of_somebody_else_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "records.db"
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE notes (x)")
    other.commit()
    other.close()
    before = path.read_bytes()
    assert kind_of(lambda: store_in(tmp_path).add(record())) == "foreign"
    assert path.read_bytes() == before


@pytest.mark.parametrize("target", ["elsewhere.db", "folder"])
def test_a_link_or_a_folder_in_the_place_of_the_file_is_not_used(
    tmp_path: Path, target: str
) -> None:
    if target == "folder":
        (tmp_path / "records.db").mkdir()
    else:
        (tmp_path / "records.db").symlink_to(tmp_path / target)
    assert kind_of(lambda: store_in(tmp_path).add(record())) == "foreign"
    assert not (tmp_path / "elsewhere.db").exists()


def test_a_record_whose_options_are_gone_is_told_apart(tmp_path: Path) -> None:
    with store_in(tmp_path) as store:
        one = record()
        store.add(one)
        connection = sqlite3.connect(store.path, isolation_level=None)
        connection.execute("UPDATE option_set SET body = x'00'")
        connection.close()
        with pytest.raises(RecordError, match="options: got"):
            RecordStore(store.path).get(one.id)


def test_upkeep_that_cannot_be_done_does_not_lose_the_record(tmp_path: Path) -> None:
    with store_in(tmp_path, busy_seconds=0.0) as store:
        store.add_many([record() for _ in range(255)])
        reader = sqlite3.connect(store.path, isolation_level=None)
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM record").fetchone()
        assert store.add(record())  # the 256th
        reader.close()
        assert store.count() == 256
