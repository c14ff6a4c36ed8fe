"""Harness Router: which tool runs next. The public names."""

import importlib
from typing import TYPE_CHECKING, Any

from mcts_core.simulator import SimulatedStep
from router.config import (
    MCTSConfig,
    OpenRouterConfig,
    ProviderConfig,
    RoutingConfig,
    TypeSafeConfig,
)
from router.errors import ProviderError, RouterError, SettingsError, ToolListError
from router.mcts_result import MCTSResult
from router.mcts_router import MCTSToolRouter
from router.models import (
    ActionSummary,
    ChoiceDecision,
    HarnessState,
    RiskLevel,
    RouteDecision,
    RoutingMode,
    ToolDescriptor,
)
from router.policy import DefaultExecutionPolicy
from router.providers import DecisionProvider, MockProvider
from router.runner import HarnessAdapter, HarnessRunner, HarnessToolCall, HarnessToolResult
from router.session import RoutingSession
from router.settings import Settings, load_settings
from router.tool_router import JevToolRouter
from router.worlds import SearchEnvironment

if TYPE_CHECKING:
    from router.providers import OpenRouterJevProvider, TypeSafeJevProvider

__all__ = [
    "ActionSummary",
    "ChoiceDecision",
    "DecisionProvider",
    "DefaultExecutionPolicy",
    "HarnessAdapter",
    "HarnessRunner",
    "HarnessState",
    "HarnessToolCall",
    "HarnessToolResult",
    "JevToolRouter",
    "MCTSConfig",
    "MCTSResult",
    "MCTSToolRouter",
    "MockProvider",
    "OpenRouterConfig",
    "OpenRouterJevProvider",
    "ProviderConfig",
    "ProviderError",
    "RiskLevel",
    "RouteDecision",
    "RouterError",
    "RoutingConfig",
    "RoutingMode",
    "RoutingSession",
    "SearchEnvironment",
    "Settings",
    "SettingsError",
    "SimulatedStep",
    "ToolDescriptor",
    "ToolListError",
    "TypeSafeConfig",
    "TypeSafeJevProvider",
    "load_settings",
]


def __getattr__(name: str) -> Any:
    if name in ("OpenRouterJevProvider", "TypeSafeJevProvider"):  # they load httpx
        return getattr(importlib.import_module("router.providers"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
