from typing import Any, final

from typing_extensions import disjoint_base

from mcts_core.native import SimulatorHandle

__pyx_capi__: dict[str, object]

@disjoint_base
class Answers(SimulatorHandle):
    @property
    def simulator(self) -> Any: ...

@final
class Kept: ...

@final
class Box: ...

@final
class Move: ...
