"""The base class of everything that the engine can search."""


cdef class SimulatorHandle:
    """A simulator in the form that the engine calls: see ``native.pxd`` for the C table.

    Python code makes one through ``simulators`` (explicit models, Python objects); Cython code
    subclasses it and fills ``table`` in ``__cinit__``.
    """

    cdef int pack_root(self, object state, void *buffer) except -1:
        raise NotImplementedError(f"{type(self).__name__} does not define pack_root")

    cdef object state_object(self, const void *state):
        return None

    cdef object action_object(self, const void *state, int32_t action):
        return int(action)

    cdef object take_error(self):
        return None
