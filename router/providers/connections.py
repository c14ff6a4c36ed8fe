"""The connections of one event loop, and the requests that are under way on them."""

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import httpx

from router.providers.base import LateAnswer
from router.providers.exchange import Outcome, failure

__all__ = ["CONNECTIONS", "Connections"]

log = logging.getLogger("harness_router.providers")

CONNECTIONS: Final = 64
"""Requests under way at once; the next ones wait, inside their deadlines."""

PER_POOL: Final = 16
"""Connections of one pool of httpx: its work for a request grows with their square, 10 ms at 64."""

LATE_ANSWERS: Final = 16
"""How many answers are waited for after their deadline."""


class Connections:
    """Places for requests, taken in turn; late answers; the end of it all.

    Args:
        make_client: makes a client of httpx in this event loop, for ``PER_POOL`` connections.

    Attributes:
        waiting: calls that wait for a place.
    """

    def __init__(self, make_client: Callable[[], httpx.AsyncClient]) -> None:
        self._make_client = make_client
        self._pools = [_Pool(make_client())]
        self.waiting = 0
        self._closed = False
        self._places = asyncio.Semaphore(CONNECTIONS)
        self._under_way: set[asyncio.Task[Outcome]] = set()
        self._late = 0

    @contextmanager
    def client(self) -> Iterator[httpx.AsyncClient]:
        """A client for one request: the first with a connection to spare, so that few requests
        share few connections.
        """
        pool = next((pool for pool in self._pools if pool.busy < PER_POOL), None)
        if pool is None:
            pool = _Pool(self._make_client())
            self._pools.append(pool)
        pool.busy += 1
        try:
            yield pool.client
        finally:
            pool.busy -= 1

    async def enter(self, until: float, clock: Callable[[], float]) -> bool:
        """Take one of the places under way, in turn; False: none was free in time."""
        self.waiting += 1
        try:
            async with asyncio.timeout(max(until - clock(), 0.0)):
                await self._places.acquire()
        except TimeoutError:
            return False
        finally:
            self.waiting -= 1
        if clock() >= until:
            self._places.release()
            return False
        return True

    def check(self, provider: str) -> None:
        """Raise ``ProviderUnavailableError`` if it was closed while a call waited."""
        if self._closed:
            raise failure("connection", "closed before it was answered", provider)

    def keep(self, task: asyncio.Task[Outcome]) -> None:
        """Hold ``task`` and its place until it is done."""
        self._under_way.add(task)
        task.add_done_callback(self._ended)

    def leave(self) -> None:
        """Give a place back unused."""
        self._places.release()

    def _ended(self, task: asyncio.Task[Outcome]) -> None:
        self._places.release()
        self._under_way.discard(task)
        if not task.cancelled() and task.exception() is not None:
            log.debug("a late call ended: %s", type(task.exception()).__name__)

    def follow(self, task: asyncio.Task[Outcome], on_late: LateAnswer) -> bool:
        """Hand the answer of ``task`` to ``on_late`` when it comes; False: too many are awaited."""
        if self._late >= LATE_ANSWERS:
            return False
        self._late += 1

        def ended(task: asyncio.Task[Outcome]) -> None:
            self._late -= 1
            if task.cancelled() or task.exception() is not None:
                return
            answer = task.result().answer
            if answer is None:
                return
            try:
                on_late(answer)
            except Exception as error:  # a cache's trouble is not the loop's
                log.debug("a late answer was not kept: %s", type(error).__name__)

        task.add_done_callback(ended)
        return True

    async def aclose(self) -> None:
        """End what is under way and close the connections."""
        self._closed = True
        tasks = list(self._under_way)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.gather(*(pool.client.aclose() for pool in self._pools))


class _Pool:
    """A client and how many requests are under way on it."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self.client = client
        self.busy = 0
