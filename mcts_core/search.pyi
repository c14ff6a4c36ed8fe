from collections.abc import Sequence
from typing import Literal, final

from mcts_core.config import SearchConfig
from mcts_core.native import SimulatorHandle
from mcts_core.result import SearchResult, SearchTree

@final
class Search:
    def __init__(
        self,
        simulator: SimulatorHandle,
        root_state: object,
        config: SearchConfig,
        prior: Sequence[float] | None = None,
    ) -> None: ...
    @property
    def simulator(self) -> SimulatorHandle: ...
    @property
    def config(self) -> SearchConfig: ...
    @property
    def simulations(self) -> int: ...
    @property
    def nodes(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    def run(
        self, simulations: int | None = None, time_limit_ms: float | None = None
    ) -> Literal["simulations", "time", "proven", "no_action", "pending"]: ...
    def result(self) -> SearchResult: ...
    def tree(self) -> SearchTree: ...
    def tree_actions(self) -> list[object]: ...
    def tree_states(self) -> list[object]: ...

def search(
    simulator: SimulatorHandle,
    root_state: object,
    config: SearchConfig,
    *,
    prior: Sequence[float] | None = None,
) -> SearchResult: ...
