"""Routes while a provider fails in every way: does each end in time, without an exception?

    python -m experiments.route_faults [--json]

A decision service of our own on loopback, in a process of its own, is down, slow, refuses, says
garbage; then 10,000 routes are asked for at once while it is well and while it is dead. Reported:
routes, exceptions, the latest end over the deadline in ms, who decided, and why not the provider.
"""

import argparse
import asyncio
import json
import multiprocessing
import os
import sys
import time
from collections import Counter
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from router.config import OpenRouterConfig, RoutingConfig
from router.models import HarnessState, RouteDecision, ToolDescriptor
from router.providers import JevProvider
from router.tool_router import RESERVE_SECONDS, JevToolRouter
from tests.router.providers import decision_server as service

TIMEOUT = 1.0
TOOLS = [
    ToolDescriptor("read_file", "Read a file of the repository", "inspect"),
    ToolDescriptor("search_code", "Search the source for text", "inspect"),
    ToolDescriptor("edit_file", "Change text in a file", "mutate"),
    ToolDescriptor("run_tests", "Run the tests", "verify"),
    ToolDescriptor("web_search", "Search the web", "network"),
]
OPTIONS = [*(tool.name for tool in TOOLS), "none_of_these"]
NAN = {name: float("nan") for name in OPTIONS}

FAULTS: dict[str, tuple[Callable[[], service.Behaviour], int]] = {
    "well": (service.answering, 200),
    "slow": (lambda: service.silent, 200),
    "one byte at a time": (lambda: service.endless, 200),
    "500": (lambda: service.saying(500, b"{}"), 200),
    "429, come back in an hour": (lambda: service.saying(429, b"{}", retry_after="3600"), 200),
    "401": (lambda: service.saying(401, b"{}"), 200),
    "redirect": (lambda: service.saying(307, b"", location="http://127.0.0.1:9/"), 200),
    "garbage": (lambda: service.saying(200, b"<html>"), 200),
    "cut off": (lambda: service.cut_off, 200),
    "resets": (lambda: service.reset, 200),
    "wrong option": (lambda: service.answering("format_disk"), 200),
    "NaN": (lambda: service.answering(None, 0.9, probabilities=NAN), 200),
    "empty probabilities": (lambda: service.answering(None, 0.9, probabilities={}), 200),
    "well, 10,000 at once": (service.answering, 10_000),
    "dead, 10,000 at once": (lambda: service.silent, 10_000),
}


def serve(pipe: Connection, fault: str) -> None:
    """Run the service until told to end."""

    async def run() -> None:
        async with service.running(FAULTS[fault][0]()) as server:
            pipe.send(server.url)
            await asyncio.get_running_loop().run_in_executor(None, pipe.recv)

    asyncio.run(run())


async def routes(url: str, count: int) -> list[tuple[float, RouteDecision | Exception]]:
    """Seconds from call to end and what came of each of ``count`` routes at once."""
    async with JevProvider(OpenRouterConfig(url=url, timeout_seconds=TIMEOUT)) as provider:
        router = JevToolRouter(provider, RoutingConfig(route_cache_size=0))
        await JevToolRouter().route(HarnessState("warm up"), TOOLS)

        async def one(i: int) -> tuple[float, RouteDecision | Exception]:
            state = HarnessState(f"Make test {i} pass", f"test {i} failed in src/part_{i}.py")
            started = time.perf_counter()
            try:
                found: RouteDecision | Exception = await router.route(state, TOOLS)
            except Exception as error:  # what this experiment is to show does not happen
                found = error
            return time.perf_counter() - started, found

        return await asyncio.gather(*(one(i) for i in range(count)))


def row_of(fault: str) -> dict[str, Any]:
    """One line of the table."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.Process(target=serve, args=(theirs, fault), daemon=True)
    process.start()
    url = ours.recv()
    found = asyncio.run(routes(url, FAULTS[fault][1]))
    ours.send("end")
    process.join(10)
    process.kill()
    decisions = [decision for _, decision in found if isinstance(decision, RouteDecision)]
    latest = max(seconds for seconds, _ in found)
    return {
        "fault": fault,
        "routes": len(found),
        "exceptions": len(found) - len(decisions),
        "p50_ms": sorted(seconds for seconds, _ in found)[len(found) // 2] * 1e3,
        "max_ms": latest * 1e3,
        "over_deadline_ms": max(latest - TIMEOUT - RESERVE_SECONDS, 0.0) * 1e3,
        "sources": dict(Counter(decision.source for decision in decisions)),
        "kinds": dict(Counter(str(decision.provider_error or "-") for decision in decisions)),
        "without_reason": sum(d.fallback and not d.fallback_reason for d in decisions),
    }


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="print one JSON list")
    asked = parser.parse_args()
    os.environ["OPENROUTER_API_KEY"] = service.KEY
    rows = []
    for fault in FAULTS:
        print(fault, file=sys.stderr)
        rows.append(row_of(fault))
    if asked.json:
        print(json.dumps(rows, indent=1))
        return
    print("| fault | routes | exceptions | p50 ms | max ms | over | who decided | provider |")
    print("|---|---:|---:|---:|---:|---:|---|---|")
    for row in rows:
        who, kinds = (
            ", ".join(f"{name} {count}" for name, count in row[key].items())
            for key in ("sources", "kinds")
        )
        print(
            f"| {row['fault']} | {row['routes']:,} | {row['exceptions']} | {row['p50_ms']:.1f} "
            f"| {row['max_ms']:.0f} | {row['over_deadline_ms']:.0f} | {who} | {kinds} |"
        )


if __name__ == "__main__":
    main()
