"""The SQLite file of records: opening, locks, checkpoints, and what is done about a damaged one."""

import contextlib
import errno
import fcntl
import logging
import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal

from router.decisions.checks import in_range
from router.decisions.errors import RecordFieldError, StoreError, StoreTrouble
from router.decisions.forks import tell_after_fork
from router.decisions.places import prepare
from router.decisions.schema import STEPS, migrate, version_of

__all__ = ["Database", "Synchronous"]

log = logging.getLogger("harness_router.records")

Synchronous = Literal["normal", "full"]

KINDS: Final[dict[int, StoreTrouble]] = {
    sqlite3.SQLITE_BUSY: "busy",
    sqlite3.SQLITE_LOCKED: "busy",
    sqlite3.SQLITE_IOERR_DELETE_NOENT: "busy",  # another process was faster
    sqlite3.SQLITE_FULL: "full",
    sqlite3.SQLITE_READONLY: "read_only",
    sqlite3.SQLITE_CANTOPEN: "missing",
    sqlite3.SQLITE_CORRUPT: "corrupt",
    sqlite3.SQLITE_NOTADB: "corrupt",
}
UNUSABLE: Final = (
    UnicodeEncodeError,
    OverflowError,
    sqlite3.IntegrityError,
    sqlite3.DataError,
    sqlite3.InterfaceError,
    sqlite3.ProgrammingError,
)
"""What a value that does not fit its column ends in."""

WAL_LIMIT: Final = 64 << 20
"""Bytes to which the write-ahead log is cut when it starts anew."""
RETRY_SECONDS: Final = 0.003
ERRNOS: Final[dict[int, StoreTrouble]] = {
    errno.ENOSPC: "full",
    errno.EDQUOT: "full",
    errno.EFBIG: "full",
    errno.EROFS: "read_only",
    errno.EACCES: "read_only",
    errno.EPERM: "read_only",
    errno.ENOENT: "missing",
    errno.ENOTDIR: "missing",
}

_opening = threading.Lock()
_orphans: list[sqlite3.Connection] = []
"""Connections of a parent process: closing them here would disturb its locks."""


class Database:
    """One connection to the file, opened at first use and again whenever it must be.

    It is opened again after a fork, and when the file at the path is not the one that was opened
    (deleted, or moved aside by another process). A damaged file is moved aside, with its log, never
    deleted, and a new one is begun.

    Not safe for several threads at once: hold ``lock``.

    Args:
        path: the file.
        busy_seconds: how long to wait for other processes.
        synchronous: "normal": what was committed survives the death of the process, the last
            commits may be lost with the power; "full": they survive that too, at the cost of a
            flush for each.
        reading: a file that is not there is not made, one that is damaged is left alone, and one
            that may not be written can be read.
    """

    def __init__(
        self, path: Path, *, busy_seconds: float, synchronous: Synchronous, reading: bool
    ) -> None:
        self._connection: sqlite3.Connection | None = None
        if synchronous not in ("normal", "full"):
            raise RecordFieldError("synchronous", synchronous, "normal or full")
        if not in_range(busy_seconds, 3600.0):
            raise RecordFieldError("busy_seconds", busy_seconds, "seconds from 0 to 3600")
        self.path = path
        self.lock = threading.RLock()
        self._busy_seconds = busy_seconds
        self._synchronous = synchronous
        self._reading = reading
        self._opened: tuple[int, int] | None = None
        tell_after_fork(self)

    def connection(self) -> sqlite3.Connection:
        """The connection, in autocommit mode; raises ``StoreError`` if the file cannot be used."""
        if self._connection is not None and _identity(self.path) != self._opened:
            self.close()
        if self._connection is None:
            self._connection = self._open_or_set_aside()
        return self._connection

    @contextlib.contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All or nothing; errors of SQLite become ``StoreError``."""
        with self.lock, self.errors():
            connection = self.connection()
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    @contextlib.contextmanager
    def errors(self) -> Iterator[None]:
        """Errors of SQLite within become ``StoreError``, and the connection is given up unless the
        file was only busy; values that do not fit the file become ``RecordFieldError``.
        """
        try:
            yield
        except UNUSABLE as error:
            wanted = "texts in UTF-8 and numbers, as its types say"
            raise RecordFieldError("record", type(error).__name__, wanted) from None
        except (sqlite3.Error, OSError) as error:
            found = as_store_error(error)
            if found.kind != "busy":
                self.close()
            raise found from None

    def set_aside(self) -> bool:
        """Move a damaged file away; whether a new one can be begun now."""
        if self._reading:
            return False
        self.close()
        return _set_aside(self.path, self._opened, self._busy_seconds)

    def checkpoint(self) -> None:
        """Copy the write-ahead log into the file, while no other connection can write.

        SQLite up to 3.51.2 can damage a file if one connection begins the log anew at the very
        moment at which another begins a checkpoint (sqlite.org/wal.html, "WAL-reset bug"). So no
        connection of ours checkpoints by itself, and this one is made under the lock of writers,
        which a second connection holds.
        """
        connection = self.connection()
        holder = sqlite3.connect(self.path, isolation_level=None, timeout=self._busy_seconds)
        try:
            holder.execute("PRAGMA wal_autocheckpoint = 0")
            holder.execute("BEGIN IMMEDIATE")
            connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
            holder.execute("ROLLBACK")
        finally:
            holder.close()

    def close(self) -> None:
        """Close the connection; the next use opens it again."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(sqlite3.Error):
                connection.close()

    def __del__(self) -> None:
        self.close()

    def after_fork(self) -> None:
        """In a forked child: leave the parent's connection and locks alone."""
        global _opening  # noqa: PLW0603  a thread of the parent may hold it for ever
        if self._connection is not None:
            _orphans.append(self._connection)
        self._connection = None
        self.lock = threading.RLock()
        _opening = threading.Lock()

    def _open_or_set_aside(self) -> sqlite3.Connection:
        try:
            return self._open()
        except (sqlite3.Error, OSError) as error:
            found = as_store_error(error)
            if found.kind != "corrupt" or not self.set_aside():
                raise found from None
        try:
            return self._open()
        except (sqlite3.Error, OSError) as error:
            raise as_store_error(error) from None

    def _open(self) -> sqlite3.Connection:
        deadline = time.monotonic() + self._busy_seconds
        with _opening:
            while True:
                before = _identity(self.path)
                try:
                    if self._reading:
                        return self._open_for_reading()
                    prepare(self.path)
                    return self._open_once("rw")
                except (sqlite3.Error, OSError) as error:
                    if not self._passes(error, before) or time.monotonic() >= deadline:
                        raise
                time.sleep(RETRY_SECONDS)

    def _passes(self, error: Exception, before: tuple[int, int] | None) -> bool:
        """Whether it is worth to try again: of several processes that make the file at once all
        but one are refused without a wait, and while one moves a damaged file aside, the others
        find it gone or changed.
        """
        if as_store_error(error).kind == "busy":
            return True
        now = _identity(self.path)
        gone = now is None and isinstance(error, sqlite3.Error)
        return not self._reading and (now != before or gone)

    def _open_for_reading(self) -> sqlite3.Connection:
        """As it can be had: with locks; from a place that may not be written; or frozen."""
        if not self.path.exists():
            raise StoreError("missing", "there is no file of records")
        frozen = not self.path.with_name(self.path.name + "-wal").exists()
        for mode in ("rw", "ro", "ro&immutable=1")[: 3 if frozen else 2]:
            try:
                return self._open_once(mode)
            except sqlite3.Error as error:
                last = error
                if as_store_error(error).kind not in ("read_only", "missing"):
                    break
        raise last

    def _open_once(self, mode: str) -> sqlite3.Connection:
        opened = _identity(self.path)
        connection = sqlite3.connect(
            f"{self.path.absolute().as_uri()}?mode={mode}",
            uri=True,
            timeout=self._busy_seconds,
            isolation_level=None,
            check_same_thread=False,
        )
        self._opened = opened
        try:
            connection.execute("PRAGMA trusted_schema = OFF")
            version = version_of(connection)
            if mode == "rw":
                self._set_up(connection, version)
            elif version != len(STEPS):
                raise StoreError("read_only", "an older file: it must be written to once")
        except BaseException:
            connection.close()
            raise
        return connection

    def _set_up(self, connection: sqlite3.Connection, version: int) -> None:
        if version == 0:
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
        if mode != "wal":
            raise StoreError("foreign", "the file system has no shared memory for WAL")
        connection.execute(f"PRAGMA synchronous = {self._synchronous}")
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        connection.execute(f"PRAGMA journal_size_limit = {WAL_LIMIT}")
        migrate(connection, known=version)


def as_store_error(error: Exception) -> StoreError:
    """What an error of SQLite or of the file system means; without any path."""
    if isinstance(error, StoreError):
        return error
    if isinstance(error, OSError):
        kind = ERRNOS.get(error.errno or 0, "io")
        return StoreError(kind, error.strerror or type(error).__name__)
    name = getattr(error, "sqlite_errorname", type(error).__name__)
    code = getattr(error, "sqlite_errorcode", 0)
    return StoreError(KINDS.get(code) or KINDS.get(code & 0xFF, "io"), name)


def _identity(path: Path) -> tuple[int, int] | None:
    """Device and inode of the file at ``path``; None if there is none."""
    try:
        found = os.stat(path)  # noqa: PTH116  three times as fast, and asked before every write
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _set_aside(path: Path, broken: tuple[int, int] | None, seconds: float) -> bool:
    """Move ``broken`` and its log away, one process at a time; whether it is away."""
    try:
        lock = os.open(path.with_name(path.name + ".lock"), os.O_CREAT | os.O_RDWR, 0o600)
    except OSError:
        return False
    try:
        _flock(lock, time.monotonic() + seconds)
        if broken is None or _identity(path) != broken:
            return True
        aside = f"{path.name}.corrupt-{time.strftime('%Y%m%dT%H%M%S')}-{os.getpid()}"
        # The log first: beside a new file it would be taken for the log of that.
        for end in ("-wal", "-shm", ""):
            with contextlib.suppress(FileNotFoundError):
                path.with_name(path.name + end).rename(path.with_name(aside + end))
        log.warning("the file of records is damaged: moved aside as %s", aside)
        return True
    except OSError:
        return False
    finally:
        os.close(lock)


def _flock(descriptor: int, deadline: float) -> None:
    """Lock a file for this process alone; raises ``OSError`` if that is not possible in time."""
    while True:
        try:
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise
        time.sleep(RETRY_SECONDS)
