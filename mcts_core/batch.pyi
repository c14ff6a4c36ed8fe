from typing import final

from mcts_core.simulator import EvaluateBatch

@final
class Batch:
    """The leaves that await one call of ``function``."""

    def __new__(cls, function: EvaluateBatch, size: int) -> "Batch": ...
