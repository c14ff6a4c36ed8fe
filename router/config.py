"""Settings of the router: frozen, checked at construction, bounds and units per field."""

import math
from dataclasses import dataclass
from typing import Literal, get_args
from urllib.parse import urlsplit

from mcts_core.config import (
    MAX_COUNT,
    MAX_SEED,
    check_choice,
    check_int,
    check_real,
)
from mcts_core.errors import ConfigError
from router.models import RoutingMode

__all__ = [
    "MCTSConfig",
    "OpenRouterConfig",
    "ProviderConfig",
    "RecordsConfig",
    "RoutingConfig",
    "Solver",
    "TypeSafeConfig",
]

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


@dataclass(frozen=True, slots=True)
class RoutingConfig:
    """How ``JevToolRouter`` and ``RoutingSession`` decide. A bad field raises ``ConfigError``.

    Attributes:
        mode: see ``RoutingMode``; its name as text is accepted too.
        direct_execution_threshold: least confidence of a pick in hybrid mode, 0 to 1; between
            ``fallback_threshold`` and this the planner is asked to confirm.
        fallback_threshold: least confidence of any pick, 0 to ``direct_execution_threshold``.
        hierarchical_threshold: with more tools than this the provider is asked for a category
            first, where that is estimated to save input, >= 1.
        hierarchical_min_savings: least share of the input that a category first must save, 0 to 1.
        shortlist_size: most tools that a provider is asked about, 2 to 254; a larger registry is
            cut to the most likely ones by the local selector.
        max_same_action_repeats: how often the same action may run in a row, >= 1.
        max_route_steps: most decisions of a session, >= 1.
        max_consecutive_fallbacks: after so many in a row a session abstains at once, >= 1.
        description_limit: most characters of a tool's description that a provider sees, >= 32.
        history_limit: most past actions that a provider sees, >= 0.
        state_field_limit: most characters of goal, observation and each constraint that a provider
            sees, >= 64.
        constraint_limit: most constraints that a provider sees, >= 0.
        route_cache_size: decisions kept in memory, >= 0 (0: none).
        cache_path: file in which decisions are kept over processes, or None.
        embeddings: whether the local selector also compares meanings, by the ``embeddings`` extra:
            better choices among similar tools, some 5 ms a new goal instead of less than one.
    """

    mode: RoutingMode = RoutingMode.HYBRID
    direct_execution_threshold: float = 0.85
    fallback_threshold: float = 0.60
    hierarchical_threshold: int = 24
    hierarchical_min_savings: float = 0.15
    shortlist_size: int = 64
    max_same_action_repeats: int = 2
    max_route_steps: int = 50
    max_consecutive_fallbacks: int = 2
    description_limit: int = 160
    history_limit: int = 6
    state_field_limit: int = 800
    constraint_limit: int = 4
    route_cache_size: int = 128
    cache_path: str | None = None
    embeddings: bool = False

    def __post_init__(self) -> None:
        modes = tuple(mode.value for mode in RoutingMode)
        check_choice("mode", self.mode, modes)
        object.__setattr__(self, "mode", RoutingMode(self.mode))
        direct = self.direct_execution_threshold
        check_real("direct_execution_threshold", direct, 0.0, 1.0)
        check_real("fallback_threshold", self.fallback_threshold, 0.0, direct)
        check_real("hierarchical_min_savings", self.hierarchical_min_savings, 0.0, 1.0)
        check_int("hierarchical_threshold", self.hierarchical_threshold, 1, MAX_COUNT)
        check_int("shortlist_size", self.shortlist_size, 2, 254)
        check_int("max_same_action_repeats", self.max_same_action_repeats, 1, MAX_COUNT)
        check_int("max_route_steps", self.max_route_steps, 1, MAX_COUNT)
        check_int("max_consecutive_fallbacks", self.max_consecutive_fallbacks, 1, MAX_COUNT)
        check_int("description_limit", self.description_limit, 32, MAX_COUNT)
        check_int("history_limit", self.history_limit, 0, MAX_COUNT)
        check_int("state_field_limit", self.state_field_limit, 64, MAX_COUNT)
        check_int("constraint_limit", self.constraint_limit, 0, MAX_COUNT)
        check_int("route_cache_size", self.route_cache_size, 0, MAX_COUNT)
        check_text("cache_path", self.cache_path, optional=True)
        if not isinstance(self.embeddings, bool):
            raise ConfigError("embeddings", self.embeddings, "True or False")


@dataclass(frozen=True, slots=True)
class RecordsConfig:
    """Whether and how decisions are recorded. A bad field raises ``ConfigError``.

    Attributes:
        enabled: whether `har` and the services keep records.
        text: how goals and observations are kept: "hashed" (keyed hashes), "full" (a replay needs
            it), or "none".
    """

    enabled: bool = True
    text: Literal["full", "hashed", "none"] = "hashed"

    def __post_init__(self) -> None:
        if not isinstance(self.enabled, bool):
            raise ConfigError("enabled", self.enabled, "True or False")
        check_choice("text", self.text, ("full", "hashed", "none"))


@dataclass(frozen=True, slots=True)
class ProviderConfig:
    """Where and how a decision provider is asked. A bad field raises ``ConfigError``.

    Attributes:
        dialect: name of the wire shape, see ``router.providers.dialects``.
        model: model to ask; a dated build keeps decisions comparable.
        url: address; https, or http on loopback.
        api_key_env: name of the environment variable that holds the key, in capital letters; read
            at each call.
        timeout_seconds: total time of one decision, retry included, > 0, at most 600.
        retries: 0 or 1; only after a refusal that says "later" or a reset connection, and only if
            it fits into the time that is left.
        circuit_failures: after so many failures in a row calls are skipped, >= 1.
        circuit_cooldown_seconds: for so long; then one call tries again, > 0.
        app_url, app_title: sent as the optional headers by which OpenRouter names an application;
            printable ASCII.
    """

    dialect: str = "openrouter"
    model: str = "typesafe/jev-1.13"
    url: str = "https://openrouter.ai/api/alpha/decisions"
    api_key_env: str = "OPENROUTER_API_KEY"
    timeout_seconds: float = 2.0
    retries: int = 1
    circuit_failures: int = 5
    circuit_cooldown_seconds: float = 30.0
    app_url: str | None = None
    app_title: str | None = None

    def __post_init__(self) -> None:
        for name in ("dialect", "model", "url", "api_key_env"):
            check_text(name, getattr(self, name))
        for name in ("app_url", "app_title"):
            check_text(name, getattr(self, name), optional=True)
            _check_header(name, getattr(self, name))
        _check_variable(self.api_key_env)
        check_real("timeout_seconds", self.timeout_seconds, 0.0, 600.0, open_low=True)
        check_int("retries", self.retries, 0, 1)
        check_int("circuit_failures", self.circuit_failures, 1, MAX_COUNT)
        cooldown = self.circuit_cooldown_seconds
        check_real("circuit_cooldown_seconds", cooldown, 0.0, math.inf, open_low=True)
        _check_address(self.url)


@dataclass(frozen=True, slots=True)
class OpenRouterConfig(ProviderConfig):
    """Jev through OpenRouter's Decisions API: the defaults of ``ProviderConfig``."""


@dataclass(frozen=True, slots=True)
class TypeSafeConfig(ProviderConfig):
    """Jev at TypeSafe itself; the fields are those of ``ProviderConfig``."""

    dialect: str = "typesafe"
    model: str = "jev-1.13.0"
    url: str = "https://api.typesafe.ai/v1/systemone"
    api_key_env: str = "TYPESAFE_API_KEY"


def check_text(name: str, got: object, *, optional: bool = False) -> None:
    """Raise ``ConfigError`` unless ``got`` is a text that is not blank (or None if optional)."""
    if not (isinstance(got, str) and got.strip()) and not (optional and got is None):
        raise ConfigError(name, got, "a text" + (" or None" if optional else ""))


def _check_header(name: str, value: str | None) -> None:
    if value is not None and not (value.isascii() and value.isprintable()):
        raise ConfigError(name, value, "printable ASCII")


def _check_variable(name: str) -> None:
    # Most often somebody put the key where its variable's name belongs: not repeated.
    if not (name.isascii() and name.isidentifier() and name == name.upper()):
        wanted = "the name of the variable that holds the key, such as OPENROUTER_API_KEY"
        raise ConfigError("api_key_env", "what is no such name", wanted)


def _check_address(url: str) -> None:
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host = None
    if "@" in url:  # it may hold a password: not repeated
        raise ConfigError(
            "url", "an address with an @", "an https address without user or password"
        )
    if not host or parts.scheme not in ("http", "https"):
        raise ConfigError("url", url, "an https address")
    if parts.scheme == "http" and host not in ("127.0.0.1", "::1", "localhost"):
        raise ConfigError("url", url, "https (http only on loopback)")
