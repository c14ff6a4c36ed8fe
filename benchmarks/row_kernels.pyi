"""Stub of row_kernels.pyx."""

import numpy as np
import numpy.typing as npt

def own_rows(
    puct: bool,
    repeats: int,
    visits: npt.NDArray[np.int32],
    value: npt.NDArray[np.float64],
    prior: npt.NDArray[np.float32],
    parent_visits: int,
    exploration: float,
) -> tuple[int, float]: ...
def given_rows(
    address: int,
    repeats: int,
    visits: npt.NDArray[np.int32],
    value: npt.NDArray[np.float64],
    prior: npt.NDArray[np.float32],
    parent_visits: int,
    exploration: float,
) -> tuple[int, float]: ...
