"""What the router adds to a provider's call: bare httpx, our client and the whole route, side by
side against the same service on loopback, in a process of its own."""

import asyncio
import multiprocessing
from collections.abc import Awaitable, Callable, Iterator
from multiprocessing.connection import Connection
from typing import Any

import httpx
import pytest

from router.config import OpenRouterConfig, RoutingConfig
from router.models import HarnessState, ToolDescriptor
from router.providers import JevProvider
from router.providers.dialects import dialect_named
from router.selectors.question import tool_question
from router.tool_router import JevToolRouter
from tests.router.providers.decision_server import KEY, answering, running

STATE = HarnessState("Fix the failing parser test", "Failure points to src/parser.py")
TOOLS = [
    ToolDescriptor(f"tool_{i}", f"Does the {i}th thing to a file", "inspect") for i in range(10)
]
CONFIG = RoutingConfig(route_cache_size=0)
GROUP = "one decision of a provider on loopback, 10 tools"


def _serve(pipe: Connection) -> None:
    async def run() -> None:
        async with running(answering("tool_3")) as server:
            pipe.send(server.url)
            await asyncio.get_running_loop().run_in_executor(None, pipe.recv)

    asyncio.run(run())


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """The address of a service that answers at once."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.Process(target=_serve, args=(theirs,), daemon=True)
    process.start()
    yield ours.recv()
    ours.send("end")
    process.join(10)


@pytest.fixture
def loop(monkeypatch: pytest.MonkeyPatch) -> Iterator[asyncio.AbstractEventLoop]:
    """An event loop, with the key set."""
    monkeypatch.setenv("OPENROUTER_API_KEY", KEY)
    loop = asyncio.new_event_loop()
    yield loop
    loop.close()


def measured(
    benchmark: Any, loop: asyncio.AbstractEventLoop, call: Callable[[], Awaitable[Any]]
) -> Any:
    benchmark.group = GROUP

    async def once() -> Any:
        return await call()

    return benchmark.pedantic(
        lambda: loop.run_until_complete(once()), rounds=1500, warmup_rounds=50
    )


def test_bare_httpx(benchmark: Any, loop: asyncio.AbstractEventLoop, url: str) -> None:
    client = httpx.AsyncClient(timeout=None)
    dialect = dialect_named("openrouter")
    question = tool_question(TOOLS, CONFIG)
    body = dialect.body("m", {"goal": STATE.goal}, question.instructions, question.criteria)
    headers = dialect.headers(KEY, None, None)

    async def call() -> Any:
        return (await client.post(url, content=body, headers=headers)).json()

    assert measured(benchmark, loop, call)["answers"]
    loop.run_until_complete(client.aclose())


def test_client(benchmark: Any, loop: asyncio.AbstractEventLoop, url: str) -> None:
    provider = JevProvider(OpenRouterConfig(url=url))
    question = tool_question(TOOLS, CONFIG)

    async def call() -> Any:
        return await provider.choose(
            state={"goal": STATE.goal},
            instructions=question.instructions,
            criteria=question.criteria,
        )

    assert measured(benchmark, loop, call).choice == "tool_3"
    loop.run_until_complete(provider.aclose())


def test_whole_route(benchmark: Any, loop: asyncio.AbstractEventLoop, url: str) -> None:
    provider = JevProvider(OpenRouterConfig(url=url))
    router = JevToolRouter(provider, CONFIG)

    async def call() -> Any:
        return await router.route(STATE, TOOLS)

    assert measured(benchmark, loop, call).source == "jev"
    loop.run_until_complete(provider.aclose())
