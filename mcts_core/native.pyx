"""The base class of everything that the engine can search, and simulators given as addresses."""

cimport cython
from libc.stdint cimport int32_t, uint64_t, uintptr_t
from libc.string cimport memcpy

from mcts_core.errors import SimulatorCallError, SimulatorError


cdef class SimulatorHandle:
    """A simulator in the form that the engine calls: see ``native.pxd`` for the C table.

    Python code makes one through ``simulators`` (explicit models, Python objects); Cython code
    subclasses it and fills ``table`` in ``__cinit__``.
    """

    @property
    def needs_gil(self):
        """True if the simulator uses Python objects: threads cannot share it."""
        return self.table.needs_gil != 0

    cdef int pack_root(self, object state, void *buffer) except -1:
        raise NotImplementedError(f"{type(self).__name__} does not define pack_root")

    cdef object state_object(self, const void *state):
        return None

    cdef object action_object(self, const void *state, int32_t action):
        return int(action)

    cdef object take_error(self):
        return None

    cdef object state_batch(self, object states):
        cdef const unsigned char[:, ::1] rows = states
        cdef Py_ssize_t i
        return [self.state_object(&rows[i, 0]) for i in range(rows.shape[0])]


cdef int32_t one_of_many(void *context, const void *state, int32_t action) noexcept nogil:
    """``outcomes`` of a world with chance that lists none."""
    return 0


cdef int32_t bytes_key(void *context, const void *state, uint64_t *out) noexcept nogil:
    """A hash of the bytes of a state (FNV-1a over words, finished as SplitMix64 does): states that
    differ have the same key once in 2**64 pairs."""
    cdef size_t size = (<const size_t *>context)[0], i = 0
    cdef uint64_t key = 0xCBF29CE484222325U, word
    while i < size:
        word = 0
        memcpy(&word, <const char *>state + i, min(size - i, <size_t>8))
        key = (key ^ word) * 0x100000001B3U
        key ^= key >> 29
        i += 8
    key = (key ^ (key >> 30)) * 0xBF58476D1CE4E5B9U
    key = (key ^ (key >> 27)) * 0x94D049BB133111EBU
    out[0] = key ^ (key >> 31)
    return 0


@cython.final
cdef class AddressSimulator(SimulatorHandle):
    """A simulator given as addresses of C functions (``native.pxd`` says of which types), made by
    numba, ctypes, cffi or anything else. It is searched without the GIL.

    Args:
        state_size: bytes of a state, >= 1.
        pack: root state as a Python object -> ``state_size`` bytes.
        unpack: ``state_size`` bytes -> a Python object, for results and messages.
        legal: address of a ``legal_t``; likewise the others, 0 where there is none.
        step: a ``step_t``.
        evaluate: an ``evaluate_t``.
        prior: a ``prior_t``.
        outcomes: an ``outcomes_t``.
        probabilities: a ``probabilities_t``, for ``outcomes``.
        key: a ``key_t``; 0: states are the same if their bytes are. The functions get as context
            the address of ``state_size``.
        rollout: a ``rollout_t``.
        stochastic: True if ``step`` draws and there is no ``outcomes``: the engine then tells
            outcomes apart by their bytes.
        dtype: of a state, if it has one: batches of states are arrays of it then, else lists of
            what ``unpack`` returns.
        keep: an object that must live as long as the addresses.

    Raises:
        SimulatorError: an address that must be there is 0, or ``state_size`` is below 1.
    """

    def __init__(self, state_size, pack, unpack, *, uintptr_t legal, uintptr_t step,
                 uintptr_t evaluate=0, uintptr_t prior=0, uintptr_t outcomes=0,
                 uintptr_t probabilities=0, uintptr_t key=0, uintptr_t rollout=0,
                 bint stochastic=False, dtype=None, keep=None):
        if state_size < 1:
            raise SimulatorError(f"state_size: got {state_size}, wanted at least 1 byte")
        if legal == 0 or step == 0:
            missing = "step" if legal else "legal"
            raise SimulatorError(f"{missing}: got address 0, wanted a function")
        self.pack = pack
        self.unpack = unpack
        self.dtype = dtype
        self.keep = keep
        self.table.state_size = state_size
        self.table.legal = <legal_t>legal
        self.table.step = <step_t>step
        self.table.evaluate = <evaluate_t>evaluate
        self.table.prior = <prior_t>prior
        self.table.outcomes = <outcomes_t>outcomes
        self.table.probabilities = <probabilities_t>probabilities
        self.table.context = &self.table.state_size
        self.table.key = <key_t>key if key else bytes_key
        self.table.rollout = <rollout_t>rollout
        if stochastic and outcomes == 0:
            self.table.outcomes = one_of_many

    cdef int pack_root(self, object state, void *buffer) except -1:
        cdef bytes packed = bytes(self.pack(state))
        if len(packed) != <Py_ssize_t>self.table.state_size:
            raise SimulatorError(f"root_state: got {len(packed)} bytes from pack, wanted "
                                 f"{self.table.state_size}")
        memcpy(buffer, <const char *>packed, self.table.state_size)
        return 0

    cdef object take_error(self):
        return SimulatorCallError("a compiled function of the simulator raised or returned what it "
                                  "must not; its message is lost: call it in plain Python")

    cdef object state_object(self, const void *state):
        return self.unpack((<const char *>state)[:self.table.state_size])

    cdef object state_batch(self, object states):
        if self.dtype is None:
            return SimulatorHandle.state_batch(self, states)
        return states.view(self.dtype)[:, 0]
