"""Settings of the router: frozen, checked at construction, bounds and units per field."""

import math
from dataclasses import dataclass
from typing import Literal, get_args

from mcts_core.config import (
    MAX_COUNT,
    MAX_SEED,
    check_choice,
    check_int,
    check_real,
)
from mcts_core.errors import ConfigError

__all__ = ["MCTSConfig", "Solver"]

Solver = Literal["auto", "exact", "mcts"]
Evaluation = Literal["forced", "rollout", "simulator", "auto"]  # no range of values: not decisive


@dataclass(frozen=True, slots=True)
class MCTSConfig:
    """How ``MCTSToolRouter`` looks ahead. A bad field raises ``ConfigError``.

    Attributes:
        simulations: budget, 1 to 2**31 - 2.
        max_depth: horizon in tools from now, 1 to 2**31 - 2.
        exploration_constant: weight of exploration, >= 0, in units of the value range.
        discount: factor per step on later rewards, 0 to 1.
        max_policy_evaluations: how often the policy router may be asked for a prior, >= 0.
        min_prior: least prior of a tool before they are normalised, > 0, at most 1.
        prior_mix: e in (1 - e) p + e / k, 0 to 1: no tool starves on a wrong prior.
        time_limit_ms: wall time of the search in milliseconds, > 0, or None.
        solver: "auto": exact where the world is a graph that can be solved within
            ``exact_work_limit``, else search; "exact": that or an error; "mcts": search.
        selection: "puct", "ucb1", or "auto": puct where a policy informs the prior, else ucb1.
        evaluation: how a new state is valued: "simulator", "forced", "rollout" (see
            ``SearchConfig``), or "auto": rollout for a graph that states no values, else forced.
        prove_values: whether a search proves values as it goes, and ends when its root is proven
            (``SearchConfig.solver``). A tool is then chosen by a proven value, not by its visits,
            where that is no lower than the mean of the most visited one.
        exact_work_limit: most (state, depth, outcome) triples of exact solving, >= 1.
        seed: 0 to 2**64 - 1.
    """

    simulations: int = 64
    max_depth: int = 4
    exploration_constant: float = 1.5
    discount: float = 0.95
    max_policy_evaluations: int = 1
    min_prior: float = 1e-6
    prior_mix: float = 0.25
    time_limit_ms: float | None = None
    solver: Solver = "auto"
    selection: Literal["auto", "puct", "ucb1"] = "auto"
    evaluation: Evaluation = "auto"
    prove_values: bool = True
    exact_work_limit: int = 20_000_000
    seed: int = 0

    def __post_init__(self) -> None:
        check_int("simulations", self.simulations, 1, MAX_COUNT)
        check_int("max_depth", self.max_depth, 1, MAX_COUNT)
        check_int("max_policy_evaluations", self.max_policy_evaluations, 0, MAX_COUNT)
        check_int("exact_work_limit", self.exact_work_limit, 1, 2**62)
        check_int("seed", self.seed, 0, MAX_SEED)
        check_real("exploration_constant", self.exploration_constant, 0.0, math.inf)
        check_real("discount", self.discount, 0.0, 1.0)
        check_real("min_prior", self.min_prior, 0.0, 1.0, open_low=True)
        check_real("prior_mix", self.prior_mix, 0.0, 1.0)
        if self.time_limit_ms is not None:
            check_real("time_limit_ms", self.time_limit_ms, 0.0, math.inf, open_low=True)
        if not isinstance(self.prove_values, bool):
            raise ConfigError("prove_values", self.prove_values, "True or False")
        check_choice("solver", self.solver, get_args(Solver))
        check_choice("selection", self.selection, ("auto", "puct", "ucb1"))
        check_choice("evaluation", self.evaluation, get_args(Evaluation))
