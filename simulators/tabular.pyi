from collections.abc import Hashable, Sequence
from typing import final

import numpy as np
import numpy.typing as npt

from mcts_core.native import SimulatorHandle

@final
class TabularModel(SimulatorHandle):
    def __init__(
        self,
        action_offsets: npt.ArrayLike,
        outcome_offsets: npt.ArrayLike,
        next_state: npt.ArrayLike,
        reward: npt.ArrayLike,
        *,
        probability: npt.ArrayLike | None = None,
        terminal: npt.ArrayLike | None = None,
        value: npt.ArrayLike | None = None,
        prior: npt.ArrayLike | None = None,
        player: npt.ArrayLike | None = None,
        labels: Sequence[Hashable] | None = None,
    ) -> None: ...
    @property
    def action_offsets(self) -> npt.NDArray[np.int32]: ...
    @property
    def outcome_offsets(self) -> npt.NDArray[np.int32]: ...
    @property
    def next_state(self) -> npt.NDArray[np.int32]: ...
    @property
    def probability(self) -> npt.NDArray[np.float64]: ...
    @property
    def reward(self) -> npt.NDArray[np.float64]: ...
    @property
    def terminal(self) -> npt.NDArray[np.uint8]: ...
    @property
    def value(self) -> npt.NDArray[np.float64]: ...
    @property
    def prior(self) -> npt.NDArray[np.float64] | None: ...
    @property
    def player(self) -> npt.NDArray[np.int8]: ...
    @property
    def labels(self) -> tuple[Hashable, ...] | None: ...
    @property
    def states(self) -> int: ...
    @property
    def deterministic(self) -> bool: ...
    def action_label(self, state: int, action: int) -> Hashable: ...
