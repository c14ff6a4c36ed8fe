"""The random generator, inlined into the search: SplitMix64 (Steele, Lea & Flood 2014)."""

from libc.stdint cimport int32_t, uint64_t


cdef inline uint64_t next_u64(uint64_t *state) noexcept nogil:
    """The next 64 bits; ``state`` is the whole state of the generator."""
    cdef uint64_t z
    state[0] += 0x9E3779B97F4A7C15U
    z = state[0]
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBU
    return z ^ (z >> 31)


cdef inline double uniform(uint64_t *state) noexcept nogil:
    """A double in [0, 1), 53 random bits."""
    return <double>(next_u64(state) >> 11) * (1.0 / 9007199254740992.0)


cdef inline int32_t below(uint64_t *state, int32_t n) noexcept nogil:
    """An integer in [0, n), n >= 1 (Lemire 2019 without rejection: bias < n / 2**32)."""
    return <int32_t>(((next_u64(state) >> 32) * <uint64_t>n) >> 32)


cdef class SplitMix64:
    cdef uint64_t state
