"""A thread that does jobs in their order, for callers that cannot wait for the disk."""

import atexit
import threading
from collections import deque
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Final, Generic, TypeVar

from router.decisions.forks import tell_after_fork

__all__ = ["Writer"]

Job = TypeVar("Job")

BATCH: Final = 128
DRAIN_SECONDS: Final = 5.0


class Writer(Generic[Job]):
    """Does jobs in a thread of its own, which starts with the first job.

    At ``close`` and at the end of the process the jobs that are left are done, for at most five
    seconds. The death of the process by a signal takes the jobs that are not done yet, at most
    ``size``. In a forked child there is nothing to do: the parent does its jobs itself.

    Args:
        do: does a batch of at most 128 jobs; it must not raise.
        size: most jobs that may wait.
    """

    def __init__(self, do: Callable[[Sequence[Job]], None], size: int) -> None:
        self._do = do
        self._size = size
        self._waiting: deque[Job] = deque()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        tell_after_fork(self)

    def put(self, job: Job) -> bool:
        """Have ``job`` done; False if too many wait."""
        with self._changed:
            if len(self._waiting) >= self._size:
                return False
            self._waiting.append(job)
            if self._thread is None:
                self._start()
            self._changed.notify_all()
        return True

    def flush(self, seconds: float = DRAIN_SECONDS) -> bool:
        """Wait until every job is done, or for so long; whether they are."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._waiting, seconds)

    def close(self) -> bool:
        """``flush``, then end the thread; the next job starts another one."""
        done = self.flush()
        with self._changed:
            thread, self._thread = self._thread, None
            self._changed.notify_all()
        if thread is not None:
            atexit.unregister(self.close)
            thread.join(DRAIN_SECONDS)
        return done

    def after_fork(self) -> None:
        """Begin with nothing: threads and locks of the parent are not there."""
        self._waiting = deque()
        self._changed = threading.Condition()
        self._thread = None

    def _start(self) -> None:
        self._thread = threading.Thread(target=self._run, name="records", daemon=True)
        self._thread.start()
        atexit.register(self.close)

    def _run(self) -> None:
        me = threading.current_thread()
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._thread is not me)
                if self._thread is not me:
                    return
                batch = list(islice(self._waiting, BATCH))
            self._do(batch)
            with self._changed:
                for _ in batch:
                    self._waiting.popleft()
                self._changed.notify_all()
