"""``HarnessRunner``: a loop that the router owns: choose, ask whether it may, run, look again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from router.errors import RouterError
from router.models import HarnessState, RouteDecision, ToolDescriptor
from router.policy import DefaultExecutionPolicy, ExecutionPolicy
from router.session import RoutingSession

__all__ = [
    "HarnessAdapter",
    "HarnessAdapterError",
    "HarnessRunner",
    "HarnessToolCall",
    "HarnessToolResult",
    "UnexpectedToolSelection",
]

OUTCOME_CHARACTERS: Final = 512


class HarnessAdapterError(RouterError):
    """An adapter broke its contract."""


class UnexpectedToolSelection(HarnessAdapterError):  # noqa: N818 (its public name)
    """An adapter wrote a call of another tool than the chosen one; nothing was run."""


@dataclass(frozen=True, slots=True)
class HarnessToolCall:
    """A call that a model wrote for the chosen tool."""

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class HarnessToolResult:
    """What came of a call.

    Attributes:
        observation: in words, for the next decision.
        raw: the result of the run if ``done``.
        done: whether the goal is reached.
        result_class: kind of result, e.g. "ok" or "error"; loops are told by it.
    """

    observation: str
    raw: Any = None
    done: bool = False
    result_class: str | None = None


class HarnessAdapter(Protocol):
    """The host's side of the loop. Its own permissions and sandbox hold in ``execute_tool``."""

    name: str

    async def get_tools(self) -> Sequence[ToolDescriptor]:
        """What is on offer now."""

    async def generate_tool_call(
        self, state: HarnessState, tool: ToolDescriptor
    ) -> HarnessToolCall:
        """Have the model write the arguments of ``tool``, and of no other."""

    async def execute_tool(self, call: HarnessToolCall, tool: ToolDescriptor) -> HarnessToolResult:
        """Run that very call."""

    async def planner_fallback(self, state: HarnessState, tools: Sequence[ToolDescriptor]) -> Any:
        """Go on without the router; what it returns is the result of the run."""

    async def close(self) -> None:
        """Release what the adapter holds."""


class HarnessRunner:
    """Runs a goal: the router chooses, the policy permits, the adapter acts.

    Wherever one of them does not, the adapter's planner goes on: an abstention, a tool that is
    not allowed, and a tool that is gone when it is about to run.

    Args:
        routing: the session that decides.
        adapter: the host's side.
        execution_policy: says what may run; None: ``DefaultExecutionPolicy``.

    Attributes:
        last_decision: the newest decision, also while the planner is asked; None before the first.
        stopped_by: why the planner was asked: the reason of the abstention, "not_allowed",
            "stale_tool", "router_error" or "no_tools"; None if it was not.
    """

    def __init__(
        self,
        routing: RoutingSession,
        adapter: HarnessAdapter,
        *,
        execution_policy: ExecutionPolicy | None = None,
    ) -> None:
        self._routing = routing
        self._adapter = adapter
        self._policy = execution_policy or DefaultExecutionPolicy()
        self.last_decision: RouteDecision | None = None
        self.stopped_by: str | None = None

    async def run(self, goal: str, *, constraints: Sequence[str] = ()) -> Any:
        """The result of the run.

        Raises:
            UnexpectedToolSelection: the adapter's call names another tool than was chosen.
            Exception: what the adapter raises. The router's errors hand over to the planner.
        """
        self.last_decision, self.stopped_by = None, None
        state = self._routing.state(goal, constraints=constraints)
        try:
            while True:
                tools = await self._adapter.get_tools()
                tool = await self._chosen(state, tools)
                if tool is None:
                    return await self._adapter.planner_fallback(state, tools)
                call = await self._adapter.generate_tool_call(state, tool)
                if call.tool != tool.name:
                    raise UnexpectedToolSelection(
                        f"{self._adapter.name}: got a call of {call.tool!r}, wanted {tool.name!r}"
                    )
                # Writing arguments takes a model's time: what was on offer may be gone by now.
                tools = await self._adapter.get_tools()
                if tool not in tools:
                    self.stopped_by = "stale_tool"
                    return await self._adapter.planner_fallback(state, tools)
                result = await self._adapter.execute_tool(call, tool)
                self._routing.record_execution(
                    call.tool,
                    arguments=call.arguments,
                    result_class=result.result_class,
                    outcome=result.observation[:OUTCOME_CHARACTERS],
                )
                if result.done:
                    return result.raw
                state = self._routing.state(goal, result.observation, constraints)
        finally:
            await self._adapter.close()

    async def _chosen(
        self, state: HarnessState, tools: Sequence[ToolDescriptor]
    ) -> ToolDescriptor | None:
        """The tool that is chosen and may run; None: the planner goes on."""
        if not tools:
            self.stopped_by = "no_tools"
            return None
        try:
            decision = await self._routing.route(state, tools)
        except RouterError:
            self.last_decision = RouteDecision.fallback_to_planner("router_error")
            self.stopped_by = "router_error"
            return None
        self.last_decision = decision
        tool = next((tool for tool in tools if tool.name == decision.tool), None)
        if decision.fallback or tool is None:
            self.stopped_by = decision.fallback_reason or "stale_tool"
            return None
        if not await self._policy.allow(decision, tool):
            self.stopped_by = "not_allowed"
            return None
        return tool
