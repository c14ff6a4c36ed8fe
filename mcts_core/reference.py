"""The search in plain Python: the oracle of the compiled engine, and the page to read first.

It makes the same choices with the same double-precision operations in the same order, so that
the compiled search must agree with it bit for bit (tests/mcts_core/test_reference.py). Nothing
here is fast; nothing here is clever.
"""

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

from mcts_core.config import SearchConfig
from mcts_core.simulator import ExplicitModel

__all__ = ["ReferenceNode", "SplitMix64", "search"]

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


@dataclass(slots=True, eq=False)
class ReferenceNode:
    """A node of the tree: the state reached by ``action``, or a chance node above its outcomes.

    ``value`` is the mean return of taking ``action`` at the parent (reward included), seen by
    the player who moves at the parent. Children that were tried form a prefix of ``children``.
    """

    action: int = -1
    prior: float = 1.0
    visits: int = 0
    value: float = 0.0
    reward: float = 0.0
    state: int = -1
    chance: bool = False
    settled: bool = False
    proven: bool = False
    flip: bool = False
    tried: int = 0
    children: "list[ReferenceNode] | None" = None


@dataclass(slots=True)
class _Search:
    model: ExplicitModel
    config: SearchConfig
    rng: SplitMix64
    low: float = math.inf
    high: float = -math.inf
    root: ReferenceNode = field(default_factory=ReferenceNode)

    # --- the world -------------------------------------------------------------------------

    def action_count(self, state: int) -> int:
        offsets = self.model.action_offsets
        return int(offsets[state + 1] - offsets[state])

    def outcome_count(self, state: int, action: int) -> int:
        choice = int(self.model.action_offsets[state]) + action
        return int(self.model.outcome_offsets[choice + 1] - self.model.outcome_offsets[choice])

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

    # --- the four phases of a simulation ------------------------------------------------------

    def simulate(self) -> None:
        """Selection, expansion, evaluation, backup (Browne et al. 2012, section 3.1)."""
        path = [self.root]
        node, depth = self.root, 0
        while True:
            assert node.children
            child = node.children[self.select(node)]
            path.append(child)
            depth += 1
            if child.visits == 0:
                node.tried += 1
            parent_state = node.state
            new_step = child.visits == 0 or child.chance
            if new_step:
                outcome, to, reward, terminal, flip = self.step(parent_state, child.action)
            if child.visits == 0:
                outcomes = self.outcome_count(parent_state, child.action)
                if outcomes > 1:
                    child.chance = True
                    child.children = [ReferenceNode(action=i) for i in range(outcomes)]
            arrival = child
            if child.chance:
                assert child.children
                arrival = child.children[outcome]
                path.append(arrival)
            if arrival.visits == 0:
                arrival.state, arrival.reward, arrival.flip = to, reward, flip
                arrival.settled = terminal or depth >= self.config.max_depth
                depth_left = 0 if arrival.settled else self.config.max_depth - depth
                self.backup(path, self.evaluate(to, depth_left))
                self.prove(path)
                return
            if not (arrival.settled or arrival.proven) and arrival.children is None:
                self.expand(arrival)
            if arrival.settled or arrival.proven:
                self.backup(path, None)
                self.prove(path)
                return
            node = arrival

    def select(self, node: ReferenceNode) -> int:
        """Index of the child with the best score; the first of equals."""
        assert node.children
        config, children, tried = self.config, node.children, node.tried
        untried = tried < len(children)
        if untried and config.fpu == "first":
            return tried
        low, scale = self.normaliser()
        visits = node.visits + (node is self.root)  # its own first evaluation counts
        if config.selection == "puct":
            factor = config.exploration * math.sqrt(visits)
        else:
            factor = config.exploration * math.sqrt(math.log(visits))
        best, best_score = 0, -math.inf
        for i in range(tried):
            child = children[i]
            if child.proven:
                continue  # it has nothing left to tell
            score = (child.value - low) * scale + self.bonus(factor, child)
            if score > best_score:
                best, best_score = i, score
        if untried:
            if config.fpu == "parent":
                total, count = 0.0, 0
                for child in children[:tried]:
                    total = total + child.visits * child.value
                    count += child.visits
                score = (total / count - low) * scale if count else 0.0
            else:
                score = float(config.fpu)
            if config.selection == "puct":
                score = score + factor * children[tried].prior
            if score > best_score:
                best = tried
        return best

    def bonus(self, factor: float, child: ReferenceNode) -> float:
        """The exploration term: PUCT c P sqrt(N) / (1 + n), UCB1 c sqrt(ln N / n)."""
        if self.config.selection == "puct":
            return (factor * child.prior) * (1.0 / (1 + child.visits))
        return factor * (1.0 / math.sqrt(child.visits))

    def normaliser(self) -> tuple[float, float]:
        """(low, scale) so that (Q - low) * scale is in [0, 1]; scale 0 while all Q are alike."""
        low, high = self.config.value_range or (self.low, self.high)
        width = high - low
        if not (width > 1e-300 and width > 1e-12 * max(abs(low), abs(high)) and width < math.inf):
            return 0.0, 0.0
        return low, 1.0 / width

    def expand(self, node: ReferenceNode, weights: Sequence[float] | None = None) -> None:
        """Give ``node`` its children, in order of falling prior; settle it if there are none."""
        count = self.action_count(node.state)
        if count == 0:
            node.settled = True
            return
        priors = normalise_priors(weights, count, self.config.prior_mix)
        order = sorted(range(count), key=lambda i: -priors[i])
        node.children = [ReferenceNode(action=i, prior=priors[i]) for i in order]

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

    def backup(self, path: list[ReferenceNode], worth: float | None) -> None:
        """Carry the return up. ``worth`` None: the last node is settled, its mean is reused."""
        last = len(path) - 1
        value = path[last].value if worth is None else worth
        for i in range(last, 0, -1):
            node = path[i]
            if not node.chance and not (i == last and worth is None):
                value = at_least_proven(node, path[i + 1], value) if i < last else value
                value = node.reward + self.config.discount * (-value if node.flip else value)
            node.visits += 1
            node.value = node.value + (value - node.value) * (1.0 / node.visits)
            if not path[i - 1].chance:
                self.see(node.value)
        root = path[0]
        value = at_least_proven(root, path[1], value)
        root.visits += 1
        root.value = root.value + (value - root.value) * (1.0 / root.visits)

    def see(self, value: float) -> None:
        """Widen the range of action values."""
        self.low = min(self.low, value)
        self.high = max(self.high, value)

    def prove(self, path: list[ReferenceNode]) -> None:
        """If the last node is settled and not yet proven, prove it and what follows above it."""
        last, limit = path[-1], self.config.value_range
        if not self.config.solver or not last.settled or last.proven:
            return
        last.proven = True
        for i in range(len(path) - 1, 0, -1):
            parent, best = path[i - 1], path[i].value
            if parent.chance:
                return
            assert parent.children
            if not (limit is not None and best >= limit[1]):
                if not all(child.proven for child in parent.children):
                    return
                best = max(child.value for child in parent.children)
            parent.proven = True
            if i > 1:
                best = parent.reward + self.config.discount * (-best if parent.flip else best)
                if not path[i - 2].chance:
                    self.see(best)
            parent.value = best


def at_least_proven(node: ReferenceNode, tried: ReferenceNode, value: float) -> float:
    """The return to back up through ``node``: its best proven action's where the action that was
    tried is worse on average, for that is what its player would take; else what was returned. (The
    larger of the two returns would be biased upwards by every lucky one.)"""
    known = max((c.value for c in node.children or () if c.proven), default=-math.inf)
    return known if tried.value < known else value


def normalise_priors(weights: Sequence[float] | None, count: int, mix: float) -> list[float]:
    """Weights to probabilities in single precision: (1 - e) p + e / k; uniform if all are zero."""
    uniform = 1.0 / count
    total = 0.0
    for weight in weights or ():
        total = total + weight
    if weights is None or not total > 0.0:
        return [_single(uniform)] * count
    return [_single((1.0 - mix) * (weight / total) + mix * uniform) for weight in weights]


def _single(x: float) -> float:
    """Round to single precision, in which the tree keeps its priors."""
    return float(struct.unpack("f", struct.pack("f", x))[0])


def search(
    model: ExplicitModel,
    root_state: int,
    config: SearchConfig,
    prior: Sequence[float] | None = None,
) -> ReferenceNode:
    """Run ``config.simulations`` simulations from ``root_state``; the time limit is ignored.

    Args:
        model: the world, as arrays.
        root_state: index of a state, 0 to S-1.
        config: see ``SearchConfig``.
        prior: [k] weights >= 0 for the root's actions, or None for uniform.

    Returns:
        The root; ``children`` is None where it has no action.
    """
    run = _Search(model, config, SplitMix64(config.seed))
    run.root.state = root_state
    run.expand(run.root, prior)
    if run.root.children is not None:
        for _ in range(config.simulations):
            if not run.root.proven:
                run.simulate()
    return run.root


def best_child(node: ReferenceNode) -> ReferenceNode:
    """The child to play: of those not proven the one with most visits, then value, then prior, then
    the first; the best proven one instead if its value is no lower."""
    children = node.children or []
    proven = [child for child in children if child.proven]
    others = [child for child in children if not child.proven]
    best = max(others, key=lambda c: (c.visits, c.value, c.prior), default=None)
    known = max(proven, key=lambda c: c.value, default=None)
    if best is None or best.visits == 0 or (known is not None and known.value >= best.value):
        best = known or best
    assert best is not None
    return best
