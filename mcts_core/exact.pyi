from collections.abc import Sequence

from mcts_core.result import SearchResult
from mcts_core.simulator import ExplicitModel

DEFAULT_WORK_LIMIT: int

def backward_induction(
    model: ExplicitModel,
    root_state: int,
    *,
    horizon: int,
    discount: float = 1.0,
    prior: Sequence[float] | None = None,
    work_limit: int = ...,
) -> SearchResult: ...
def unlabelled(state: int, action: int) -> int: ...
