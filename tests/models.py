"""Random explicit models for property tests, as hypothesis strategies."""

from typing import Any

from hypothesis import strategies as st

from mcts_core import SearchConfig
from simulators import TabularModel

# Nothing so small that a share of it underflows: scaling by a power of two is then exact.
finite = st.floats(-4.0, 4.0).map(lambda x: x if abs(x) > 1e-100 else 0.0)


@st.composite
def models(
    draw: st.DrawFn,
    *,
    most_states: int = 12,
    most_actions: int = 5,
    most_outcomes: int = 3,
    players: int = 2,
    root_has_actions: bool = False,
) -> TabularModel:
    """A model whose state 0 is the root; self-loops, dead ends, ties and chance all occur."""
    states = draw(st.integers(1, most_states))
    action_offsets, outcome_offsets = [0], [0]
    columns: dict[str, list[Any]] = {"next": [], "p": [], "reward": [], "terminal": []}
    rewards = st.one_of(finite, st.sampled_from([-1.0, 0.0, 1.0]))
    for state in range(states):
        least = 1 if root_has_actions and state == 0 else 0
        actions = draw(st.integers(least, most_actions))
        action_offsets.append(action_offsets[-1] + actions)
        for _ in range(actions):
            weights = draw(st.lists(st.integers(1, 9), min_size=1, max_size=most_outcomes))
            outcome_offsets.append(outcome_offsets[-1] + len(weights))
            for weight in weights:
                columns["next"].append(draw(st.integers(0, states - 1)))
                columns["p"].append(weight / sum(weights))
                columns["reward"].append(draw(rewards))
                columns["terminal"].append(draw(st.integers(0, 5)) == 0)
    return TabularModel(
        action_offsets,
        outcome_offsets,
        columns["next"],
        columns["reward"],
        probability=columns["p"],
        terminal=columns["terminal"],
        value=draw(st.lists(rewards, min_size=states, max_size=states)),
        player=draw(st.lists(st.integers(0, players - 1), min_size=states, max_size=states)),
    )


configs = st.builds(
    SearchConfig,
    simulations=st.integers(1, 120),
    max_depth=st.integers(1, 8),
    discount=st.sampled_from([0.0, 0.5, 0.95, 1.0]),
    selection=st.sampled_from(["puct", "ucb1", "ucb1_tuned"]),
    exploration=st.sampled_from([0.0, 0.5, 1.5, 10.0]),
    exploration_base=st.sampled_from([None, None, 50.0]),
    widening=st.sampled_from([None, None, (1.0, 0.5), (0.5, 0.9)]),
    chance=st.sampled_from(["expected", "mean"]),
    fpu=st.sampled_from(["first", "parent", 0.0, 0.5, 1.0]),
    value_range=st.sampled_from([None, (-1.0, 1.0), (-20.0, 20.0)]),
    evaluation=st.sampled_from(["simulator", "forced", "rollout"]),
    solver=st.booleans(),
    prior_mix=st.sampled_from([0.0, 0.25, 1.0]),
    seed=st.integers(0, 2**64 - 1),
)

decisive_configs = st.builds(
    lambda config, limit: config.replace(evaluation="decisive", value_range=(-limit, limit)),
    configs,
    st.sampled_from([0.5, 1.0, 4.0]),
)
"""For worlds without chance; the bounds are those of a winning reward, not of the returns."""


def chain(length: int, last_reward: float = 1.0) -> TabularModel:
    """One state after another, one action each, the last step pays and ends."""
    return TabularModel(
        [*range(length + 1), length],
        range(length + 1),
        range(1, length + 1),
        [0.0] * (length - 1) + [last_reward],
        terminal=[0] * (length - 1) + [1],
    )


def arms(rewards: list[float]) -> TabularModel:
    """A deterministic bandit: one state, an action for each reward, each ends the world."""
    return TabularModel(
        [0, len(rewards), len(rewards)],
        range(len(rewards) + 1),
        [1] * len(rewards),
        rewards,
        terminal=[1] * len(rewards),
    )
