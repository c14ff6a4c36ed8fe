"""The wire format of a simulation graph: its models, how it is read and checked, and compiled.

A graph provider prints one as JSON and the MCP tool takes one. It lists states, the tools on
offer in each and what they lead to; several transitions of one (state, tool) are a distribution.

    read_graph, graph_from_mapping -> SimulationGraph -> compile_graph -> TabularModel
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Annotated, Any, Final, Literal

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, FailFast, Field

from mcts_core.config import MAX_SEED, check_int
from simulators.checks import LARGEST
from simulators.graph_json import (
    Document,
    GraphError,
    Problem,
    collector_paused,
    first_error,
    parse,
    shown,
    some_of,
    validated,
)
from simulators.tabular import TabularModel

__all__ = [
    "MISSING_TRANSITION_REWARD",
    "CompiledGraph",
    "GraphError",
    "GraphLimits",
    "GraphState",
    "GraphTool",
    "GraphTransition",
    "SimulationGraph",
    "compile_graph",
    "graph_from_mapping",
    "read_graph",
]

MISSING_TRANSITION_REWARD: Final = -1.0  # of a tool without a transition: it ends the task
SUM_TOLERANCE: Final = 1e-6  # how far the probabilities of one (state, tool) may sum from 1

Magnitude = Annotated[float, Field(ge=-LARGEST, le=LARGEST)]


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, extra="forbid", allow_inf_nan=False)


class GraphTool(_Part):
    """A tool on offer in a state."""

    name: str = Field(min_length=1, description="Name of the tool, unique in its state.")
    description: str = Field(description="What the tool does, in one or two sentences.")
    category: str | None = Field(default=None, description="Group of tools it belongs to.")
    risk: Literal["low", "medium", "high", "critical"] = Field(
        default="medium", description="What a wrong call may cost."
    )


class GraphState(_Part):
    """A situation in which one of the tools is to be chosen."""

    id: str = Field(min_length=1, description="Name of the state, unique in the graph.")
    goal: str = Field(description="What is to be achieved, as known in this state.")
    observation: str | None = Field(default=None, description="What was last seen.")
    last_action: str | None = Field(default=None, description="What was last done.")
    value: Magnitude = Field(
        default=0.0, description="Estimated return from here on, used where the search ends."
    )
    tools: Annotated[list[GraphTool], FailFast()] = Field(
        description="Tools on offer here, in the order to be kept; empty where nothing follows. "
        "A tool without a transition ends the task with reward -1."
    )


class GraphTransition(_Part):
    """One thing that calling a tool in a state may lead to."""

    from_state: str = Field(description="Id of the state in which the tool is called.")
    tool: str = Field(description="Name of the tool, one that from_state offers.")
    to_state: str = Field(description="Id of the state that follows.")
    reward: Magnitude = Field(default=0.0, description="Reward of this step, on any scale.")
    terminal: bool = Field(default=False, description="Whether the task ends with this step.")
    probability: float = Field(
        default=1.0,
        gt=0.0,
        le=1.0,
        description="Chance of this outcome; those of one (from_state, tool) sum to 1.",
    )


class SimulationGraph(_Part):
    """A finite world of states, tools and what they lead to, with optional search settings."""

    root_state: str = Field(description="Id of the state in which the search starts.")
    states: Annotated[list[GraphState], FailFast()] = Field(
        description="All states, at least one.", json_schema_extra={"minItems": 1}
    )
    transitions: Annotated[list[GraphTransition], FailFast()] = Field(
        description="What the tools lead to. Several for one (from_state, tool) are a "
        "distribution over outcomes."
    )
    simulations: int | None = Field(
        default=None, ge=1, le=1_000_000, description="Search budget, in simulations."
    )
    max_depth: int | None = Field(
        default=None, ge=1, le=10_000, description="Horizon, in actions from the root."
    )
    discount: float | None = Field(
        default=None, ge=0.0, le=1.0, description="Factor per step on what follows."
    )
    use_jev_prior: bool | None = Field(
        default=None, description="Whether the selector's probabilities guide the search."
    )
    seed: int | None = Field(
        default=None, ge=0, le=MAX_SEED, description="Same graph and seed: same result."
    )
    time_limit_ms: float | None = Field(
        default=None, gt=0.0, le=LARGEST, description="Search budget, in milliseconds."
    )


_LISTS: Final[dict[type[BaseModel], dict[str, type[BaseModel]]]] = {
    SimulationGraph: {"states": GraphState, "transitions": GraphTransition},
    GraphState: {"tools": GraphTool},
}


@dataclass(frozen=True, slots=True)
class GraphLimits:
    """How large a graph that comes from a prompt may be.

    Attributes:
        states: number of states at most, 1 to 2**31 - 2.
        transitions: number of transitions at most, 1 to 2**31 - 2.
    """

    states: int = 256
    transitions: int = 1024

    def __post_init__(self) -> None:
        check_int("states", self.states, 1, 2**31 - 2)
        check_int("transitions", self.transitions, 1, 2**31 - 2)


@collector_paused()
def read_graph(data: bytes | str, *, limits: GraphLimits | None = None) -> SimulationGraph:
    """Read a graph from JSON (UTF-8, a byte order mark is skipped) and check it.

    The first problem in document order is reported: of the JSON syntax, else of the limits,
    else of keys and types, else of what refers to what.

    Raises:
        GraphError: whatever is wrong with the document, in one line.
    """
    return _checked(parse(data), limits)


@collector_paused()
def graph_from_mapping(
    obj: Mapping[str, object], *, limits: GraphLimits | None = None
) -> SimulationGraph:
    """Build a graph from decoded JSON (dicts, lists, scalars) and check it as ``read_graph``.

    Raises:
        GraphError: whatever is wrong with it, in one line.
    """
    value = dict(obj) if isinstance(obj, Mapping) else obj
    return _checked(Document(value, repeats=False), limits)


def _checked(document: Document, limits: GraphLimits | None) -> SimulationGraph:
    if limits is not None:
        _check_limits(document.value, limits)
    graph = validated(SimulationGraph, document, _LISTS)
    problems = _Links(graph).problems
    if problems:
        raise first_error(problems, document.value)
    return graph


def _check_limits(value: object, limits: GraphLimits) -> None:
    for key in ("states", "transitions") if isinstance(value, dict) else ():
        items, limit = value.get(key), getattr(limits, key)  # type: ignore[attr-defined]
        if isinstance(items, list) and len(items) > limit:
            text = f"got {len(items)} {key}, wanted at most {limit}"
            raise GraphError(key, text)


class _Links:
    """The names of a graph resolved to numbers, and what is wrong with them.

    S states, C choices (state and tool, in document order), T transitions.

    Attributes:
        index: number of each state id.
        offered: for each state id, tool name -> number of the choice.
        offsets: [S+1] first choice of each state.
        choice, target: [T] choice and next state of each transition, -1 if unknown.
        probability: [T] as given.
        sums: [C] sum of the probabilities of each choice; 0 if it has no transition.
        problems: in no particular order; while there are any, the arrays are not to be used.
    """

    def __init__(self, graph: SimulationGraph) -> None:
        self.graph = graph
        self.index: dict[str, int] = {}
        self.offered: dict[str, dict[str, int]] = {}
        self.offsets = [0, *accumulate(len(state.tools) for state in graph.states)]
        for number, state in enumerate(graph.states):
            choices = enumerate(state.tools, self.offsets[number])
            self.index.setdefault(state.id, number)
            self.offered.setdefault(state.id, {tool.name: choice for choice, tool in choices})
        moves, nothing = graph.transitions, dict[str, int]()
        chosen = (self.offered.get(m.from_state, nothing).get(m.tool, -1) for m in moves)
        self.choice = np.fromiter(chosen, np.int64)
        self.target = np.fromiter((self.index.get(m.to_state, -1) for m in moves), np.int64)
        known = self.choice >= 0
        self.probability = np.fromiter((m.probability for m in moves), np.float64)
        self.sums = np.bincount(
            self.choice[known], self.probability[known], minlength=self.offsets[-1]
        )
        self.problems = [*self._of_states(), *self._of_transitions(), *self._of_sums()]

    def _of_states(self) -> Iterator[Problem]:
        states = self.graph.states
        if not states:
            yield Problem(("states",), "got an empty array, wanted at least one state")
        elif self.graph.root_state not in self.index:
            yield Problem(("root_state",), self._unknown_state(self.graph.root_state))
        for number, state in enumerate(states):
            first = self.index[state.id]
            if first != number:
                text = f"duplicate of states[{first}].id {shown(state.id)}, wanted unique ids"
                yield Problem(("states", number, "id"), text)
            yield from self._of_tools(number, state)

    def _of_tools(self, number: int, state: GraphState) -> Iterator[Problem]:
        seen: dict[str, int] = {}
        for k, tool in enumerate(state.tools):
            place = ("states", number, "tools", k, "name")
            first = seen.setdefault(tool.name, k)
            if first != k:
                earlier = f"states[{number}].tools[{first}].name {shown(tool.name)}"
                yield Problem(place, f"duplicate of {earlier}, wanted unique names")
            if not tool.name.strip():
                yield Problem(place, f"got {shown(tool.name)}, wanted a name that is not blank")

    def _of_transitions(self) -> Iterator[Problem]:
        for number in np.flatnonzero((self.choice < 0) | (self.target < 0)).tolist():
            move = self.graph.transitions[number]
            for key, name in (("from_state", move.from_state), ("to_state", move.to_state)):
                if name not in self.index:
                    yield Problem(("transitions", number, key), self._unknown_state(name))
            offered = self.offered.get(move.from_state)
            if offered is not None and move.tool not in offered:
                got = f"got {shown(move.tool)}, not offered by {shown(move.from_state, 30)}"
                yield Problem(("transitions", number, "tool"), f"{got}, wanted {some_of(offered)}")

    def _of_sums(self) -> Iterator[Problem]:
        known = np.flatnonzero(self.choice >= 0)
        choices, firsts, counts = np.unique(
            self.choice[known], return_index=True, return_counts=True
        )
        for k in np.flatnonzero(np.abs(self.sums[choices] - 1.0) > SUM_TOLERANCE).tolist():
            number = int(known[firsts[k]])
            move = self.graph.transitions[number]
            pair = f"state {shown(move.from_state, 30)} and tool {shown(move.tool, 30)}"
            over = f"{counts[k]} transition{'' if counts[k] == 1 else 's'} of {pair}"
            text = f"got a sum of {self.sums[choices[k]]:.12g} over {over}, wanted 1"
            yield Problem(("transitions", number, "probability"), text)

    def _unknown_state(self, name: str) -> str:
        return f"unknown state {shown(name)}, wanted {some_of(self.index)}"


@dataclass(frozen=True, slots=True)
class CompiledGraph:
    """A graph as arrays, and the names that belong to its numbers. S states.

    Attributes:
        model: the explicit model; state s is ``states[s]``, its actions are its tools in order.
        root: number of the root state, 0 to S-1.
        state_ids: [S] ids in document order.
        tools: [S] the tools that each state offers, in document order.
        dead_tools: (state id, tool name) of the tools without a transition: each leads back to
            its own state, terminal, with reward ``MISSING_TRANSITION_REWARD``.
    """

    model: TabularModel
    root: int
    state_ids: tuple[str, ...]
    tools: tuple[tuple[GraphTool, ...], ...]
    dead_tools: tuple[tuple[str, str], ...]


@collector_paused()
def compile_graph(graph: SimulationGraph) -> CompiledGraph:
    """Turn a graph into an explicit model.

    Outcomes keep document order and are not merged; the probabilities of one choice are divided
    by their sum.

    Raises:
        GraphError: a graph built by hand names what it does not have.
    """
    links = _Links(graph)
    if links.problems:
        raise first_error(links.problems, dict.fromkeys(SimulationGraph.model_fields))
    states, moves = graph.states, graph.transitions
    dead = np.flatnonzero(links.sums == 0.0)  # choices without a transition
    choice = np.concatenate([links.choice, dead])
    owner = np.repeat(np.arange(len(states)), np.diff(links.offsets))[dead]
    order = np.argsort(choice, kind="stable")

    def column(of_moves: npt.ArrayLike, of_dead: npt.ArrayLike, kind: type) -> npt.NDArray[Any]:
        return np.append(of_moves, np.broadcast_to(of_dead, len(dead)))[order].astype(kind)

    outcome_counts = np.bincount(choice, minlength=links.offsets[-1])
    model = TabularModel(
        np.array(links.offsets, np.int32),
        np.append(0, np.cumsum(outcome_counts)).astype(np.int32),
        column(links.target, owner, np.int32),
        column([m.reward for m in moves], MISSING_TRANSITION_REWARD, np.float64),
        probability=column(links.probability / links.sums[links.choice], 1.0, np.float64),
        terminal=column([m.terminal for m in moves], 1, np.uint8),
        value=np.array([state.value for state in states], np.float64),
        labels=[tool.name for state in states for tool in state.tools],
    )
    names = [(state.id, tool.name) for state in states for tool in state.tools]
    return CompiledGraph(
        model=model,
        root=links.index[graph.root_state],
        state_ids=tuple(state.id for state in states),
        tools=tuple(tuple(state.tools) for state in states),
        dead_tools=tuple(names[choice] for choice in dead.tolist()),
    )
