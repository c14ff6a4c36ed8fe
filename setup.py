"""The compiled modules and their Cython directives; everything else is in pyproject.toml.

HARNESS_ROUTER_DEBUG=1 builds with bounds checks, assertions and annotated HTML beside the sources.
HARNESS_ROUTER_SANITIZE=thread (or another that -fsanitize knows) builds for that sanitizer, whose
library must then be loaded before Python: see the Makefile, race.
"""

import os

from Cython.Build import cythonize
from setuptools import Extension, setup

DEBUG = os.environ.get("HARNESS_ROUTER_DEBUG") == "1"
SANITIZER = os.environ.get("HARNESS_ROUTER_SANITIZE", "")

MODULES = (
    "mcts_core.advance",
    "mcts_core.backup",
    "mcts_core.batch",
    "mcts_core.context",
    "mcts_core.decisive",
    "mcts_core.evaluation",
    "mcts_core.exact",
    "mcts_core.expansion",
    "mcts_core.gumbel",
    "mcts_core.many_players",
    "mcts_core.native",
    "mcts_core.proof",
    "mcts_core.readout",
    "mcts_core.reuse",
    "mcts_core.rng",
    "mcts_core.root",
    "mcts_core.search",
    "mcts_core.settings",
    "mcts_core.shared",
    "mcts_core.simulation",
    "mcts_core.transpositions",
    "mcts_core.tree",
    "mcts_core.variants",
    "simulators.answers",
    "simulators.python",
    "simulators.slots",
    "simulators.tabular",
)

# -ffp-contract=off: no fused multiply-add, so that results equal mcts_core.reference bit for bit.
FLAGS = ["-O1", "-g", "-UNDEBUG"] if DEBUG else ["-O3", "-g0"]
if SANITIZER:
    FLAGS = ["-O1", "-g", f"-fsanitize={SANITIZER}"]
# The way down is one function at run time: gcc alone would make calls of its parts, a third slower.
INLINE = [("CYTHON_INLINE", "__inline__ __attribute__((always_inline, unused))")]
extensions = [
    Extension(
        name,
        [name.replace(".", "/") + ".pyx"],
        depends=["mcts_core/rows.h"],
        include_dirs=["."],
        define_macros=INLINE if name == "mcts_core.simulation" and os.name == "posix" else [],
        extra_compile_args=[*FLAGS, "-ffp-contract=off", "-fno-math-errno"],
        extra_link_args=[f"-fsanitize={SANITIZER}"] if SANITIZER else [],
    )
    for name in MODULES
]

setup(
    ext_modules=cythonize(
        extensions,
        annotate=DEBUG,
        build_dir=None if DEBUG else "build/cython",
        compiler_directives={
            "language_level": 3,
            "boundscheck": DEBUG,
            "initializedcheck": DEBUG,
            "wraparound": False,
            "cdivision": True,
            "auto_pickle": False,
            "autotestdict": False,
            "embedsignature": True,
        },
    )
)
