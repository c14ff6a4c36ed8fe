"""What a provider answered before: a bounded memory of selections, on disk too where asked.

Only answers of a provider are kept, before the gate: a changed threshold needs no new answer, and
an abstention is never kept as a decision.
"""

import hashlib
import json
import os
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from router.models import HarnessState, Selection, ToolDescriptor

if TYPE_CHECKING:
    from router.cache_file import CacheFile

__all__ = ["SelectionCache", "decision_key"]


def decision_key(
    version: str, state: HarnessState, tools: Sequence[ToolDescriptor], limits: Sequence[object]
) -> bytes:
    """A digest of everything that a provider's answer depends on.

    Args:
        version: of the selector: model, prompt, calibration.
        state: whole, arguments of past actions included.
        tools: in the order offered, with their schemas.
        limits: what cuts the question.
    """
    actions = [(a.tool, a.outcome, a.arguments_hash) for a in state.recent_actions]
    offered = [(t.name, t.description, t.category, t.risk.value, t.schema) for t in tools]
    whole = (
        version,
        (state.goal, state.observation, state.last_action, actions, list(state.constraints)),
        offered,
        list(limits),
    )
    return hashlib.blake2b(_written(whole), digest_size=20).digest()


class SelectionCache:
    """Least recently used selections, at most ``size``; trouble with the disk never disturbs.

    Args:
        size: most selections kept in memory and, apart from it, on disk; 0: none.
        path: SQLite file that survives the process, or None.
    """

    def __init__(self, size: int, path: str | Path | None = None) -> None:
        self._size = size
        self._kept: OrderedDict[bytes, Selection] = OrderedDict()
        self._disk = _opened(Path(path), size) if path is not None and size else None

    def get(self, key: bytes) -> Selection | None:
        """The selection kept under ``key``, or None."""
        found = self._kept.get(key)
        if found is not None:
            self._kept.move_to_end(key)
        elif self._disk is not None:
            found = self._disk.get(key)
            if found is not None:
                self._remember(key, found)
        return found

    def put(self, key: bytes, selection: Selection) -> None:
        """Keep ``selection`` under ``key``; the least recently used one goes if there are many."""
        self._remember(key, selection)
        if self._disk is not None:
            self._disk.put(key, selection)

    def _remember(self, key: bytes, selection: Selection) -> None:
        if not self._size:
            return
        self._kept[key] = selection
        self._kept.move_to_end(key)
        while len(self._kept) > self._size:
            self._kept.popitem(last=False)

    def __len__(self) -> int:
        """How many are in memory."""
        return len(self._kept)

    def close(self) -> None:
        """Close the file; what is kept in memory stays."""
        if self._disk is not None:
            self._disk.close()


def _written(whole: object) -> bytes:
    """The same bytes for the same values; of what cannot be written, never the same again."""
    try:
        text = json.dumps(whole, ensure_ascii=True, sort_keys=True, default=repr)
    except (TypeError, ValueError, RecursionError):  # a schema that is no JSON, or holds itself
        try:
            text = ascii(whole)
        except RecursionError:
            return os.urandom(20)
    return text.encode()


def _opened(path: Path, size: int) -> "CacheFile":
    from router.cache_file import CacheFile  # sqlite3 is loaded where it is asked for

    return CacheFile(path, size)
