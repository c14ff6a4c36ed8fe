from collections.abc import Callable
from typing import Any, final

from typing_extensions import disjoint_base

@disjoint_base
class SimulatorHandle:
    """A simulator in the form that the engine calls: see ``native.pxd`` for the C table.

    Python code makes one through ``simulators`` (explicit models, Python objects); Cython code
    subclasses it and fills ``table`` in ``__cinit__``.
    """

    @property
    def needs_gil(self) -> bool:
        """True if the simulator uses Python objects: threads cannot share it."""

@final
class AddressSimulator(SimulatorHandle):
    """A simulator given as addresses of C functions (``native.pxd`` says of which types), made by
    numba, ctypes, cffi or anything else. It is searched without the GIL.
    """

    def __init__(
        self,
        state_size: int,
        pack: Callable[[Any], bytes],
        unpack: Callable[[bytes], object],
        *,
        legal: int,
        step: int,
        evaluate: int = 0,
        prior: int = 0,
        outcomes: int = 0,
        probabilities: int = 0,
        key: int = 0,
        rollout: int = 0,
        stochastic: bool = False,
        dtype: object = None,
        keep: object = None,
    ) -> None: ...
