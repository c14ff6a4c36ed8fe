"""The source of a row kernel: a rule's score in a loop that LLVM vectorises, and its maximum.

Scores go to a buffer on the stack, a chunk at a time. Doubles are compared as integers there: LLVM
does not vectorise a maximum of floats, whose nan and signed zeros forbid it (no fast-math here).
A short row is scored and compared child by child.
"""

__all__ = ["ROW", "source_of"]

COMMON = '''
import numba
import numpy as np
from llvmlite import ir
from numba import carray, float64, int32, int64, types, uint64
from numba.core import cgutils
from numba.extending import intrinsic

CHUNK = 256     # children scored before they are compared: 2 KB of stack
SHORT = 12      # below so many, vectors cost more than they save
LOWEST = int64(-(2**63))
BUT_SIGN = int64(2**63 - 1)
njit = numba.njit(error_model="numpy", forceinline=True)


@intrinsic
def stack_buffer(typing_context):
    """A pointer to CHUNK + 1 doubles that last until the function returns."""

    def make(context, builder, signature, arguments):
        return cgutils.alloca_once(builder, ir.DoubleType(), size=CHUNK + 1)

    return types.CPointer(types.float64)(), make


@njit
def score_of(i, row, known, low, scale, parent_visits, exploration):
    """The score of child i; nan counts as -inf. Indices are unsigned: numba would have negative
    ones count from the end, and loads that may are no vectors."""
    visits = float64(row[0][i])
    value = row[1][i]
    prior = float64(row[3][i])
    q = (value - low) * scale
    variance = {variance}
    score_ = float64(score({names}))
    return score_ if score_ == score_ else -np.inf


@njit
def ordered(bits):
    """The bits of a double as an integer in the order of doubles; its own inverse."""
    return bits ^ ((bits >> 63) & BUT_SIGN)


@njit
def largest(scores, count):
    """The largest of the first ``count`` scores, of which there is one."""
    bits = scores.view(np.int64)
    top = LOWEST
    for i in range(count):
        key = ordered(bits[uint64(i)])
        top = key if key > top else top
    bits[CHUNK] = ordered(top)
    return scores[CHUNK]


@njit
def best_of_short(row, count, known, low, scale, parent_visits, exploration):
    best, best_score = 0, -np.inf
    for i in range(count):
        now = score_of(uint64(i), row, known, low, scale, parent_visits, exploration)
        better = now > best_score
        best_score = now if better else best_score
        best = i if better else best
    return best, best_score


@njit
def best_of_long(row, count, known, low, scale, parent_visits, exploration):
    scores = carray(stack_buffer(), CHUNK + 1)
    best, best_score = 0, -np.inf
    for begin in range(0, count, CHUNK):
        size = min(CHUNK, count - begin)
        for i in range(size):
            at = uint64(begin) + uint64(i)
            now = score_of(at, row, known, low, scale, parent_visits, exploration)
            scores[uint64(i)] = now
        top = largest(scores, size)
        if top > best_score:
            i = 0
            while scores[uint64(i)] != top:
                i += 1
            best, best_score = begin + i, scores[uint64(i)]
    return best, best_score


@njit
def best_of(visits, value, square, prior, count, known, low, scale, parent_visits, exploration):
    row = (carray(visits, count), carray(value, count), carray(square, count), carray(prior, count))
    if count < SHORT:
        return best_of_short(row, count, known, low, scale, parent_visits, exploration)
    return best_of_long(row, count, known, low, scale, parent_visits, exploration)
'''

VARIANCE = "row[2][i] / visits * scale * scale if known and visits > 0.0 else 0.0"

# What the engine calls: row_t of selection.pxd. An exception in it would be printed and its result
# be garbage, so there is none: the first child is taken.
ROW = """
DOUBLES = types.CPointer(types.float64)


@numba.cfunc(
    types.int32(
        types.CPointer(types.int32), DOUBLES, DOUBLES, types.CPointer(types.float32), types.int32,
        types.int32, types.float64, types.float64, types.float64, DOUBLES,
    ),
    cache=CACHE,
)
def c_row(
    visits, value, square, prior, count, parent_visits, low, scale, exploration, best_score
):
    found = carray(best_score, 1)
    known = carray(square, 1).ctypes.data != 0
    parent = float64(max(parent_visits, 1))
    try:
        best, found[0] = best_of(
            visits, value, square, prior, count, known, low, scale, parent, exploration
        )
        return int32(best)
    except Exception:
        found[0] = -np.inf
        return int32(0)
"""


def source_of(names: tuple[str, ...], *, uses_variance: bool) -> str:
    """What ``ROW`` calls, for a rule whose function takes ``names``."""
    variance = VARIANCE if uses_variance else "0.0"
    return COMMON.replace("{variance}", variance).replace("{names}", ", ".join(names))
