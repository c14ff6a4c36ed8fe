"""Harness Router: which tool runs next. The public names."""

from mcts_core.simulator import SimulatedStep
from router.config import MCTSConfig
from router.mcts_result import MCTSResult
from router.mcts_router import MCTSToolRouter
from router.models import (
    ActionSummary,
    HarnessState,
    RiskLevel,
    RouteDecision,
    ToolDescriptor,
)
from router.worlds import SearchEnvironment

__all__ = [
    "ActionSummary",
    "HarnessState",
    "MCTSConfig",
    "MCTSResult",
    "MCTSToolRouter",
    "RiskLevel",
    "RouteDecision",
    "SearchEnvironment",
    "SimulatedStep",
    "ToolDescriptor",
]
