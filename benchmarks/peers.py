"""Other engines on the same work, each optional: a peer that is not installed says so, no more.

They live in an interpreter of their own (their dependencies are large), which answers one line
of JSON for each that it reads:

    PEERS_PYTHON -m benchmarks.peers          # ask it, as benchmarks.engine_speed does
    {"peer": "multimcts", "world": "route", "simulations": 1000}
    {"seconds": 0.0107, "simulations": 1000}

One is made by

    python3.11 -m venv /tmp/peers
    make bench-peers    # .venv-peers: the extra `peers`, then LightZero and gumbel-mcts without
                        # their dependencies, which are many and old

Worlds: "connect_four" with random rollouts; "tree", the tree alone, every leaf worth the same;
"batches", the same with as many leaves a call of the evaluator as there are trees; "route", a
simulator of 8 tools x 6 steps written in Python, with random rollouts. Each adapter
gives its peer the best case: immutable states with slots, answers kept, no deep copies.
"""

import importlib
import importlib.metadata
import importlib.util
import json
import math
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, Final

from benchmarks.peer_worlds import STATES, for_multimcts, for_two_sides

__all__ = ["PEERS", "Peer", "Work", "measure", "version"]

Run = Callable[[], int]
"""One search from scratch; returns the simulations that it ran."""


@dataclass(frozen=True, slots=True)
class Work:
    """One cell of the table. ``branching`` and ``depth`` are the tree's, ``simulations`` those of
    each of ``trees``."""

    world: str
    simulations: int
    branching: int = 8
    depth: int = 6
    trees: int = 1


@dataclass(frozen=True, slots=True)
class Peer:
    """An engine with its adapter.

    Attributes:
        name: as in the table.
        package: as on PyPI.
        worlds: those that it can be given.
        most: simulations of a tree beyond which it takes too long or too much memory.
        prepare: compile and warm up what a user would once; returns what is measured.
        needs: modules to import, beside the package, for it to work.
    """

    name: str
    package: str
    worlds: tuple[str, ...]
    most: int
    prepare: Callable[[Work], Run]
    needs: tuple[str, ...] = ()


def _openspiel(work: Work) -> Run:
    """C++ bot, C++ game, C++ rollouts."""
    pyspiel = importlib.import_module("pyspiel")
    game = pyspiel.load_game("connect_four")
    # seed 1; memory 1,000 MB; no solver; quiet.
    evaluator = pyspiel.RandomRolloutEvaluator(1, 1)
    bot = pyspiel.MCTSBot(game, evaluator, math.sqrt(2), work.simulations, 1000, False, 1, False)
    state = game.new_initial_state()

    def run() -> int:
        bot.mcts_search(state)
        return work.simulations

    return run


def _mctx(work: Work, *, policy: str, trees: int) -> Run:
    """XLA; the compiled search is kept, as by a user who searches again and again."""
    jax, mctx = importlib.import_module("jax"), importlib.import_module("mctx")
    numpy = jax.numpy
    logits = numpy.zeros((trees, work.branching))
    value = numpy.full((trees,), 0.5)

    def step(params: Any, key: Any, action: Any, embedding: Any) -> tuple[Any, Any]:
        nothing = numpy.zeros((trees,))
        output = mctx.RecurrentFnOutput(
            reward=nothing, discount=nothing + 1.0, prior_logits=logits, value=value
        )
        return output, embedding

    def search(key: Any) -> Any:
        root = mctx.RootFnOutput(prior_logits=logits, value=value, embedding=numpy.zeros((trees,)))
        search_with = getattr(mctx, f"{policy}_policy")
        output = search_with(
            (), key, root, step, num_simulations=work.simulations, max_depth=work.depth
        )
        return output.action

    compiled = jax.jit(search)
    key = jax.random.PRNGKey(0)
    compiled(key).block_until_ready()

    def run() -> int:
        compiled(key).block_until_ready()
        return work.simulations * trees

    return run


@cache
def _module_at(package: str, pattern: str, name: str) -> Any:
    """A module by its file: its own package's ``__init__`` would import half of a laboratory."""
    files = importlib.metadata.files(package) or []
    path = next(Path(str(f.locate())) for f in files if f.match(pattern))
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _lightzero(work: Work, *, trees: int) -> Run:
    """The C++ tree of MuZero, driven as LightZero's own search drives it, values constant."""
    name = "lzero.mcts.ctree.ctree_muzero.mz_tree"
    tree = _module_at("LightZero", "lzero/mcts/ctree/ctree_muzero/mz_tree*.so", name)
    zeros, values = [0.0] * trees, [0.5] * trees
    logits = [[0.0] * work.branching for _ in range(trees)]
    alone = [-1] * trees  # one player
    legal = [list(range(work.branching)) for _ in range(trees)]

    def run() -> int:
        roots = tree.Roots(trees, legal)
        roots.prepare_no_noise(zeros, logits, alone)
        ranges = tree.MinMaxStatsList(trees)
        ranges.set_delta(0.01)
        for simulation in range(1, work.simulations + 1):
            results = tree.ResultsWrapper(num=trees)
            *_, players = tree.batch_traverse(roots, 19652, 1.25, 1.0, ranges, results, list(alone))
            tree.batch_backpropagate(
                simulation, 1.0, zeros, values, logits, ranges, results, players
            )
        return work.simulations * trees

    return run


def _gumbel_mcts(work: Work, *, trees: int) -> Run:
    """numba kernels around a torch model, here a constant one; its PUCT is its fastest."""
    numba, np = importlib.import_module("numba"), importlib.import_module("numpy")
    torch, package = importlib.import_module("torch"), importlib.import_module("gumbel_mcts")
    branching, depth = work.branching, work.depth

    @numba.njit  # type: ignore[untyped-decorator]
    def fast_step(board: Any, action: Any, player: Any) -> Any:
        board[0, 0] += 1
        return 0.0, 0, board[0, 0] >= depth, board

    @numba.njit  # type: ignore[untyped-decorator]
    def get_valid_mask(board: Any, player: Any) -> Any:
        return np.ones(branching, dtype=np.float32)

    class Logic:
        NUM_ACTIONS = MAX_LEGAL_MOVES = branching
        BOARD_SHAPE = (1, 1)
        MAX_MOVES = depth
        PLAYER_1, PLAYER_2 = 1, 2

    Logic.fast_step = staticmethod(fast_step)  # type: ignore[attr-defined]
    Logic.get_valid_mask = staticmethod(get_valid_mask)  # type: ignore[attr-defined]
    policy = torch.full((trees, branching), 1.0 / branching)
    value = torch.zeros(trees)

    class Model:
        logic = Logic

        def forward_for_mcts(self, batch: dict[str, Any]) -> dict[str, Any]:
            count = len(batch["boards"])
            return {"policy": policy[:count], "value": value[:count]}

    search = package.PUCT(trees, trees * (work.simulations + 2) + 2, Logic, device="cpu")
    board = np.zeros((trees, 1, 1), dtype=np.int8)
    model, players, games = Model(), np.ones(trees, dtype=np.int8), list(range(trees))

    def run() -> int:
        search.reset()
        search.initialize_roots(games, board, players)
        search.run_simulation_batch(model, games, num_simulations=work.simulations)
        return work.simulations * trees

    run()
    return run


def _multimcts(work: Work) -> Run:
    module = importlib.import_module("multimcts")
    root = for_multimcts(module.GameState, work.world, work.branching, work.depth)
    search = module.MCTS()

    def run() -> int:
        search.search(root, max_iterations=work.simulations)
        return work.simulations

    return run


def _mcts(work: Work) -> Run:
    """It believes that an opponent helps, so its games of connect four are short ones."""
    module = _module_at("mcts", "mcts.py", "mcts_1")
    root = STATES[work.world](work.branching, work.depth)
    settings = {"rolloutPolicy": _constant} if work.world == "tree" else {}

    def run() -> int:
        module.mcts(iterationLimit=work.simulations, **settings).search(root)
        return work.simulations

    return run


def _monte_carlo_tree_search(work: Work) -> Run:
    module = importlib.import_module("mcts.searcher.mcts")
    root = for_two_sides(work.world, work.branching, work.depth)
    settings = {"rolloutPolicy": _constant} if work.world == "tree" else {}

    def run() -> int:
        module.MCTS(iterationLimit=work.simulations, **settings).search(root)
        return work.simulations

    return run


def _as_many_trees(prepare: Callable[..., Run], work: Work) -> Run:
    """A leaf of each tree is in each batch."""
    return prepare(work, trees=work.trees)


def _constant(state: object) -> float:
    return 0.5


PURE: Final = ("connect_four", "route", "tree")
PEERS: Final = {
    peer.name: peer
    for peer in (
        Peer("OpenSpiel C++", "open_spiel", ("connect_four",), 1_000_000, _openspiel, ("pyspiel",)),
        *(
            Peer(
                f"mctx {policy}, {trees} {'tree' if trees == 1 else 'trees'}",
                *("mctx", ("tree",), 10_000 if trees == 1 else 1_000),
                partial(_mctx, policy=f"{policy}_muzero" if policy == "gumbel" else policy,
                        trees=trees),
                ("jax", "mctx"),
            )
            for policy in ("gumbel", "muzero")
            for trees in (1, 64)
        ),
        Peer("LightZero ctree, 1 tree", "LightZero", ("tree",), 100_000,
             partial(_lightzero, trees=1)),
        Peer("LightZero ctree, 64 trees", "LightZero", ("tree",), 1_000,
             partial(_lightzero, trees=64)),
        Peer("gumbel-mcts PUCT, 64 trees", "gumbel-mcts", ("tree",), 1_000,
             partial(_gumbel_mcts, trees=64), ("numba", "torch", "gumbel_mcts")),
        Peer("LightZero ctree", "LightZero", ("batches",), 1_000,
             partial(_as_many_trees, _lightzero)),
        Peer("gumbel-mcts PUCT", "gumbel-mcts", ("batches",), 1_000,
             partial(_as_many_trees, _gumbel_mcts), ("numba", "torch", "gumbel_mcts")),
        Peer("mctx gumbel", "mctx", ("batches",), 1_000,
             partial(_as_many_trees, partial(_mctx, policy="gumbel_muzero")), ("jax", "mctx")),
        Peer("multimcts", "multimcts", PURE, 100_000, _multimcts, ("multimcts",)),
        Peer("mcts", "mcts", PURE, 100_000, _mcts),
        Peer("monte-carlo-tree-search", "monte-carlo-tree-search", PURE, 100_000,
             _monte_carlo_tree_search, ("mcts.searcher.mcts",)),
    )
}  # fmt: skip


def version(peer: Peer) -> str | None:
    """The installed version, or None where the peer cannot be used."""
    try:
        for name in peer.needs:
            importlib.import_module(name)
        return importlib.metadata.version(peer.package)
    except ImportError:  # PackageNotFoundError is one
        return None


@cache
def _prepared(peer: str, work: Work) -> Run:
    return PEERS[peer].prepare(work)


def measure(peer: str, work: Work) -> dict[str, float]:
    """One search, after preparations: its seconds of wall time and its simulations in all."""
    run = _prepared(peer, work)
    start = time.perf_counter()
    simulations = run()
    return {"seconds": time.perf_counter() - start, "simulations": simulations}


def answers(lines: Iterator[str]) -> Iterator[dict[str, Any]]:
    """The answer to each line; the first of all says which peers there are."""
    yield {name: version(peer) for name, peer in PEERS.items()}
    for line in lines:
        asked = json.loads(line)
        name = asked.pop("peer")
        try:
            yield dict(measure(name, Work(**asked)))
        except Exception as error:  # a peer's trouble is a line in the table
            yield {"error": f"{type(error).__name__}: {error}"}


def main() -> None:
    """Answer until the input ends."""
    out = sys.stdout
    sys.stdout = sys.stderr  # what a peer prints is no answer
    for answer in answers(iter(sys.stdin.readline, "")):
        print(json.dumps(answer), file=out, flush=True)


if __name__ == "__main__":
    main()
