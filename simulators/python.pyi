from typing import Any, final

from mcts_core.native import SimulatorHandle

@final
class PythonSimulator(SimulatorHandle):
    def __init__(self, simulator: Any) -> None: ...
    @property
    def simulator(self) -> Any: ...
    async def resolve(self) -> None: ...
