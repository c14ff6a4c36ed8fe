"""``Recorder``: what a router calls after a decision; whatever happens, the decision goes on."""

import hashlib
import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, Final

from router.config import RoutingConfig
from router.decisions.errors import (
    RecordConflictError,
    RecordFieldError,
    StoreError,
    UnknownRecordError,
)
from router.decisions.forks import tell_after_fork
from router.decisions.ids import new_id
from router.decisions.options import OptionSets
from router.decisions.outcome import Outcome
from router.decisions.privacy import Privacy, TextMode, check_mode
from router.decisions.record import DecisionRecord, Fallback, Thresholds, Validation
from router.decisions.store import RecordStore
from router.decisions.writer import Writer
from router.models import HarnessState, RouteDecision, ToolDescriptor

__all__ = ["Recorder"]

log = logging.getLogger("harness_router.records")

BUSY_SECONDS: Final = 0.1
THREAD_BUSY_SECONDS: Final = 5.0
FIRST_PAUSE_SECONDS: Final = 0.1
LONGEST_PAUSE_SECONDS: Final = 30.0


class Recorder:
    """Writes records of decisions, and never raises.

    What cannot be written is counted, and logged once for each kind of trouble. After a second
    failure in a row the file is left alone for a while (0.1 s, doubled each time, at most 30 s), so
    that a bad disk costs next to nothing.

    Args:
        store: a store, or the path of its file; written to through a connection of its own.
        text: how the texts of states are kept: "full", "hashed" or "none"; see ``Privacy``.
        enabled: False: nothing is recorded.
        background: write in a thread: a decision then waits for no disk, and the death of the
            process by a signal takes the records that wait, at most ``queue_size``. ``close`` and
            the normal end of the process write them.
        queue_size: most records that wait; more are dropped and counted ("queue_full").
        busy_seconds: how long a record waits for other processes at most, >= 0; None: 0.1, and 5
            in a thread, for which no decision waits.
        key_variables: environment variables, beside the known ones, that hold secrets.
        clock: monotonic seconds.

    Raises:
        RecordFieldError: ``text`` is not usable.
    """

    def __init__(
        self,
        store: RecordStore | str | Path,
        text: TextMode = "hashed",
        enabled: bool = True,
        *,
        background: bool = False,
        queue_size: int = 1024,
        busy_seconds: float | None = None,
        key_variables: Sequence[str] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        check_mode(text)
        self.store = store if isinstance(store, RecordStore) else RecordStore(store)
        self.enabled = enabled
        usual = THREAD_BUSY_SECONDS if background else BUSY_SECONDS
        self._file = self.store.again(usual if busy_seconds is None else busy_seconds)
        self._text = text
        self._key_variables = key_variables
        self._clock = clock
        self._writer = Writer[_Job](self._do, queue_size) if background else None
        self._privacy: Privacy | None = None
        self._options: OptionSets | None = None
        self._counts: Counter[str] = Counter()
        self._failures = 0
        self._resume_at = 0.0
        self._lock = threading.RLock()
        tell_after_fork(self)

    @property
    def counts(self) -> Mapping[str, int]:
        """How many records were "written", and how many were not, by the kind of trouble: a
        ``StoreTrouble``, "paused" (the file is left alone), "queue_full", "refused" (a field is not
        usable, or a secret stands in it), "conflict", "unknown_id", "error".
        """
        with self._lock:
            return dict(self._counts)

    def of_tools(
        self, config: RoutingConfig, session: str | None = None
    ) -> Callable[[HarnessState, Sequence[ToolDescriptor], RouteDecision], str | None]:
        """What ``JevToolRouter`` takes as ``record``: decisions at the point "tool".

        Args:
            config: of that router; its thresholds stand in the records.
            session: id of the session, or None.
        """
        thresholds = Thresholds.of(config)

        def keep(
            state: HarnessState, tools: Sequence[ToolDescriptor], decision: RouteDecision
        ) -> str | None:
            return self.record(
                "tool", state, tools, decision, session=session, thresholds=thresholds
            )

        return keep

    def record(
        self,
        point: str,
        state: HarnessState,
        tools: Sequence[ToolDescriptor],
        decision: RouteDecision,
        *,
        session: str | None = None,
        validation: Validation | None = None,
        fallback: Fallback | None = None,
        thresholds: Thresholds | None = None,
        prompt_hash: str | None = None,
    ) -> str | None:
        """Record a decision; its id, or None if it was not recorded.

        The id is there to attach an outcome. With ``background`` it says that the record is on its
        way.

        Args:
            point: the decision point: "tool", "route", "focus", or a name of one's own.
            state: what the decision looked at.
            tools: on offer; descriptors that live on from call to call are hashed once.
            decision: as the router gave it.
            session: id of the session; kept as a hash.
            validation: what a re-check found; None: whether the pick is among ``tools``.
            fallback: what stood in; None: what the decision itself says.
            thresholds: in force.
            prompt_hash: of the question's words; None: of the router's own question where a
                provider answered at the point "tool".
        """
        if not self.enabled:
            return None
        record_id = new_id()
        asked = _Asked(
            record_id,
            point,
            state,
            tools,
            decision,
            {
                "session": session,
                "validation": validation,
                "fallback": fallback,
                "thresholds": thresholds,
                "prompt_hash": prompt_hash,
            },
        )
        if self._writer is not None:
            if self._writer.put(asked):
                return record_id
            self._failed("queue_full")
            return None
        return record_id if self._try(lambda: self._add_all([asked])) else None

    def attach(self, record_id: str | None, outcome: Outcome) -> None:
        """As ``RecordStore.attach``, of a record of this recorder or any other; None: nothing."""
        if record_id is not None and self.enabled:
            self._later(lambda: self._file.attach(record_id, outcome))

    def set_fallback(
        self, record_id: str | None, fallback: Fallback, *, validation: Validation = "accepted"
    ) -> None:
        """As ``RecordStore.set_fallback``; None: nothing."""
        if record_id is not None and self.enabled:
            self._later(lambda: self._file.set_fallback(record_id, fallback, validation=validation))

    def flush(self) -> bool:
        """Wait until all that was recorded is written, for at most five seconds; whether it is."""
        return self._writer is None or self._writer.flush()

    def close(self) -> None:
        """Write what waits, and close the file; a later record opens it again."""
        if self._writer is not None:
            self._writer.close()
        self._file.close()
        self.store.close()

    def after_fork(self) -> None:
        """In a forked child: a thread of the parent may have held the lock."""
        self._lock = threading.RLock()

    def _later(self, job: Callable[[], object]) -> None:
        if self._writer is None:
            self._try(job)
        elif not self._writer.put(job):
            self._failed("queue_full")

    def _do(self, jobs: Sequence["_Job"]) -> None:
        """A batch of the writer: records that follow one another in one transaction."""
        together: list[_Asked] = []
        for job in jobs:
            if isinstance(job, _Asked):
                together.append(job)
                continue
            self._write_all(together)
            together = []
            self._try(job)
        self._write_all(together)

    def _write_all(self, asked: Sequence["_Asked"]) -> None:
        if asked:
            self._try(partial(self._add_all, asked), len(asked))

    def _add_all(self, asked: Sequence["_Asked"]) -> None:
        try:
            records = [self._record(one) for one in asked]
            self._file.add_many(records)
        except RecordFieldError:
            if len(asked) == 1:
                raise
            for one in asked:  # which one it was is not known
                self._try(partial(self._add_all, [one]))
        else:
            with self._lock:
                self._counts["written"] += len(asked)

    def _record(self, one: "_Asked") -> DecisionRecord:
        with self._lock:
            if self._privacy is None or self._options is None:
                self._privacy = Privacy(self._text, self._file.key, self._key_variables)
                self._options = OptionSets(self._privacy.options)
            if self._privacy.look():
                self._options.forget()
            options = self._options.of(one.tools)
        prompt_hash = one.more["prompt_hash"]
        if prompt_hash is None and one.point == "tool" and one.decision.source in ("jev", "cache"):
            prompt_hash = tool_prompt_hash()
        return DecisionRecord.from_decision(
            one.point,
            one.state,
            options,
            one.decision,
            self._privacy,
            record_id=one.record_id,
            **{**one.more, "prompt_hash": prompt_hash},
        )

    def _try(self, job: Callable[[], object], weight: int = 1) -> bool:
        """Whether ``job`` could be done; if not, ``weight`` records are counted as lost."""
        if self._clock() < self._resume_at:
            self._failed("paused", weight)
            return False
        try:
            job()
        except Exception as error:  # a decision goes on whatever happens to its record
            self._failed(_kind(error), weight)
            if isinstance(error, StoreError):
                self._pause()
            return False
        self._failures = 0
        return True

    def _failed(self, kind: str, weight: int = 1) -> None:
        with self._lock:
            first = kind not in self._counts
            self._counts[kind] += weight
        if first:
            log.warning("a decision was not recorded: %s (told once, counted from now on)", kind)

    def _pause(self) -> None:
        self._failures += 1
        if self._failures > 1:
            seconds = FIRST_PAUSE_SECONDS * 2.0 ** min(self._failures - 2, 20)
            self._resume_at = self._clock() + min(seconds, LONGEST_PAUSE_SECONDS)


@dataclass(frozen=True, slots=True)
class _Asked:
    """The arguments of one call of ``record``."""

    record_id: str
    point: str
    state: HarnessState
    tools: Sequence[ToolDescriptor]
    decision: RouteDecision
    more: Mapping[str, Any]


_Job = _Asked | Callable[[], object]


@cache
def tool_prompt_hash() -> str:
    """Digest of the words in which the router asks a provider for a tool."""
    from router.selectors import jev, question  # only where a provider answered

    words = (
        jev.PROMPT_VERSION,
        question.INSTRUCTIONS,
        question.CATEGORY_INSTRUCTIONS,
        question.NONE_OF_THESE,
        question.NONE_TEXT,
    )
    return hashlib.blake2b("\n".join(words).encode(), digest_size=12).hexdigest()


def _kind(error: Exception) -> str:
    if isinstance(error, StoreError):
        return error.kind
    if isinstance(error, RecordConflictError):
        return "conflict"
    if isinstance(error, UnknownRecordError):
        return "unknown_id"
    return "refused" if isinstance(error, RecordFieldError) else "error"
