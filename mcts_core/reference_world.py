"""The reference search's world: an explicit model, stepped and rolled out in plain Python.

It draws and adds as the compiled engine does, see ``mcts_core.reference``.
"""

from dataclasses import dataclass

from mcts_core.config import SearchConfig
from mcts_core.simulator import ExplicitModel

__all__ = ["ReferenceWorld", "SplitMix64"]

MASK = 2**64 - 1


class SplitMix64:
    """The engine's random generator (Steele, Lea & Flood 2014, "Fast splittable PRNGs")."""

    def __init__(self, seed: int) -> None:
        self.state = seed & MASK

    def next_u64(self) -> int:
        """The next 64 bits."""
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return z ^ (z >> 31)

    def uniform(self) -> float:
        """A float in [0, 1), 53 random bits."""
        return (self.next_u64() >> 11) * 2.0**-53

    def below(self, n: int) -> int:
        """An integer in [0, n), n < 2**31 (Lemire 2019 without rejection: bias < n / 2**32)."""
        return ((self.next_u64() >> 32) * n) >> 32


@dataclass(slots=True)
class ReferenceWorld:
    """A model, the settings that say how its states are estimated, and the generator."""

    model: ExplicitModel
    config: SearchConfig
    rng: SplitMix64

    def action_count(self, state: int) -> int:
        offsets = self.model.action_offsets
        return int(offsets[state + 1] - offsets[state])

    def outcome_count(self, state: int, action: int) -> int:
        choice = int(self.model.action_offsets[state]) + action
        return int(self.model.outcome_offsets[choice + 1] - self.model.outcome_offsets[choice])

    def probabilities(self, state: int, action: int) -> list[float]:
        """Of the outcomes of an action."""
        choice = int(self.model.action_offsets[state]) + action
        first, last = (int(x) for x in self.model.outcome_offsets[choice : choice + 2])
        return [float(p) for p in self.model.probability[first:last]]

    def step(self, state: int, action: int) -> tuple[int, int, float, bool, bool]:
        """Sample (outcome, next state, reward, terminal, does the player to move change)."""
        model = self.model
        choice = int(model.action_offsets[state]) + action
        first, last = (int(x) for x in model.outcome_offsets[choice : choice + 2])
        edge = first
        if last - first > 1:
            u, cumulative = self.rng.uniform(), float(model.probability[first])
            while edge < last - 1 and u >= cumulative:
                edge += 1
                cumulative = cumulative + float(model.probability[edge])
        to = int(model.next_state[edge])
        flip = bool(model.player[to] != model.player[state])
        return edge - first, to, float(model.reward[edge]), bool(model.terminal[edge]), flip

    def evaluate(self, state: int, depth_left: int) -> float:
        """Discounted return from ``state`` for its player: forced or random moves, then value."""
        mode = self.config.evaluation
        if mode == "decisive" and depth_left > 0:
            return self.evaluate_decisive(state, depth_left)
        total, weight, terminal = 0.0, 1.0, False
        while mode != "simulator" and not terminal and depth_left > 0:
            count = self.action_count(state)
            if count == 0 or (mode == "forced" and count > 1):
                break
            action = self.rng.below(count) if count > 1 else 0
            _, state, reward, terminal, flip = self.step(state, action)
            total = total + weight * reward
            weight = weight * self.config.discount
            if flip:
                weight = -weight
            depth_left -= 1
        return total + weight * float(self.model.value[state])

    def evaluate_decisive(self, state: int, depth_left: int) -> float:
        """The same with decisive and anti-decisive moves (Teytaud & Teytaud 2010, "On the huge
        benefit of decisive moves in Monte-Carlo Tree Search algorithms"): the first move that wins
        at once; else a random one, taken back if the other player could then win at once and
        another move is left."""
        total, weight, terminal = 0.0, 1.0, False
        winner = self.winning_move(state)
        while not terminal and depth_left > 0 and (count := self.action_count(state)) > 0:
            moves = list(range(count))
            while True:
                choice = winner
                if choice is None:
                    choice = self.rng.below(len(moves)) if len(moves) > 1 else 0
                _, to, reward, terminal, flip = self.step(state, moves[choice])
                if terminal or depth_left == 1:
                    break
                winner = self.winning_move(to)
                if winner is None or not flip or len(moves) == 1:
                    break
                winner = None
                moves[choice] = moves[-1]
                moves.pop()
            total = total + weight * reward
            weight = weight * self.config.discount
            if flip:
                weight = -weight
            state = to
            depth_left -= 1
        return total + weight * float(self.model.value[state])

    def winning_move(self, state: int) -> int | None:
        """The first move that ends the world with the highest reward."""
        assert self.config.value_range is not None
        for action in range(self.action_count(state)):
            _, _, reward, terminal, _ = self.step(state, action)
            if terminal and reward >= self.config.value_range[1]:
                return action
        return None
