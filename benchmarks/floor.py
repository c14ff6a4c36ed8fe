"""The floor of the engine's speed: floor.c, compiled on demand into build/floor and called.

python -m benchmarks.floor [--simulations 10000]
"""

import ctypes
import hashlib
import os
import platform
import shutil
import statistics
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, Literal

import click

__all__ = ["CONNECT_FOUR_EXPLORATION", "FloorError", "FloorRun", "compiler", "floor_search"]
__all__ += ["is_vectorised", "random_games"]

Kind = Literal["connect_four", "ucb1", "puct"]

HERE: Final = Path(__file__).resolve().parent
SOURCES: Final = (HERE / "floor.c", HERE / "floor_tree.h")
BUILD: Final = HERE.parent / "build" / "floor"
# No fused multiply-add: connect four then grows the engine's tree bit for bit.
FLAGS: Final = ("-O3", "-march=native", "-ffp-contract=off", "-fno-math-errno")
KINDS: Final[dict[Kind, int]] = {"connect_four": 0, "ucb1": 1, "puct": 2}
CONNECT_FOUR_EXPLORATION: Final = 0.5**0.5
"""sqrt(2) on returns of -1 to 1, in units of their range as ``SearchConfig`` counts it."""


class FloorError(RuntimeError):
    """The floor cannot be had here; the message says why."""


@dataclass(frozen=True, slots=True)
class FloorRun:
    """What the floor did.

    Attributes:
        seconds: [repeats] wall time of each run, the arena and the tables already there but for
            the first run of a size.
        root_visits: [branching] of one run; all runs are alike.
        nbytes: size of the tree.
    """

    seconds: tuple[float, ...]
    root_visits: tuple[int, ...]
    nbytes: int


def compiler() -> str | None:
    """Path of the C compiler, from $CC or cc; None if there is none."""
    return shutil.which(os.environ.get("CC", "cc"))


@cache
def _library() -> ctypes.CDLL:
    command = compiler()
    if command is None:
        raise FloorError("no C compiler: neither $CC nor cc is there")
    # -march=native: a build is for this compiler and this processor.
    version = subprocess.run([command, "--version"], capture_output=True, check=True).stdout
    text = b"".join(source.read_bytes() for source in SOURCES)
    machine = (cpu_model() + platform.machine() + " ".join(FLAGS)).encode()
    library = BUILD / f"floor-{hashlib.sha256(text + version + machine).hexdigest()[:16]}.so"
    if not library.exists():
        BUILD.mkdir(parents=True, exist_ok=True)
        fresh = library.with_suffix(f".{os.getpid()}.tmp")
        build = [command, *FLAGS, "-shared", "-fPIC", "-o", str(fresh), str(SOURCES[0]), "-lm"]
        done = subprocess.run(build, capture_output=True, text=True, check=False)
        if done.returncode:
            raise FloorError(f"{command} cannot compile {SOURCES[0].name}: {done.stderr.strip()}")
        fresh.replace(library)
    loaded = ctypes.CDLL(str(library))
    loaded.floor_search.restype = ctypes.c_int64
    loaded.floor_rollouts.restype = ctypes.c_double
    return loaded


def floor_search(
    kind: Kind,
    simulations: int,
    *,
    branching: int = 7,
    depth: int = 42,
    seed: int = 0,
    exploration: float = 1.5,
    ahead: bool = True,
    repeats: int = 1,
) -> FloorRun:
    """Search from scratch, ``repeats`` times.

    Args:
        kind: connect four with random rollouts (UCB1), or the tree alone with UCB1 or PUCT.
        simulations: of each run, 1 to 2**31 - 1.
        branching: of the tree, 1 to 65,536; connect four has 7.
        depth: horizon of the tree, 1 to 64; without effect in connect four.
        seed: of connect four's rollouts.
        exploration: in units of the range of values.
        ahead: fix a node's next choice at the backup before; False: choose on the way down. The
            tree is the same.
        repeats: at least 1.

    Raises:
        FloorError: there is no compiler, or no memory.
        ValueError: an argument is out of range.
    """
    if repeats < 1 or not 1 <= branching <= 65536 or not 1 <= simulations < 2**31:
        raise ValueError(f"{repeats=}, {branching=} or {simulations=} is out of range")
    seconds, visits = (ctypes.c_double * repeats)(), (ctypes.c_int32 * branching)()
    status = _library().floor_search(
        *(ctypes.c_int(KINDS[kind]), ctypes.c_int32(branching), ctypes.c_int32(depth)),
        *(ctypes.c_int32(simulations), ctypes.c_uint64(seed), ctypes.c_double(exploration)),
        *(ctypes.c_int(ahead), ctypes.c_int32(repeats), seconds, visits),
    )
    if status == -1:
        raise FloorError("no memory for the arena")
    if status < 0:
        raise ValueError(f"the floor refuses {kind=}, {branching=}, {depth=}, {simulations=}")
    return FloorRun(tuple(seconds), tuple(visits), status)


def random_games(games: int, seed: int = 0) -> tuple[float, tuple[int, int, int]]:
    """Random games of connect four: seconds in all, and how many the first player won, drew, lost.

    Raises:
        FloorError: there is no compiler.
    """
    outcomes = (ctypes.c_int64 * 3)()
    seconds = _library().floor_rollouts(ctypes.c_int32(games), ctypes.c_uint64(seed), outcomes)
    return seconds, (outcomes[0], outcomes[1], outcomes[2])


def is_vectorised() -> bool:
    """Whether the floor scores rows by AVX-512; without, it is a floor of plain loops."""
    return bool(_library().floor_vector())


def cpu_model() -> str:
    """The processor's name as the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.machine()


@click.command(help=__doc__)
@click.option("--simulations", default=10_000, show_default=True)
@click.option("--repeats", default=9, show_default=True)
def main(simulations: int, repeats: int) -> None:
    """Print what the floor reaches, in million simulations a second."""
    seconds, _ = random_games(200_000)
    click.echo(f"rollout from the empty board: {seconds / 200_000 * 1e9:.0f} ns")
    worlds: list[tuple[Kind, int, int]] = [("connect_four", 7, 42)]
    worlds += [(rule, b, d) for rule in ("ucb1", "puct") for b, d in ((8, 6), (64, 3), (256, 2))]
    for kind, branching, depth in worlds:
        speeds = []
        for ahead in (False, True):
            run = floor_search(
                *(kind, simulations),
                branching=branching,
                depth=depth,
                ahead=ahead,
                repeats=repeats,
                exploration=CONNECT_FOUR_EXPLORATION if kind == "connect_four" else 1.5,
            )
            speeds.append(simulations / statistics.median(run.seconds) / 1e6)
        name = f"{kind} {branching} x {depth}"
        click.echo(f"{name:<24}{speeds[0]:>8.2f} on the way down{speeds[1]:>8.2f} ahead")


if __name__ == "__main__":
    main()
