"""The two kinds of world that ``MCTSToolRouter`` looks ahead in, brought to one shape."""

import inspect
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol

from mcts_core.native import SimulatorHandle
from mcts_core.simulator import SimulatedStep
from router.catalog.checks import check_tools
from router.models import HarnessState, RiskLevel, ToolDescriptor
from router.prior import Prior
from simulators.graph import CompiledGraph, GraphState, GraphTool
from simulators.python import PythonSimulator

__all__ = ["EnvironmentWorld", "GraphWorld", "SearchEnvironment", "World"]

AskPrior = Callable[[HarnessState, Sequence[ToolDescriptor]], Awaitable[Prior]]


class SearchEnvironment(Protocol):
    """A side-effect-free model of the harness. Each method may be async."""

    def tools(
        self, state: HarnessState
    ) -> Sequence[ToolDescriptor] | Awaitable[Sequence[ToolDescriptor]]:
        """The tools on offer at ``state``; empty where nothing can be done."""

    def transition(
        self, state: HarnessState, tool: ToolDescriptor
    ) -> SimulatedStep[HarnessState] | Awaitable[SimulatedStep[HarnessState]]:
        """What running ``tool`` would lead to; the same for the same arguments."""

    def evaluate(self, state: HarnessState) -> float | Awaitable[float]:
        """Estimate of the return from ``state`` on; finite."""


class World(Protocol):
    """What a search by the router needs: something to search, and its root."""

    handle: SimulatorHandle
    root: object
    state: HarnessState
    tools: Sequence[ToolDescriptor]

    def tool_name(self, action: object) -> str:
        """The name of the tool behind an action of a search result."""

    def state_text(self, state: object) -> str:
        """A state of a search tree in words."""


class EnvironmentWorld:
    """A user's ``SearchEnvironment``, with the tools of the root fixed."""

    def __init__(
        self,
        environment: SearchEnvironment,
        state: HarnessState,
        tools: Sequence[ToolDescriptor],
        ask_prior: AskPrior | None,
    ) -> None:
        simulator = _EnvironmentSimulator(environment, state, tools)
        if ask_prior is not None:
            simulator = _EnvironmentSimulatorWithPrior(environment, state, tools, ask_prior)
        self.handle: SimulatorHandle = PythonSimulator(simulator)
        self.root: object = state
        self.state = state
        self.tools = tools

    def tool_name(self, action: object) -> str:
        """As ``World``."""
        assert isinstance(action, ToolDescriptor)
        return action.name

    def state_text(self, state: object) -> str:
        """As ``World``."""
        return getattr(state, "observation", None) or ""


class _EnvironmentSimulator:
    """A ``SearchEnvironment`` under the names of the engine's protocol."""

    def __init__(
        self, environment: SearchEnvironment, root: HarnessState, tools: Sequence[ToolDescriptor]
    ) -> None:
        self.environment = environment
        self.root = root
        self.root_tools = tuple(tools)

    async def actions(self, state: HarnessState) -> Sequence[ToolDescriptor]:
        if state is self.root:
            return self.root_tools
        tools = tuple(await settled(self.environment.tools(state)))
        check_tools(tools)
        return tools

    async def step(self, state: HarnessState, tool: ToolDescriptor) -> SimulatedStep[HarnessState]:
        step: SimulatedStep[HarnessState] = await settled(self.environment.transition(state, tool))
        return step

    async def evaluate(self, state: HarnessState) -> float:
        return float(await settled(self.environment.evaluate(state)))


class _EnvironmentSimulatorWithPrior(_EnvironmentSimulator):
    def __init__(
        self,
        environment: SearchEnvironment,
        root: HarnessState,
        tools: Sequence[ToolDescriptor],
        ask_prior: AskPrior,
    ) -> None:
        super().__init__(environment, root, tools)
        self.ask_prior = ask_prior

    async def priors(
        self, state: HarnessState, tools: Sequence[ToolDescriptor]
    ) -> list[float] | None:
        prior = await self.ask_prior(state, tools)
        return None if prior.weights is None else [prior.weights[tool.name] for tool in tools]


class GraphWorld:
    """A simulation graph, compiled: searched without the GIL, or solved exactly."""

    def __init__(self, compiled: CompiledGraph, states: Sequence[GraphState]) -> None:
        root = states[compiled.root]
        self.handle: SimulatorHandle = compiled.model
        self.model = compiled.model
        self.root: object = compiled.root
        self.states = states
        self.state = HarnessState(
            goal=root.goal, observation=root.observation, last_action=root.last_action
        )
        self.tools: Sequence[ToolDescriptor] = [_descriptor(tool) for tool in root.tools]
        self.states_values = any(state.value != 0.0 for state in states)
        self.dead_root_tools = {tool for state, tool in compiled.dead_tools if state == root.id}

    def tool_name(self, action: object) -> str:
        """As ``World``."""
        return str(action)

    def state_text(self, state: object) -> str:
        """As ``World``."""
        if not isinstance(state, int):
            return ""
        found = self.states[state]
        return f"{found.id}: {found.observation}" if found.observation else found.id


async def settled(answer: Any) -> Any:
    """The answer of a method that may be async."""
    return await answer if inspect.isawaitable(answer) else answer


def _descriptor(tool: GraphTool) -> ToolDescriptor:
    return ToolDescriptor(tool.name, tool.description, tool.category, RiskLevel(tool.risk))
