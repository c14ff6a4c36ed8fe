"""MCTSToolRouter decides under its public names, asks a policy once, says how it knows."""

import asyncio
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from harness_router import (
    HarnessState,
    MCTSConfig,
    MCTSResult,
    MCTSToolRouter,
    RiskLevel,
    RouteDecision,
    SimulatedStep,
    ToolDescriptor,
)
from mcts_core import ConfigError, ModelTooLargeError, SimulatorCallError
from router.errors import RouterError, ToolListError
from simulators.graph import SimulationGraph, graph_from_mapping, read_graph

EXAMPLES = Path(__file__).parents[2] / "examples"

EDIT = ToolDescriptor("edit", "Change code", "mutate", RiskLevel.MEDIUM)
READ = ToolDescriptor("read", "Read code", "inspect", RiskLevel.LOW)
TEST = ToolDescriptor("test", "Run the tests", "verify", RiskLevel.LOW)
START = HarnessState(goal="fix the test", observation="start")


class Agent:
    """Reading first makes the edit right; editing at once looks better for a step."""

    def tools(self, state: HarnessState) -> list[ToolDescriptor]:
        return [EDIT, READ] if state.last_action != "edit" else [TEST]

    def transition(self, state: HarnessState, tool: ToolDescriptor) -> SimulatedStep[HarnessState]:
        known = state.observation == "known" or tool.name == "read"
        after = HarnessState(state.goal, "known" if known else "blind", tool.name)
        if tool.name == "test":
            return SimulatedStep(after, 1.0 if known else -0.5, terminal=True)
        return SimulatedStep(after, 0.1 if tool.name == "edit" else -0.05)

    def evaluate(self, state: HarnessState) -> float:
        return 0.0


class AsyncAgent(Agent):
    """The same with coroutines that wait."""

    async def tools(self, state: HarnessState) -> list[ToolDescriptor]:  # type: ignore[override]
        await asyncio.sleep(0)
        return super().tools(state)

    async def transition(  # type: ignore[override]
        self, state: HarnessState, tool: ToolDescriptor
    ) -> SimulatedStep[HarnessState]:
        await asyncio.sleep(0)
        return super().transition(state, tool)

    async def evaluate(self, state: HarnessState) -> float:  # type: ignore[override]
        await asyncio.sleep(0)
        return super().evaluate(state)


class Policy:
    """Answers with what it was given, or raises it; counts."""

    def __init__(self, answer: RouteDecision | Exception) -> None:
        self.answer = answer
        self.calls: list[list[str]] = []

    async def route(self, state: HarnessState, tools: Sequence[ToolDescriptor]) -> RouteDecision:
        self.calls.append([tool.name for tool in tools])
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def decide(environment: Any, *args: Any, keep_tree: bool = False, **kwargs: Any) -> MCTSResult:
    router = MCTSToolRouter(environment, **kwargs)
    return asyncio.run(router.search(*args, keep_tree=keep_tree))


@pytest.mark.parametrize("agent", [Agent(), AsyncAgent()])
def test_it_finds_the_first_tool_that_pays_later(agent: Agent) -> None:
    result = decide(agent, START, config=MCTSConfig(prove_values=False))
    decision = result.decision
    assert decision.tool == "read"
    assert decision.category == "inspect"
    assert not decision.fallback
    assert decision.source == "mcts"
    assert result.principal_variation[:3] == ("read", "edit", "test")
    assert sum(result.root_visits.values()) == result.simulations == 64
    assert decision.confidence == decision.probabilities["read"]
    assert math.isclose(sum(decision.probabilities.values()), 1.0)
    assert result.probability_kind == "visit_share"
    assert result.policy_evaluations == 0
    assert result.prior_source == "uniform"
    assert not result.proven


def test_a_world_that_is_searched_to_its_end_is_proven_and_the_search_stops() -> None:
    result = decide(Agent(), START)
    assert result.decision.tool == "read"
    assert result.decision.source == "mcts"
    assert result.proven
    assert result.proven_by == "search"
    assert result.stop_reason == "proven"
    assert set(result.proven_tools) == {"read", "edit"}
    assert result.simulations < 64
    assert result.root_values["read"] == pytest.approx(-0.05 + 0.95 * (0.1 + 0.95 * 1.0))


def test_sync_and_async_environments_are_searched_alike() -> None:
    sync, waiting = decide(Agent(), START), decide(AsyncAgent(), START)
    assert sync.root_visits == waiting.root_visits
    assert sync.root_values == waiting.root_values


def test_route_gives_the_decision_of_search() -> None:
    router = MCTSToolRouter(Agent())
    decision = asyncio.run(router.route(START, [EDIT, READ]))
    assert decision == asyncio.run(router.search(START, [EDIT, READ])).decision


def test_only_the_tools_offered_can_be_chosen() -> None:
    assert decide(Agent(), START, [EDIT]).decision.tool == "edit"


def test_no_tools_is_an_abstention_with_its_reason() -> None:
    result = decide(Agent(), START, [])
    assert result.decision == RouteDecision.fallback_to_planner("mcts_no_tools")
    assert result.simulations == 0


@pytest.mark.parametrize("tools", [[EDIT, EDIT], [ToolDescriptor(" ", "blank")]])
def test_bad_tool_lists_are_refused_by_place(tools: list[ToolDescriptor]) -> None:
    with pytest.raises(ToolListError, match=r"tools\[[01]\].name"):
        decide(Agent(), START, tools)


def test_an_environment_needs_a_state() -> None:
    with pytest.raises(RouterError, match="state: got None"):
        decide(Agent())


def test_what_the_environment_raises_comes_out_with_state_and_tool() -> None:
    class Raises(Agent):
        def transition(self, state: HarnessState, tool: ToolDescriptor) -> Any:
            raise ZeroDivisionError("in the model")

    with pytest.raises(SimulatorCallError, match="ZeroDivisionError") as caught:
        decide(Raises(), START)
    assert "fix the test" in str(caught.value)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


# --- the prior --------------------------------------------------------------------------------


def test_the_policy_is_asked_once_and_its_distribution_is_the_prior() -> None:
    policy = Policy(RouteDecision(tool="read", probabilities={"read": 0.6, "edit": 0.2}))
    config = MCTSConfig(prior_mix=0.0)
    result = decide(Agent(), START, policy_router=policy, config=config)
    assert policy.calls == [["edit", "read"]]
    assert result.policy_evaluations == 1
    assert result.prior_source == "policy"
    assert result.prior == pytest.approx({"read": 0.75, "edit": 0.25})
    assert result.none_fits == pytest.approx(0.2)


def test_an_unsure_policy_still_gives_its_whole_distribution() -> None:
    policy = Policy(
        RouteDecision.fallback_to_planner(
            "low_confidence", probabilities={"read": 0.5, "edit": 0.3, "none_fit": 0.2}
        )
    )
    result = decide(Agent(), START, policy_router=policy, config=MCTSConfig(prior_mix=0.2))
    assert result.prior_source == "policy_unsure"
    assert result.prior == pytest.approx({"read": 0.8 * 0.625 + 0.1, "edit": 0.8 * 0.375 + 0.1})
    assert result.none_fits == pytest.approx(0.2)
    assert result.decision.tool == "read"


def test_no_tool_starves_on_a_wrong_prior() -> None:
    policy = Policy(RouteDecision(tool="edit", probabilities={"edit": 1.0, "read": 0.0}))
    result = decide(Agent(), START, policy_router=policy)
    assert result.prior["read"] == pytest.approx(0.125, abs=1e-5)
    assert result.decision.tool == "read"


def test_the_local_selector_stands_in_for_a_policy_that_fails_and_the_result_says_so() -> None:
    policy = Policy(TimeoutError("slow\nsecond line"))
    result = decide(Agent(), START, policy_router=policy)
    assert result.decision.tool == "read"
    assert result.prior_source == "stand_in"
    assert result.prior_error == "TimeoutError: slow"
    assert result.policy_evaluations == 1


def test_where_the_stand_in_fails_too_the_prior_is_uniform() -> None:
    broken = Policy(OSError("down"))
    result = decide(Agent(), START, policy_router=broken, stand_in=broken)
    assert result.prior_source == "uniform"
    assert result.prior_error == "OSError: down; stand-in: OSError"
    assert len(set(result.prior.values())) == 1


@pytest.mark.parametrize("bad", [math.nan, -0.5, 7.0])
def test_a_policy_with_impossible_probabilities_counts_as_failed(bad: float) -> None:
    policy = Policy(RouteDecision(tool="edit", probabilities={"edit": bad, "read": 0.5}))
    result = decide(Agent(), START, policy_router=policy)
    assert result.prior_source == "stand_in"
    assert "probability of 'edit'" in str(result.prior_error)


def test_a_stand_in_answers_for_a_policy_that_fails() -> None:
    stand_in = Policy(RouteDecision(tool="read", probabilities={"read": 0.9, "edit": 0.1}))
    result = decide(Agent(), START, policy_router=Policy(OSError("down")), stand_in=stand_in)
    assert result.prior_source == "stand_in"
    assert result.prior_error == "OSError: down"
    assert result.prior["read"] > result.prior["edit"]


def test_a_graph_that_wants_no_prior_asks_nobody() -> None:
    graph = read_graph((EXAMPLES / "fix_failing_test.json").read_bytes())
    names = [tool.name for tool in graph.states[0].tools]
    policy = Policy(RouteDecision(probabilities=dict.fromkeys(names, 1.0 / len(names))))
    for wanted, asked in ((False, 0), (True, 1), (None, 1)):
        changed = graph.model_copy(update={"use_jev_prior": wanted})
        router = MCTSToolRouter(changed, policy_router=policy)
        assert asyncio.run(router.search()).policy_evaluations == asked


def test_more_policy_evaluations_are_used_deeper_and_never_more_than_allowed() -> None:
    policy = Policy(RouteDecision(tool="read", probabilities={"read": 0.5, "edit": 0.5}))
    config = MCTSConfig(max_policy_evaluations=3)
    assert decide(Agent(), START, policy_router=policy, config=config).policy_evaluations == 3
    none = MCTSConfig(max_policy_evaluations=0)
    assert decide(Agent(), START, policy_router=policy, config=none).policy_evaluations == 0
    assert len(policy.calls) == 3


def test_a_policy_is_not_asked_where_there_is_no_choice() -> None:
    policy = Policy(RouteDecision(tool="edit", probabilities={"edit": 1.0}))
    result = decide(Agent(), HarnessState("g", "known", "edit"), policy_router=policy)
    assert result.decision.tool == "test"
    assert policy.calls == []


# --- graphs -----------------------------------------------------------------------------------


def example(name: str) -> SimulationGraph:
    return read_graph((EXAMPLES / f"{name}.json").read_bytes())


# The values that examples/README.md states.
STATED = {
    "fix_failing_test": ("read_traceback", 0.584),
    "risky_release": ("deploy_canary", 0.745),
    "browser_flow": ("reject_cookies", 0.664),
}


def own_settings(graph: SimulationGraph) -> MCTSConfig:
    assert graph.max_depth is not None
    assert graph.discount is not None
    return MCTSConfig(max_depth=graph.max_depth, discount=graph.discount)


@pytest.mark.parametrize("name", STATED)
def test_the_examples_are_proven_as_their_readme_states(name: str) -> None:
    graph = example(name)
    result = decide(graph, config=own_settings(graph))
    tool, value = STATED[name]
    assert result.decision.tool == tool
    assert result.root_values[tool] == pytest.approx(value, abs=5e-4)
    assert result.proven
    assert result.proven_by == "backward induction"
    assert result.probability_kind == "proven"
    assert result.decision.confidence == 1.0
    assert result.decision.source == "exact"


def test_a_graph_can_be_searched_instead_of_solved() -> None:
    graph = example("fix_failing_test")
    settings = own_settings(graph)
    config = MCTSConfig(
        max_depth=settings.max_depth,
        discount=settings.discount,
        simulations=2048,
        solver="mcts",
    )
    result = decide(graph, config=config, keep_tree=True)
    assert result.decision.tool == "read_traceback"
    assert not result.proven
    assert result.simulations == 2048
    assert result.tree is not None
    assert len(result.tree.arrays) == len(result.tree.labels) == len(result.tree.states)
    assert result.nodes == len(result.tree.arrays)
    assert result.tree.labels[0] == graph.states[0].goal


def test_a_graph_too_large_to_solve_is_searched_unless_exact_was_asked_for() -> None:
    graph = example("fix_failing_test")
    assert not decide(graph, config=MCTSConfig(exact_work_limit=10)).proven
    with pytest.raises(ModelTooLargeError):
        decide(graph, config=MCTSConfig(exact_work_limit=10, solver="exact"))
    with pytest.raises(RouterError, match="needs a graph"):
        decide(Agent(), START, config=MCTSConfig(solver="exact"))


def test_a_policy_informs_a_graph_at_its_root() -> None:
    policy = Policy(RouteDecision(tool="edit_code", probabilities={"edit_code": 0.97}))
    graph = example("fix_failing_test").model_copy(update={"use_jev_prior": True})
    config = MCTSConfig(solver="mcts", max_depth=8, simulations=2048)
    result = decide(graph, policy_router=policy, config=config)
    assert len(policy.calls) == 1
    assert result.prior_source == "policy"
    assert result.decision.tool == "read_traceback"


def dead_graph(*dead: str) -> SimulationGraph:
    tools = [{"name": name, "description": name} for name in ("live", "dead")]
    moves = [
        {"from_state": "s", "tool": name, "to_state": "s", "reward": -5, "terminal": True}
        for name in ("live", "dead")
        if name not in dead
    ]
    states = [{"id": "s", "goal": "g", "tools": tools}]
    return graph_from_mapping({"root_state": "s", "states": states, "transitions": moves})


def test_a_tool_without_transition_ends_in_place_at_minus_one_and_is_named() -> None:
    result = decide(dead_graph("dead"))
    assert result.root_values == {"live": -5.0, "dead": -1.0}
    assert result.dead_tools == ("dead",)


def test_a_root_whose_tools_are_all_dead_is_an_abstention() -> None:
    result = decide(dead_graph("live", "dead"))
    assert result.decision.fallback_reason == "mcts_no_simulated_action"
    assert result.dead_tools == ("live", "dead")


def test_a_graph_takes_no_other_tools_than_its_roots() -> None:
    graph = dead_graph("dead")
    same = [ToolDescriptor("dead", ""), ToolDescriptor("live", "")]
    assert decide(graph, None, same).decision.tool == "dead"
    with pytest.raises(ToolListError, match="the graph's root offers"):
        decide(graph, None, [EDIT])


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("simulations", 0),
        ("max_depth", 0),
        ("exploration_constant", -1.0),
        ("discount", 1.5),
        ("max_policy_evaluations", -1),
        ("min_prior", 0.0),
        ("prior_mix", 2.0),
        ("time_limit_ms", 0.0),
        ("solver", "guess"),
        ("selection", "best"),
        ("evaluation", "llm"),
        ("exact_work_limit", 0),
        ("prove_values", 1),
        ("seed", -1),
    ],
)
def test_bad_settings_are_refused_by_name(field: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=f"^{field}: got"):
        MCTSConfig(**{field: value})


def test_the_published_defaults_hold() -> None:
    config = MCTSConfig()
    assert (config.simulations, config.max_depth, config.exploration_constant) == (64, 4, 1.5)
    assert (config.discount, config.max_policy_evaluations, config.min_prior) == (0.95, 1, 1e-6)


def test_states_are_compact_and_hashable() -> None:
    state = HarnessState("g", recent_actions=[], constraints=["no network"])
    assert hash(state) == hash(HarnessState("g", constraints=("no network",)))
    assert json.loads(json.dumps(state.compact()))["constraints"] == ["no network"]
