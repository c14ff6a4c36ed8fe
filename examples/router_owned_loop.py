"""A loop that the router owns: it mends a bug in a small project, without a key or a network.

    python examples/router_owned_loop.py

The router chooses each tool, the policy says whether it may run, and the tools really run, inside
of a temporary folder. One thing is played: the model that writes a call's arguments is a few lines
of this file (``Writer``); in a real harness that is your language model.
"""

import asyncio
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness_router import (
    DefaultExecutionPolicy,
    HarnessRunner,
    HarnessState,
    HarnessToolCall,
    HarnessToolResult,
    JevToolRouter,
    RiskLevel,
    RouteDecision,
    RoutingConfig,
    RoutingSession,
    ToolDescriptor,
)

GOAL = "Make the failing test of the shop pass"

TOOLS = (
    ToolDescriptor("list_files", "List the files of the project", "inspect", RiskLevel.LOW),
    ToolDescriptor("search_text", "Search the files for a text", "inspect", RiskLevel.LOW),
    ToolDescriptor("read_file", "Read a file", "inspect", RiskLevel.LOW),
    ToolDescriptor("edit_file", "Change a text in a file", "mutate", RiskLevel.MEDIUM),
    ToolDescriptor("run_tests", "Run the test of the project", "verify", RiskLevel.LOW),
    ToolDescriptor("delete_file", "Delete a file", "mutate", RiskLevel.HIGH),
)

PROJECT = {
    "shop.py": "def total(prices):\n    return sum(prices[1:])\n",
    "test_shop.py": "from shop import total\n\nassert total([1, 2, 3]) == 6, 'total is wrong'\n",
}


class Writer:
    """Plays the model that writes arguments: it looks for a file's name in what was seen."""

    def arguments(self, state: HarnessState, tool: ToolDescriptor) -> dict[str, str]:
        """The arguments of the next call of ``tool``."""
        seen = [state.observation or "", *(a.outcome for a in reversed(state.recent_actions))]
        named = [name for text in seen for name in re.findall(r"\w+\.py", text)]
        path = next((name for name in named if not name.startswith("test_")), "shop.py")
        return {
            "search_text": {"text": "total"},
            "read_file": {"path": path},
            "edit_file": {"path": path, "old": "prices[1:]", "new": "prices"},
            "delete_file": {"path": path},
        }.get(tool.name, {})


class Workshop:
    """The adapter: tools with real effects, in one folder."""

    name = "workshop"

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.writer = Writer()

    async def get_tools(self) -> Sequence[ToolDescriptor]:
        """All tools are on offer all the time."""
        return TOOLS

    async def generate_tool_call(
        self, state: HarnessState, tool: ToolDescriptor
    ) -> HarnessToolCall:
        """Have the arguments written, for this tool and no other."""
        return HarnessToolCall(tool.name, self.writer.arguments(state, tool))

    async def execute_tool(self, call: HarnessToolCall, tool: ToolDescriptor) -> HarnessToolResult:
        """Run the call; the goal is reached when the test passes."""
        print(f"  {call.tool}({', '.join(f'{k}={v!r}' for k, v in call.arguments.items())})")
        result = getattr(self, call.tool)(**call.arguments)
        print("   ->", result.observation.strip().replace("\n", "\n      "))
        return HarnessToolResult(
            result.observation, "the test passes", result.done, result.result_class
        )

    async def planner_fallback(self, state: HarnessState, tools: Sequence[ToolDescriptor]) -> str:
        """In a real harness the planner goes on here, as if there were no router."""
        return "the planner is asked"

    async def close(self) -> None:
        """Nothing to release."""

    def list_files(self) -> HarnessToolResult:
        """List the files."""
        return HarnessToolResult(", ".join(sorted(p.name for p in self.folder.iterdir())))

    def search_text(self, text: str) -> HarnessToolResult:
        """Find the files that hold a text."""
        found = [p.name for p in sorted(self.folder.glob("*.py")) if text in p.read_text()]
        return HarnessToolResult(f"{text!r} found in {', '.join(found)}")

    def read_file(self, path: str) -> HarnessToolResult:
        """Read a file."""
        return HarnessToolResult(f"{path}:\n{(self.folder / path).read_text()}")

    def edit_file(self, path: str, old: str, new: str) -> HarnessToolResult:
        """Replace a text."""
        text = (self.folder / path).read_text()
        if old not in text:
            return HarnessToolResult(f"{path}: {old!r} is not there", result_class="error")
        (self.folder / path).write_text(text.replace(old, new))
        return HarnessToolResult(f"edited {path}", result_class="ok")

    def run_tests(self) -> HarnessToolResult:
        """Run the test in a process of its own."""
        command = [sys.executable, "-B", "test_shop.py"]
        run = subprocess.run(
            command, cwd=self.folder, capture_output=True, text=True, check=False, timeout=60
        )
        if run.returncode == 0:
            return HarnessToolResult("1 passed", done=True, result_class="ok")
        last = run.stderr.strip().splitlines()[-1]
        return HarnessToolResult(f"1 failed: {last}; it tests shop.py", result_class="error")


class Watched(JevToolRouter):
    """The router, telling what it decides."""

    async def route(
        self, state: HarnessState, tools: Sequence[ToolDescriptor], **more: Any
    ) -> RouteDecision:
        """As ``JevToolRouter``."""
        decision = await super().route(state, tools, **more)
        print(f"{decision.tool or decision.fallback_reason}  {decision.confidence:.0%}")
        for line in decision.why[:1]:
            print(f"  because {line}")
        return decision


async def main() -> None:
    """Run the loop in a fresh copy of the project."""
    # An example may act on less certainty than an agent at work should.
    config = RoutingConfig(direct_execution_threshold=0.5, fallback_threshold=0.5)
    with tempfile.TemporaryDirectory() as folder:
        for name, text in PROJECT.items():
            (Path(folder) / name).write_text(text)
        session = RoutingSession(Watched(None, config), config)
        runner = HarnessRunner(
            session, Workshop(Path(folder)), execution_policy=DefaultExecutionPolicy()
        )
        result = await runner.run(GOAL)
    stopped = f" ({runner.stopped_by})" if runner.stopped_by else ""
    print(f"\n{result}{stopped} after {session.steps} decisions")


if __name__ == "__main__":
    asyncio.run(main())
