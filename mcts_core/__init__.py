"""The search engine: compiled Monte Carlo tree search and exact backward induction."""

from mcts_core.config import SearchConfig
from mcts_core.errors import (
    ConfigError,
    MCTSError,
    ModelError,
    ModelTooLargeError,
    NonFiniteError,
    SearchInUseError,
    SimulatorCallError,
    SimulatorError,
)
from mcts_core.parallel import search_parallel
from mcts_core.result import SearchResult, SearchTree
from mcts_core.search import Search, search
from mcts_core.simulator import (
    ManyPlayerSimulator,
    ManyPlayerStep,
    Outcome,
    SimulatedStep,
    Simulator,
    StochasticSimulator,
    TwoPlayerSimulator,
)

__all__ = [
    "ConfigError",
    "MCTSError",
    "ManyPlayerSimulator",
    "ManyPlayerStep",
    "ModelError",
    "ModelTooLargeError",
    "NonFiniteError",
    "Outcome",
    "Search",
    "SearchConfig",
    "SearchInUseError",
    "SearchResult",
    "SearchTree",
    "SimulatedStep",
    "Simulator",
    "SimulatorCallError",
    "SimulatorError",
    "StochasticSimulator",
    "TwoPlayerSimulator",
    "search",
    "search_parallel",
]
