"""Checks of the arrays of an explicit model; each returns a read-only copy of its own."""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from mcts_core.errors import ModelError

__all__ = ["LARGEST", "distribution", "offsets", "real", "whole"]

LARGEST: Final = 1e150
"""Largest magnitude of a reward or value, as in the engine: sums of them stay finite."""


def offsets(
    name: str, given: object, last_index: int | None = None, *, strict: bool = False
) -> npt.NDArray[np.int32]:
    """Checked int32 offsets: from 0, rising, ``last_index + 1`` of them if that is given."""
    length = None if last_index is None else last_index + 1
    array = whole(name, given, length, np.int32, 2**31 - 1)
    if len(array) < 1 + (last_index is None) or array[0] != 0:
        raise ModelError(
            f"{name}: got {array[:3].tolist()}..., wanted at least one state and a first entry of 0"
        )
    bad = np.flatnonzero(np.diff(array) < (1 if strict else 0))
    if len(bad):
        rule = "at least one outcome for each choice" if strict else "entries that do not fall"
        raise ModelError(
            f"{name}[{bad[0] + 1}]: got {array[bad[0] + 1]} after {array[bad[0]]}, wanted {rule}"
        )
    return array


def whole(
    name: str, given: object, length: int | None, dtype: type[np.integer[Any]], stop: int
) -> npt.NDArray[Any]:
    """A checked, read-only, one-dimensional copy with integers from 0 to ``stop - 1``."""
    array = _vector(name, given, length)
    if array.dtype.kind not in "iub" and array.size:
        raise ModelError(f"{name}: got {array.dtype} entries, wanted integers")
    outside = (array < 0) | (array >= stop) if array.dtype.kind != "b" else np.zeros(0, bool)
    bad = np.flatnonzero(outside)
    if len(bad):
        raise ModelError(f"{name}[{bad[0]}]: got {array[bad[0]]}, wanted 0 to {stop - 1}")
    return _frozen(array, dtype)


def real(name: str, given: object, length: int, low: float) -> npt.NDArray[np.float64]:
    """A checked, read-only, one-dimensional copy with finite numbers of at least ``low``."""
    array = _vector(name, given, length)
    if array.dtype.kind not in "iuf" and array.size:
        raise ModelError(f"{name}: got {array.dtype} entries, wanted numbers")
    bad = np.flatnonzero(~((array >= low) & (array <= LARGEST)))
    if len(bad):
        raise ModelError(
            f"{name}[{bad[0]}]: got {array[bad[0]]}, wanted a finite number from "
            f"{low:g} to {LARGEST:g}"
        )
    return _frozen(array, np.float64)


def _vector(name: str, given: object, length: int | None) -> npt.NDArray[Any]:
    try:
        array = np.asarray(given)
    except (TypeError, ValueError) as error:
        raise ModelError(f"{name}: got {type(given).__name__}, wanted a flat array") from error
    if array.ndim != 1 or (length is not None and len(array) != length):
        wanted = "one dimension" if length is None else f"shape ({length},)"
        raise ModelError(f"{name}: got shape {array.shape}, wanted {wanted}")
    return array


def _frozen(array: npt.NDArray[Any], dtype: type[np.generic]) -> npt.NDArray[Any]:
    copy = np.array(array, dtype=dtype, order="C")
    copy.flags.writeable = False
    return copy


def distribution(
    given: object, outcome_offsets: npt.NDArray[np.int32], edges: int
) -> npt.NDArray[np.float64]:
    """Probabilities that sum to exactly what floats allow; ones if None."""
    starts = outcome_offsets[:-1]
    if given is None:
        if edges != len(starts):
            raise ModelError(
                "probability: got None, wanted one for each outcome, since some "
                "choices have several"
            )
        return _frozen(np.ones(edges), np.float64)
    array = real("probability", given, edges, 0.0)
    bad = np.flatnonzero((array <= 0.0) | (array > 1.0 + 1e-9))
    if len(bad):
        raise ModelError(f"probability[{bad[0]}]: got {array[bad[0]]}, wanted above 0, at most 1")
    if edges == 0:
        return array
    sums = np.add.reduceat(array, starts)
    bad = np.flatnonzero(np.abs(sums - 1.0) > 1e-9)
    if len(bad):
        raise ModelError(
            f"probability[{starts[bad[0]]}:{outcome_offsets[bad[0] + 1]}]: got a sum "
            f"of {sums[bad[0]]}, wanted 1"
        )
    counts = np.diff(outcome_offsets)
    sums[np.abs(sums - 1.0) <= 2.0**-52 * counts] = 1.0  # so that doing it twice changes nothing
    return _frozen(array / np.repeat(sums, counts), np.float64)
