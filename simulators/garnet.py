"""Random worlds with chance of a given size, as arrays: something to measure regret on."""

import numpy as np

from mcts_core.config import MAX_SEED, check_int, check_real
from mcts_core.errors import ModelTooLargeError
from simulators.tabular import TabularModel

__all__ = ["garnet"]

MOST_OUTCOMES = 2**26


def garnet(
    states: int = 100,
    actions: int = 4,
    outcomes: int = 3,
    *,
    chance: float = 0.5,
    ends: float = 0.1,
    loss: float = 0.0,
    seed: int = 0,
) -> TabularModel:
    """A Garnet model (Archibald, McKinnon & Thomas 1995, "On the generation of Markov decision
    processes"), with a share of certain actions and steps that end the world.

    Each state has the same number of actions. An action with chance has ``outcomes`` outcomes whose
    probabilities are the gaps between sorted uniform numbers, a certain one has one; each leads to
    a state drawn uniformly and pays a reward drawn uniformly from -1 to 1. Every state is worth 0
    where a search ends. With a ``loss`` chance is what looks good and rarely is not: the least
    probable outcome of an action with chance pays minus the loss, the others the absolute value of
    what they would pay.

    Args:
        states: 1 or more; state 0 is a root as good as any.
        actions: of each state, 1 or more.
        outcomes: of an action with chance, 2 or more.
        chance: the probability that an action has chance, 0 to 1.
        ends: the probability that an outcome ends the world, 0 to 1.
        loss: 0 to 1,000; 0: none.
        seed: which world, 0 to 2**64 - 1.

    Raises:
        ConfigError: an argument is out of its range.
        ModelTooLargeError: more than 2**26 outcomes could be needed.
    """
    check_int("states", states, 1, MOST_OUTCOMES)
    check_int("actions", actions, 1, MOST_OUTCOMES)
    check_int("outcomes", outcomes, 2, MOST_OUTCOMES)
    check_real("chance", chance, 0.0, 1.0)
    check_real("ends", ends, 0.0, 1.0)
    check_real("loss", loss, 0.0, 1000.0)
    check_int("seed", seed, 0, MAX_SEED)
    if states * actions * outcomes > MOST_OUTCOMES:
        raise ModelTooLargeError(f"{states * actions * outcomes} outcomes, above {MOST_OUTCOMES}")
    rng = np.random.default_rng(seed)
    choices = states * actions
    uncertain = rng.random(choices) < chance
    cuts = np.sort(rng.random((choices, outcomes - 1)), axis=1)
    edges = np.hstack((np.zeros((choices, 1)), cuts, np.ones((choices, 1))))
    probability = np.where(uncertain[:, None], np.diff(edges, axis=1), np.eye(1, outcomes))
    reward = rng.uniform(-1.0, 1.0, probability.shape)
    if loss > 0.0:
        least = np.arange(outcomes) == probability.argmin(axis=1)[:, None]
        risky = np.where(least, -loss, np.abs(reward))
        reward = np.where(uncertain[:, None], risky, reward)
    taken = probability > 0.0
    count = int(taken.sum())
    return TabularModel(
        np.arange(states + 1) * actions,
        np.concatenate(([0], np.cumsum(taken.sum(axis=1)))),
        rng.integers(0, states, count),
        reward[taken],
        probability=probability[taken],
        terminal=rng.random(count) < ends,
    )
