"""The search in plain Python: the oracle of the compiled engine, and the page to read first.

It makes the same choices with the same double-precision operations in the same order, so that
the compiled search must agree with it bit for bit (tests/mcts_core/test_reference.py). Nothing
here is fast; nothing here is clever. Rollouts stand in ``mcts_core.reference_world``.
"""

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

from mcts_core.config import SearchConfig
from mcts_core.reference_world import ReferenceWorld, SplitMix64
from mcts_core.simulator import ExplicitModel

__all__ = ["ReferenceNode", "SplitMix64", "search"]

@dataclass(slots=True, eq=False)
class ReferenceNode:
    """A node of the tree: the state reached by ``action``, or a chance node above its outcomes.

    ``value`` is the mean return of taking ``action`` at the parent (reward included), seen by
    the player who moves at the parent; ``square`` is the sum of squared deviations of the returns
    from it; ``prior`` of an outcome its probability. Children that were tried form a prefix of ``children``.
    """

    action: int = -1
    prior: float = 1.0
    visits: int = 0
    value: float = 0.0
    square: float = 0.0
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
    world: ReferenceWorld
    config: SearchConfig
    low: float = math.inf
    high: float = -math.inf
    root: ReferenceNode = field(default_factory=ReferenceNode)

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
                outcome, to, reward, terminal, flip = self.world.step(parent_state, child.action)
            if child.visits == 0:
                outcomes = self.world.outcome_count(parent_state, child.action)
                if outcomes > 1:
                    child.chance = True
                    chances = self.world.probabilities(parent_state, child.action)
                    child.children = [
                        ReferenceNode(action=i, prior=_single(p)) for i, p in enumerate(chances)
                    ]
            arrival = child
            if child.chance:
                assert child.children
                arrival = child.children[outcome]
                path.append(arrival)
            if arrival.visits == 0:
                arrival.state, arrival.reward, arrival.flip = to, reward, flip
                arrival.settled = terminal or depth >= self.config.max_depth
                depth_left = 0 if arrival.settled else self.config.max_depth - depth
                self.backup(path, self.world.evaluate(to, depth_left))
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
        visits = node.visits + (node is self.root)  # its own first evaluation counts
        untried = tried < opened(config.widening, visits, len(children))
        if untried and config.fpu == "first":
            return tried
        low, scale = self.normaliser()
        weight = config.exploration
        if config.exploration_base is not None:
            base = config.exploration_base
            weight = weight + math.log((visits + base + 1.0) / base)
        grown = visits if config.selection == "puct" else math.log(visits)
        factor = weight * math.sqrt(grown)
        best, best_score = 0, -math.inf
        for i in range(tried):
            child = children[i]
            if child.proven:
                continue  # it has nothing left to tell
            if config.selection == "ucb1_tuned":
                variance = child.square * scale * scale / child.visits
                bonus = weight * tuned_bonus(visits, child.visits, variance)
            else:
                bonus = self.bonus(factor, child)
            score = (child.value - low) * scale + bonus
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
        count = self.world.action_count(node.state)
        if count == 0:
            node.settled = True
            return
        priors = normalise_priors(weights, count, self.config.prior_mix)
        order = sorted(range(count), key=lambda i: -priors[i])
        node.children = [ReferenceNode(action=i, prior=priors[i]) for i in order]

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
            mean = node.value + (value - node.value) * (1.0 / node.visits)
            node.square += (value - node.value) * (value - mean)
            node.value = mean
            if node.chance and self.config.chance == "expected":
                node.value = value = expected(node)
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
            parent = path[i - 1]
            best = self.proven_value(path, i - 1)
            if best is None:
                return
            parent.proven = True
            if i > 1 and not parent.chance:
                best = parent.reward + self.config.discount * (-best if parent.flip else best)
            if i > 1 and not path[i - 2].chance:
                self.see(best)
            parent.value = best

    def proven_value(self, path: list[ReferenceNode], i: int) -> float | None:
        """The exact value of a node of the path, if its children's proven values say it."""
        node, best, limit = path[i], path[i + 1].value, self.config.value_range
        children = node.children or []
        if node.chance:
            if self.config.chance != "expected" or not all(child.proven for child in children):
                return None
            chances = self.world.probabilities(path[i - 1].state, node.action)
            total = 0.0
            for chance, child in zip(chances, children, strict=True):
                total = total + chance * child.value
            return total
        if limit is not None and best >= limit[1]:
            return best
        if not all(child.proven for child in children):
            return None
        return max(child.value for child in children)


def opened(widening: tuple[float, float] | None, visits: int, count: int) -> int:
    """How many of ``count`` actions a node may open: max(1, floor(k N^alpha))."""
    if widening is None:
        return count
    wanted = widening[0] * float(visits) ** widening[1]
    return count if wanted >= count else max(1, math.floor(wanted))


def tuned_bonus(parent_visits: int, visits: int, variance: float) -> float:
    """sqrt(ln N / n min(1/4, V + sqrt(2 ln N / n))) (Auer et al. 2002, section 4)."""
    share = math.log(parent_visits) / visits
    return math.sqrt(share * min(0.25, variance + math.sqrt(2.0 * share)))


def expected(chance: ReferenceNode) -> float:
    """Probabilities times values of the outcomes seen, over the sum of their probabilities (the
    partial Bellman backup of Keller & Helmert 2013, "Trial-based heuristic tree search")."""
    total = weight = 0.0
    for outcome in chance.children or []:
        if outcome.visits > 0:
            total = total + outcome.prior * outcome.value
            weight = weight + outcome.prior
    return total / weight


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
    run = _Search(ReferenceWorld(model, config, SplitMix64(config.seed)), config)
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
