"""Worlds of three players for tests: a random tree in arrays, as Python and as native simulator."""

from typing import Any

import numpy as np

from mcts_core import ManyPlayerStep, SearchConfig
from mcts_core.native import AddressSimulator
from simulators.native import Actions, Rng, State, compile_simulator

PLAYERS = 3
INNER = 121  # nodes with three children each, node n has 3 n + 1, 3 n + 2, 3 n + 3: five levels
_DRAW = np.random.default_rng(11)
MOVER = _DRAW.integers(0, PLAYERS, 3 * INNER + 1)
REWARD = _DRAW.uniform(-0.2, 0.2, (3 * INNER + 1, PLAYERS))  # on arrival
WORTH = _DRAW.uniform(-1.0, 1.0, (3 * INNER + 1, PLAYERS))  # what evaluate says
WEIGHT = _DRAW.uniform(0.1, 1.0, (3 * INNER + 1, PLAYERS))  # priors


class RandomTree:
    """States are the numbers of nodes."""

    players = PLAYERS

    def player(self, state: int) -> int:
        return int(MOVER[state])

    def actions(self, state: int) -> tuple[int, ...]:
        return (0, 1, 2) if state < INNER else ()

    def step(self, state: int, action: int) -> ManyPlayerStep[int]:
        to = 3 * state + 1 + action
        return ManyPlayerStep(to, tuple(REWARD[to].tolist()), to >= INNER)

    def evaluate(self, state: int) -> tuple[float, ...]:
        return tuple(WORTH[state].tolist())

    def priors(self, state: int, actions: tuple[int, ...]) -> list[float]:
        return WEIGHT[state].tolist()  # type: ignore[no-any-return]


def _legal(state: State, actions: Actions) -> int:
    for action in range(3):
        actions[action] = action
    return 3 if state.node < INNER else 0


def _step(state: State, action: int, rng: Rng) -> tuple[tuple[float, float, float], bool]:
    state.node = 3 * state.node + 1 + action
    gained = REWARD[state.node]
    return (gained[0], gained[1], gained[2]), state.node >= INNER


def _evaluate(state: State) -> tuple[float, float, float]:
    worth = WORTH[state.node]
    return worth[0], worth[1], worth[2]


def _prior(state: State, weights: Any) -> None:
    weights[:] = WEIGHT[state.node]


def _player(state: State) -> int:
    return int(MOVER[state.node])


def native_tree() -> AddressSimulator:
    """``RandomTree``, compiled; roots are (node,)."""
    return compile_simulator(
        [("node", np.int64)],
        legal=_legal,
        step=_step,
        evaluate=_evaluate,
        prior=_prior,
        player=_player,
        players=PLAYERS,
        max_actions=3,
    )


def max_n(state: int, discount: float = 1.0) -> tuple[np.ndarray[Any, Any], list[float]]:
    """The returns of all from a node on where each takes what is best for themselves (Luckhardt &
    Irani 1986), and what each action is worth to the one who moves."""
    if state >= INNER:
        return WORTH[state], []
    ahead = [
        REWARD[to] + discount * max_n(to, discount)[0] for to in range(3 * state + 1, 3 * state + 4)
    ]
    worths = [float(returns[MOVER[state]]) for returns in ahead]
    return ahead[int(np.argmax(worths))], worths


RULES = (
    SearchConfig(500, selection="puct"),
    SearchConfig(500, selection="ucb1", evaluation="rollout", seed=3),
    SearchConfig(500, selection="ucb1_tuned", discount=0.9),
    SearchConfig(500, selection="gumbel", root="gumbel", seed=1),
    SearchConfig(500, normalisation="node", fpu="parent", exploration_base=100.0),
    SearchConfig(500, selection="ucb1", widening=(1.0, 0.3), max_depth=3),
    SearchConfig(500, selection="ucb1_numba", evaluation="rollout"),
    SearchConfig(500, noise_fraction=0.25, prior_mix=0.1, value_range=(-2.0, 2.0), seed=8),
)
