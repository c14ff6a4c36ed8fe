"""A decision service on loopback that speaks the wire format, and every way of breaking it."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

KEY = "sk-or-test-0123456789abcdef"


@dataclass(frozen=True, slots=True)
class Asked:
    """One request as the server saw it."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any

    @property
    def options(self) -> list[str]:
        (question,) = self.body["questions"].values()
        return list(question["criteria"])


@dataclass
class Wire:
    """The raw side of one connection, for behaviours that answer by hand."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def send(self, content: bytes) -> None:
        self.writer.write(content)
        await self.writer.drain()


Behaviour = Callable[[Asked, Wire], Awaitable[bool]]
"""Answers one request; False closes the connection."""


@dataclass
class DecisionServer:
    """Each request is given to ``behaviour``; what came is kept."""

    behaviour: Behaviour
    requests: list[Asked] = field(default_factory=list)
    connections: int = 0
    open: int = 0
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/api/alpha/decisions"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.open += 1
        try:
            while (asked := await _read(reader)) is not None:
                self.requests.append(asked)
                if not await self.behaviour(asked, Wire(reader, writer)):
                    break
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self.open -= 1
            writer.close()


async def _read(reader: asyncio.StreamReader) -> Asked | None:
    line = await reader.readline()
    if not line.strip():
        return None
    method, path, _ = line.decode().split(" ", 2)
    headers: dict[str, str] = {}
    while (line := await reader.readline()).strip():
        name, _, value = line.decode().partition(":")
        headers[name.strip().lower()] = value.strip()
    content = await reader.readexactly(int(headers.get("content-length", "0")))
    return Asked(method, path, headers, json.loads(content) if content else None)


@contextlib.asynccontextmanager
async def running(behaviour: Behaviour) -> AsyncIterator[DecisionServer]:
    """A server in this event loop, until the block ends."""
    served = DecisionServer(behaviour)
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        task.add_done_callback(tasks.discard)
        with contextlib.suppress(asyncio.CancelledError):  # asyncio would log the end of the test
            await served.serve(reader, writer)

    server = await asyncio.start_server(serve, "127.0.0.1", 0, backlog=4096)
    served.port = server.sockets[0].getsockname()[1]
    try:
        yield served
    finally:
        server.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await server.wait_closed()


def http(status: int, content: bytes, **headers: str) -> bytes:
    """A whole response."""
    lines = [f"HTTP/1.1 {status} Reason", "Content-Type: application/json"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    if "content_length" not in headers:
        lines.append(f"Content-Length: {len(content)}")
    return "\r\n".join([*lines, "", ""]).encode() + content


def decision(options: list[str], choice: str, share: float = 0.93, /, **changes: Any) -> bytes:
    """The body of a right answer, or with ``changes`` of a wrong one."""
    rest = (1.0 - share) / (len(options) - 1)
    answer: dict[str, Any] = {
        "type": "choice",
        "choice": choice,
        "confidence": round((len(options) * share - 1) / (len(options) - 1), 4),
        "probabilities": {label: share if label == choice else rest for label in reversed(options)},
    }
    answer |= changes
    answer = {name: value for name, value in answer.items() if value is not ...}
    return json.dumps(
        {
            "id": "gen-dec-1",
            "model": "typesafe/jev-1.13-20260917",
            "provider": "TypeSafe",
            "answers": {"next": answer},
            "usage": {"input_tokens": 388, "output_tokens": 57, "cost": 0.0000163},
        }
    ).encode()


def answering(choice: str | None = None, share: float = 0.93, /, **changes: Any) -> Behaviour:
    """Answers every question with ``choice``, or with its first option."""

    async def behave(asked: Asked, wire: Wire) -> bool:
        if asked.method == "HEAD":
            await wire.send(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
            return True
        content = decision(asked.options, choice or asked.options[0], share, **changes)
        await wire.send(http(200, content))
        return True

    return behave


def saying(status: int, content: bytes, **headers: str) -> Behaviour:
    """Says the same to everything."""

    async def behave(asked: Asked, wire: Wire) -> bool:
        await wire.send(http(status, content, **headers))
        return True

    return behave


def in_turn(*behaviours: Behaviour) -> Behaviour:
    """One behaviour for each request, the last one for ever."""
    count = 0

    async def behave(asked: Asked, wire: Wire) -> bool:
        nonlocal count
        count += 1
        return await behaviours[min(count, len(behaviours)) - 1](asked, wire)

    return behave


async def silent(asked: Asked, wire: Wire) -> bool:
    """Never answers, until the client hangs up."""
    await wire.reader.read(1)
    return False


async def reset(asked: Asked, wire: Wire) -> bool:
    """Hangs up without a word."""
    wire.writer.transport.abort()
    return False


async def cut_off(asked: Asked, wire: Wire) -> bool:
    """Promises more than it says."""
    content = decision(asked.options, asked.options[0])
    await wire.send(http(200, content[:40], content_length=str(len(content))))
    return False


async def endless(asked: Asked, wire: Wire) -> bool:
    """Says one byte after the other, for ever."""
    await wire.send(http(200, b"{", content_length="1000000"))
    while True:
        await asyncio.sleep(0.005)
        await wire.send(b" ")


async def huge(asked: Asked, wire: Wire) -> bool:
    """Says more than anybody wants to read."""
    await wire.send(http(200, b'{"x": "' + b"y" * (3 << 20) + b'"}'))
    return False


class Gate:
    """Answers only once it is opened."""

    def __init__(self, then: Behaviour) -> None:
        self.then = then
        self.opened = asyncio.Event()

    async def __call__(self, asked: Asked, wire: Wire) -> bool:
        await self.opened.wait()
        return await self.then(asked, wire)
