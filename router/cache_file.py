"""Selections on disk: one SQLite file that several processes share."""

import contextlib
import json
import logging
import sqlite3
import time
from pathlib import Path
from typing import Any, Final

from router.models import ChoiceDecision, Selection, Usage

__all__ = ["CacheFile"]

log = logging.getLogger("harness_router.cache")

BUSY_SECONDS: Final = 0.05
"""How long another process may hold the file before it is passed over."""


class CacheFile:
    """As ``SelectionCache`` on disk; every failure is logged once and means: not there.

    Args:
        path: the file, made with mode 0600 if it is not there; a "~" at its beginning is the
            user's folder.
        size: most selections kept in it.
    """

    def __init__(self, path: Path, size: int) -> None:
        self._path = path
        self._size = size
        self._connection: sqlite3.Connection | None = None
        self._broken = False

    def get(self, key: bytes) -> Selection | None:
        """The selection kept under ``key``, or None."""
        connection = self._open()
        if connection is None:
            return None
        try:
            row = connection.execute("SELECT body FROM selection WHERE key = ?", (key,)).fetchone()
            if row is None:
                return None
            with contextlib.suppress(sqlite3.OperationalError):  # another process writes now
                connection.execute(
                    "UPDATE selection SET used = ? WHERE key = ?", (time.time(), key)
                )
        except sqlite3.Error as error:
            self._give_up(error)
            return None
        try:
            return _from_json(json.loads(row[0]))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return None  # of another version, or damaged: the next answer is written over it

    def put(self, key: bytes, selection: Selection) -> None:
        """Keep ``selection``; the least recently used go if there are too many."""
        connection = self._open()
        if connection is None:
            return
        try:
            body = json.dumps(_to_json(selection))
            connection.execute(
                "INSERT OR REPLACE INTO selection VALUES (?, ?, ?)", (key, body, time.time())
            )
            connection.execute(
                "DELETE FROM selection WHERE key IN "
                "(SELECT key FROM selection ORDER BY used DESC LIMIT -1 OFFSET ?)",
                (self._size,),
            )
        except (sqlite3.Error, ValueError, TypeError) as error:
            self._give_up(error)

    def close(self) -> None:
        """Close the file for good: a late answer does not open it again."""
        self._broken = True
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _open(self) -> sqlite3.Connection | None:
        if self._connection is None and not self._broken:
            try:
                self._connection = self._opened()
            except (sqlite3.Error, OSError, RuntimeError) as error:  # no home folder is the last
                self._give_up(error)
        return self._connection

    def _opened(self) -> sqlite3.Connection:
        path = self._path.expanduser()
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.touch(mode=0o600, exist_ok=True)
        connection = sqlite3.connect(
            path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute(
                "CREATE TABLE IF NOT EXISTS selection"
                " (key BLOB PRIMARY KEY, body TEXT NOT NULL, used REAL NOT NULL) WITHOUT ROWID"
            )
        except sqlite3.Error:
            connection.close()
            raise
        return connection

    def _give_up(self, error: Exception) -> None:
        """A locked file is passed over this once; any other trouble ends the use of the file."""
        if isinstance(error, sqlite3.OperationalError) and "locked" in str(error):
            return
        log.warning("the decision cache on disk is not used: %s", type(error).__name__)
        with contextlib.suppress(sqlite3.Error):
            self.close()


def _to_json(selection: Selection) -> dict[str, Any]:
    answer = selection.answer
    kept = None
    if answer is not None:
        kept = {
            "choice": answer.choice,
            "probabilities": dict(answer.probabilities),
            "confidence": answer.confidence,
            "model": answer.model,
            "request_id": answer.request_id,
            "usage": [answer.usage.input_tokens, answer.usage.output_tokens, answer.usage.cost],
            "latency_ms": answer.latency_ms,
        }
    return {
        "tool": selection.tool,
        "probabilities": dict(selection.probabilities),
        "none_fits": selection.none_fits,
        "source": selection.source,
        "version": selection.version,
        "why": list(selection.why),
        "answer": kept,
    }


def _from_json(kept: dict[str, Any]) -> Selection:
    """Raises ``ValueError`` or what the constructors raise: not what ``_to_json`` wrote."""
    shares = [*kept["probabilities"].values(), kept["none_fits"] or 0.0]
    if not all(type(share) in (int, float) and 0 <= share <= 1.000001 for share in shares):
        raise ValueError("probabilities: wanted numbers from 0 to 1")
    answer = kept.pop("answer")
    if answer is not None:
        answer = ChoiceDecision(**{**answer, "usage": Usage(*answer["usage"])})
    return Selection(**{**kept, "why": tuple(kept["why"])}, answer=answer)
