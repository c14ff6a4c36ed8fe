from collections.abc import Sequence
from typing import Literal, final

from mcts_core.config import SearchConfig
from mcts_core.native import SimulatorHandle
from mcts_core.result import SearchResult, SearchTree
from mcts_core.simulator import EvaluateBatch

@final
class Search:
    def __init__(
        self,
        simulator: SimulatorHandle,
        root_state: object,
        config: SearchConfig,
        prior: Sequence[float] | None = None,
        evaluate_batch: EvaluateBatch | None = None,
        *,
        share: bool = False,
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
    ) -> Literal["simulations", "time", "memory", "decided", "proven", "no_action", "pending"]: ...
    def advance(self, action: object, state: object = None) -> None: ...
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
    evaluate_batch: EvaluateBatch | None = None,
) -> SearchResult: ...
