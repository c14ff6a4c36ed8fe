"""``MCTSToolRouter``: the best first tool when it depends on what comes after."""

import itertools
import math
from collections.abc import Callable, Sequence

from mcts_core import ModelTooLargeError, Search, SearchConfig, SearchResult, SearchTree
from mcts_core.exact import backward_induction
from mcts_core.policy_tree import policy_tree
from mcts_core.result import OUTCOME
from router.catalog.checks import check_tools
from router.config import MCTSConfig
from router.errors import RouterError, ToolListError
from router.mcts_result import LookaheadTree, MCTSResult
from router.models import HarnessState, RouteDecision, ToolDescriptor
from router.prior import PolicyRouter, Prior, ask_policy
from router.tool_router import JevToolRouter
from router.worlds import (
    EnvironmentWorld,
    GraphWorld,
    SearchEnvironment,
    World,
    settled,
)
from simulators.asynchronous import run_async
from simulators.graph import SimulationGraph, compile_graph

__all__ = ["MCTSToolRouter"]


class MCTSToolRouter:
    """Looks ahead over sequences of tools in a world without side effects.

    Args:
        environment: a ``SearchEnvironment``, or a ``SimulationGraph``.
        policy_router: asked for a prior at most ``config.max_policy_evaluations`` times (of a
            graph: at its root only, and not if its ``use_jev_prior`` is false); None: a uniform
            prior.
        stand_in: asked if ``policy_router`` raises; None: the local selector.
        config: see ``MCTSConfig``.
    """

    def __init__(
        self,
        environment: SearchEnvironment | SimulationGraph,
        *,
        policy_router: PolicyRouter | None = None,
        stand_in: PolicyRouter | None = None,
        config: MCTSConfig | None = None,
    ) -> None:
        self.config = config or MCTSConfig()
        self._environment = environment
        wanted = (
            not isinstance(environment, SimulationGraph) or environment.use_jev_prior is not False
        )
        self._policy = policy_router if wanted else None
        self._stand_in = stand_in or JevToolRouter()
        self._compiled = (
            compile_graph(environment) if isinstance(environment, SimulationGraph) else None
        )

    async def route(
        self, state: HarnessState | None = None, tools: Sequence[ToolDescriptor] | None = None
    ) -> RouteDecision:
        """The decision of ``search``."""
        return (await self.search(state, tools)).decision

    async def search(
        self,
        state: HarnessState | None = None,
        tools: Sequence[ToolDescriptor] | None = None,
        *,
        keep_tree: bool = False,
        progress: Callable[[int], None] | None = None,
    ) -> MCTSResult:
        """Decide the first tool.

        Args:
            state: where the agent is; None for a graph, which states its own root.
            tools: on offer there; None: what the environment offers.
            keep_tree: put the tree into the result.
            progress: told the number of simulations so far, every few milliseconds.

        Raises:
            ToolListError: blank or repeated names, or tools that the graph's root does not offer.
            RouterError: ``state`` is missing, or the solver is "exact" and the world is no graph.
            ModelTooLargeError: the solver is "exact" and the graph is past ``exact_work_limit``.
            SimulatorError: the environment raised or answered what no environment may.
        """
        asked = _Asked(self._policy, self._stand_in, self.config)
        world = await self._world(state, tools, asked)
        if not world.tools:
            return MCTSResult(RouteDecision.fallback_to_planner("mcts_no_tools"))
        dead = world.dead_root_tools if isinstance(world, GraphWorld) else set()
        if len(dead) == len(world.tools):
            reason = "mcts_no_simulated_action"
            return MCTSResult(
                RouteDecision.fallback_to_planner(reason),
                dead_tools=tuple(tool.name for tool in world.tools),
            )
        found, tree = await self._decide(world, asked, keep_tree, progress)
        return _result(world, found, tree, asked, dead)

    async def _world(
        self,
        state: HarnessState | None,
        tools: Sequence[ToolDescriptor] | None,
        asked: "_Asked",
    ) -> World:
        if isinstance(self._environment, SimulationGraph):
            assert self._compiled is not None
            world = GraphWorld(self._compiled, self._environment.states)
            names = [tool.name for tool in world.tools]
            if tools is not None and sorted(tool.name for tool in tools) != sorted(names):
                raise ToolListError(
                    f"tools: got {[tool.name for tool in tools]}, the graph's root offers {names}"
                )
            return world
        if state is None:
            raise RouterError("state: got None, wanted a HarnessState (only a graph has its own)")
        if tools is None:
            tools = await settled(self._environment.tools(state))
        check_tools(tools)
        return EnvironmentWorld(
            self._environment, state, tools, asked.prior if asked.possible else None
        )

    async def _decide(
        self,
        world: World,
        asked: "_Asked",
        keep_tree: bool,
        progress: Callable[[int], None] | None,
    ) -> tuple[SearchResult, LookaheadTree | None]:
        weights: list[float] | None = None
        if isinstance(world, GraphWorld):
            prior = await asked.prior(world.state, world.tools)
            if prior.weights is not None:
                weights = [prior.weights[tool.name] for tool in world.tools]
            solved = self._solve(world, weights)
            if solved is not None:
                return solved, self._policy_tree(world) if keep_tree else None
        elif self.config.solver == "exact":
            raise RouterError("solver: got 'exact', which needs a graph; wanted 'auto' or 'mcts'")
        run = Search(world.handle, world.root, self._search_config(world, asked), weights)
        await run_async(run, progress)
        return run.result(), _search_tree(world, run) if keep_tree else None

    def _solve(self, world: GraphWorld, weights: list[float] | None) -> SearchResult | None:
        """The exact solution, or None where the search is to decide."""
        config = self.config
        if config.solver == "mcts":
            return None
        try:
            return backward_induction(
                world.model,
                self._root_of(world),
                horizon=config.max_depth,
                discount=config.discount,
                prior=weights,
                work_limit=config.exact_work_limit,
            )
        except ModelTooLargeError:
            if config.solver == "exact":
                raise
            return None

    def _policy_tree(self, world: GraphWorld) -> LookaheadTree:
        arrays, labels, states = policy_tree(
            world.model,
            self._root_of(world),
            horizon=self.config.max_depth,
            discount=self.config.discount,
        )
        return _labelled(world, arrays, labels, states)

    @staticmethod
    def _root_of(world: GraphWorld) -> int:
        assert isinstance(world.root, int)
        return world.root

    def _search_config(self, world: World, asked: "_Asked") -> SearchConfig:
        config = self.config
        selection, evaluation = config.selection, config.evaluation
        if selection == "auto":
            selection = "puct" if asked.informed or asked.possible else "ucb1"
        if evaluation == "auto":
            blind = isinstance(world, GraphWorld) and not world.states_values
            evaluation = "rollout" if blind else "forced"
        return SearchConfig(
            simulations=config.simulations,
            time_limit_ms=config.time_limit_ms,
            max_depth=config.max_depth,
            discount=config.discount,
            selection=selection,
            exploration=config.exploration_constant,
            evaluation=evaluation,
            solver=config.prove_values,
            prior_mix=config.prior_mix,
            seed=config.seed,
        )


class _Asked:
    """Asks the policy router, as often as it may be asked, and remembers its first answer."""

    def __init__(
        self, policy: PolicyRouter | None, stand_in: PolicyRouter | None, config: MCTSConfig
    ) -> None:
        self._policy = policy
        self._stand_in = stand_in
        self._config = config
        self.count = 0
        self.first = Prior()

    @property
    def possible(self) -> bool:
        """May the policy be asked (again)?"""
        return self._policy is not None and self.count < self._config.max_policy_evaluations

    @property
    def informed(self) -> bool:
        """Has it given a distribution?"""
        return self.first.weights is not None

    async def prior(self, state: HarnessState, tools: Sequence[ToolDescriptor]) -> Prior:
        """The prior at a node; uniform where there is no choice or no more may be asked."""
        if self._policy is None or not self.possible or len(tools) < 2:
            return Prior()
        self.count += 1
        prior = await ask_policy(self._policy, self._stand_in, state, tools, self._config.min_prior)
        if self.count == 1:
            self.first = prior
        return prior


def _result(
    world: World,
    found: SearchResult,
    tree: LookaheadTree | None,
    asked: _Asked,
    dead: set[str],
) -> MCTSResult:
    names = [world.tool_name(action) for action in found.actions]
    variation = tuple(world.tool_name(action) for action in found.principal_variation)
    chosen = next(tool for tool in world.tools if tool.name == variation[0])
    shares = dict(zip(names, found.visit_shares.tolist(), strict=True))
    if found.proven:
        shares = {name: float(name == chosen.name) for name in names}
    values = zip(names, found.values.tolist(), strict=True)
    return MCTSResult(
        decision=RouteDecision(
            tool=chosen.name,
            category=chosen.category,
            confidence=shares[chosen.name],
            probabilities=shares,
            source="mcts" if found.simulations else "exact",
        ),
        principal_variation=variation,
        root_visits=dict(zip(names, found.visits.tolist(), strict=True)),
        root_values={name: value for name, value in values if not math.isnan(value)},
        simulations=found.simulations,
        policy_evaluations=asked.count,
        proven=found.proven,
        proven_by=found.proven_by,
        proven_tools=tuple(itertools.compress(names, found.proven_actions)),
        probability_kind="proven" if found.proven else "visit_share",
        prior=dict(zip(names, found.priors.tolist(), strict=True)),
        prior_source=asked.first.source,
        prior_error=asked.first.error,
        none_fits=asked.first.none_fits,
        dead_tools=tuple(name for name in names if name in dead),
        nodes=found.nodes,
        stop_reason=found.stop_reason,
        time_ms=found.time_ms,
        seed=found.seed,
        tree=tree,
    )


def _search_tree(world: World, run: Search) -> LookaheadTree:
    return _labelled(world, run.tree(), run.tree_actions(), run.tree_states())


def _labelled(
    world: World, arrays: SearchTree, actions: Sequence[object], states: Sequence[object]
) -> LookaheadTree:
    labels = [world.state.goal]
    for action, kind in zip(actions[1:], arrays.kind[1:].tolist(), strict=True):
        if kind == OUTCOME and isinstance(action, int):
            labels.append(f"outcome {action + 1}")
        else:
            labels.append(world.tool_name(action))
    return LookaheadTree(arrays, labels, [world.state_text(state) for state in states])
