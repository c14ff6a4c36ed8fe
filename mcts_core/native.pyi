from typing_extensions import disjoint_base

@disjoint_base
class SimulatorHandle:
    """A simulator in the form that the engine calls: see ``native.pxd`` for the C table.

    Python code makes one through ``simulators`` (explicit models, Python objects); Cython code
    subclasses it and fills ``table`` in ``__cinit__``.
    """
