"""The client of decision services: one deadline, at most one retry, late answers, one breaker."""

import asyncio
import contextlib
import logging
import statistics
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import replace
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any, Final, Self
from urllib.parse import urlsplit

import httpx

from router.config import OpenRouterConfig, ProviderConfig, TypeSafeConfig
from router.errors import ProviderError
from router.models import ChoiceDecision
from router.providers.base import LateAnswer
from router.providers.breaker import CircuitBreaker
from router.providers.connections import PER_POOL, Connections
from router.providers.dialects import dialect_named
from router.providers.exchange import Outcome, Request, exchange, failure
from router.providers.keys import read_key, refuse_secrets

__all__ = ["JevProvider", "OpenRouterJevProvider", "TypeSafeJevProvider"]

log = logging.getLogger("harness_router.providers")

WAITING: Final = 1_000
"""Requests that wait; more are refused at once."""

LATE_SECONDS: Final = 10.0
"""How long an answer is waited for after its deadline."""

BACKOFF_SECONDS: Final = 0.05
"""Before the retry where the service names no time."""

MOST_OPTIONS: Final = 255


class JevProvider:
    """Asks a decision service; see ``DecisionProvider`` for the contract.

    The key is read from the environment at each call. One object serves many tasks of an event
    loop; in another loop it opens connections of its own.

    Args:
        config: see ``ProviderConfig``; None: its defaults.
        transport: of httpx, for tests; None: the network.
        clock: seconds that only grow; deadlines are compared with it.

    Raises:
        ConfigError: an unknown dialect.
    """

    config_type: type[ProviderConfig] = ProviderConfig

    def __init__(
        self,
        config: ProviderConfig | None = None,
        *,
        transport: httpx.AsyncBaseTransport | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.config = config or self.config_type()
        self.requests_made = 0
        self._dialect = dialect_named(self.config.dialect)
        self._transport = transport
        self._clock = clock
        self._breaker = CircuitBreaker(
            self._dialect.name,
            self.config.circuit_failures,
            self.config.circuit_cooldown_seconds,
            clock,
        )
        self._latencies: deque[float] = deque(maxlen=31)
        self._connected: dict[asyncio.AbstractEventLoop, Connections] = {}

    @classmethod
    def from_config(cls, config: ProviderConfig) -> Self:
        """A provider of this configuration; no key is needed yet."""
        return cls(config)

    @property
    def name(self) -> str:
        """As in ``DecisionProvider``."""
        return self._dialect.name

    @property
    def model(self) -> str:
        """As in ``DecisionProvider``."""
        return self.config.model

    @property
    def timeout_seconds(self) -> float:
        """As in ``DecisionProvider``."""
        return self.config.timeout_seconds

    async def choose(
        self,
        *,
        state: str | Mapping[str, Any],
        instructions: str,
        criteria: Mapping[str, str | None],
        deadline: float | None = None,
        on_late: LateAnswer | None = None,
    ) -> ChoiceDecision:
        """As in ``DecisionProvider``."""
        started = self._clock()
        until = started + self.config.timeout_seconds
        until = until if deadline is None else min(until, deadline)
        request = self._request(state, instructions, criteria)
        if isinstance(request, ProviderError):
            raise request
        trial = self._breaker.enter()
        try:
            outcome = await self._outcome(request, until, on_late, trial)
        except BaseException:  # cancelled, or no client could be made: no verdict on the provider
            self._breaker.leave(trial=trial)
            raise
        if outcome.error is not None:
            wait = outcome.error.retry_after if outcome.error.kind == "rate_limited" else None
            if outcome.verdict:
                self._breaker.fail(outcome.error.kind, open_for=wait, trial=trial)
            else:
                self._breaker.leave(trial=trial)
            raise outcome.error
        assert outcome.answer is not None
        self._breaker.succeed()
        return replace(outcome.answer, latency_ms=(self._clock() - started) * 1e3)

    async def prewarm(self) -> None:
        """Open a connection, without the key; whatever happens is nobody's trouble."""
        origin = "{0.scheme}://{0.netloc}/".format(urlsplit(self.config.url))
        try:
            async with asyncio.timeout(self.config.timeout_seconds):
                with self._connection().client() as client:
                    await client.head(origin)
        except Exception as error:
            log.debug("%s: prewarm: %s", self.name, type(error).__name__)

    async def aclose(self) -> None:
        """As in ``DecisionProvider``: of the running event loop. A later call opens them anew."""
        connected = self._connected.pop(asyncio.get_running_loop(), None)
        if connected is not None:
            await connected.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def _request(
        self, state: str | Mapping[str, Any], instructions: str, criteria: Mapping[str, str | None]
    ) -> Request | ProviderError:
        """The error is given without its traceback, whose local variables hold the key."""
        try:
            return self._checked(state, instructions, criteria)
        except ProviderError as error:
            return error.with_traceback(None)

    def _checked(
        self, state: str | Mapping[str, Any], instructions: str, criteria: Mapping[str, str | None]
    ) -> Request:
        key = read_key(self.config.api_key_env, self.name)
        if not 2 <= len(criteria) <= MOST_OPTIONS:
            message = f"criteria: got {len(criteria)} options, wanted 2 to {MOST_OPTIONS}"
            raise failure("bad_request", message, self.name)
        content = None
        with contextlib.suppress(TypeError, ValueError, RecursionError):
            content = self._dialect.body(self.config.model, state, instructions, criteria)
        if content is None:
            raise failure("bad_request", "state: wanted text or a JSON object", self.name)
        refuse_secrets(content, key, self.name)
        headers = self._dialect.headers(key, self.config.app_url, self.config.app_title)
        return Request(self._dialect, self.config.url, headers, content, criteria, key)

    async def _outcome(
        self, request: Request, until: float, on_late: LateAnswer | None, trial: bool
    ) -> Outcome:
        """What came within the time, or a timeout."""
        connected = self._connection()
        if connected.waiting >= WAITING:
            message = f"{connected.waiting} calls wait already"
            return Outcome(error=failure("saturated", message, self.name), verdict=False)
        late = Outcome(error=failure("timeout", "no answer within the deadline", self.name))
        if not await connected.enter(until, self._clock):
            return replace(late, verdict=False)
        try:
            connected.check(self.name)
            if not trial:
                self._breaker.check()  # it may have opened since this call began to wait
        except ProviderError:
            connected.leave()
            raise
        task = asyncio.create_task(self._attempts(connected, request, until))
        connected.keep(task)
        try:
            done, _ = await asyncio.wait({task}, timeout=max(until - self._clock(), 0.0))
        except asyncio.CancelledError:
            task.cancel()
            raise
        if task.cancelled():
            connected.check(self.name)
        if done:
            return task.result()
        if on_late is None or not connected.follow(task, on_late):
            task.cancel()
        return late

    async def _attempts(self, connected: Connections, request: Request, until: float) -> Outcome:
        """One exchange, and another one where that may help and fits into what is left."""
        async with asyncio.timeout(until - self._clock() + LATE_SECONDS):
            outcome = await self._exchange(connected, request)
            for _ in range(self.config.retries):
                if outcome.retry_after is None:
                    break
                pause = outcome.retry_after or BACKOFF_SECONDS
                if self._clock() + pause + self._usual_latency() > until:
                    break
                await asyncio.sleep(pause)
                outcome = await self._exchange(connected, request)
            return outcome

    async def _exchange(self, connected: Connections, request: Request) -> Outcome:
        self.requests_made += 1
        started = self._clock()
        with connected.client() as client:
            outcome = await exchange(client, request)
        if outcome.answer is not None:
            self._latencies.append(self._clock() - started)
        return outcome

    def _usual_latency(self) -> float:
        return statistics.median(self._latencies) if self._latencies else 0.0

    def _connection(self) -> Connections:
        loop = asyncio.get_running_loop()
        connected = self._connected.get(loop)
        if connected is None:
            for other in list(self._connected):
                if other.is_closed():
                    self._connected.pop(other, None)
            connected = self._connected[loop] = Connections(self._client)
        return connected

    def _client(self) -> httpx.AsyncClient:
        host = urlsplit(self.config.url).hostname
        try:
            return httpx.AsyncClient(
                transport=self._transport,
                timeout=None,  # each phase would have its own; the deadline is one for all
                limits=httpx.Limits(max_connections=PER_POOL, keepalive_expiry=60.0),
                follow_redirects=False,
                trust_env=host not in ("127.0.0.1", "::1", "localhost"),  # no proxy to ourselves
                cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),  # keeps none
            )
        except (ImportError, OSError, TypeError, ValueError, httpx.InvalidURL) as error:
            fault = type(error).__name__  # its text may hold a proxy's password
        message = f"no client could be made ({fault}): see the variables of proxy and certificates"
        raise failure("connection", message, self.name)


class OpenRouterJevProvider(JevProvider):
    """Jev through OpenRouter's Decisions API."""

    config_type = OpenRouterConfig


class TypeSafeJevProvider(JevProvider):
    """Jev at TypeSafe itself."""

    config_type = TypeSafeConfig
