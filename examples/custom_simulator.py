"""A simulator of your own in plain Python: an agent hunts a bug with a small context budget.

One of four files holds the bug. Reading a file, tracing the failing test, patching and testing
each use up part of the context window; when it is full the hunt is over. What to do first?

    python examples/custom_simulator.py
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from mcts_core import Outcome, SearchConfig, SimulatedStep, search
from simulators import PythonSimulator

SUSPICION = {"parser.py": 0.35, "lexer.py": 0.3, "cache.py": 0.25, "cli.py": 0.1}
COST = {"read parser.py": 7, "read lexer.py": 4, "read cache.py": 6, "read cli.py": 2}
COST |= {"trace test": 2, "patch": 2, "run tests": 1, "submit": 0}  # in thousands of tokens
FRONT_END = {"parser.py", "lexer.py"}
PATCH_IS_RIGHT = 0.75


class Hunt(NamedTuple):
    """What the agent knows: hashable, never changed, everything that later steps depend on."""

    budget: int
    suspects: tuple[str, ...]
    stage: Literal["looking", "found", "patched", "tested", "over"] = "looking"


class BugHunt:
    """A fixed bug pays 1, a wrong fix costs 1, and each thousand tokens costs a cent.

    ``outcomes`` lists all that an action may lead to; without chance, write ``step`` instead.
    """

    def actions(self, state: Hunt) -> Sequence[str]:
        """What makes sense at this stage and still fits the budget."""
        reads = [f"read {file}" for file in state.suspects]
        both_halves = 0 < len(FRONT_END.intersection(state.suspects)) < len(reads)
        offered = {
            "looking": [*reads, "trace test"] if both_halves else reads,
            "found": ["patch"],
            "patched": ["run tests", "submit"],
            "tested": ["submit"],
            "over": [],
        }[state.stage]
        return [action for action in offered if COST[action] <= state.budget]

    def outcomes(self, state: Hunt, action: str) -> Sequence[Outcome[Hunt]]:
        """All that ``action`` may lead to; those that cannot happen are left out."""
        after = state._replace(budget=state.budget - COST[action])
        paid, over = -0.01 * COST[action], after._replace(stage="over")
        sure = 1.0 if state.stage == "tested" else PATCH_IS_RIGHT
        branches: list[tuple[float, SimulatedStep[Hunt]]]
        if action == "submit":
            branches = [
                (sure, SimulatedStep(over, paid + 1.0, terminal=True)),
                (1.0 - sure, SimulatedStep(over, paid - 1.0, terminal=True)),
            ]
        elif action == "patch":
            branches = [(1.0, SimulatedStep(after._replace(stage="patched"), paid))]
        elif action == "run tests":
            branches = [
                (sure, SimulatedStep(after._replace(stage="tested"), paid)),
                (1.0 - sure, SimulatedStep(after._replace(stage="found"), paid)),
            ]
        else:
            branches = self._look(after, action, paid)
        return [Outcome(probability, step) for probability, step in branches if probability > 0.0]

    def _look(
        self, after: Hunt, action: str, paid: float
    ) -> list[tuple[float, SimulatedStep[Hunt]]]:
        """Either half of the suspects falls away, or the one file that was read holds the bug."""
        trace = action == "trace test"
        named = FRONT_END if trace else {action.removeprefix("read ")}
        hit = tuple(file for file in after.suspects if file in named)
        rest = tuple(file for file in after.suspects if file not in named)
        weight = sum(SUSPICION[file] for file in hit)
        chance = weight / (weight + sum(SUSPICION[file] for file in rest))
        found = after._replace(suspects=hit, stage="looking" if trace else "found")
        return [
            (chance, SimulatedStep(found, paid)),
            (1.0 - chance, SimulatedStep(after._replace(suspects=rest), paid)),
        ]

    def evaluate(self, state: Hunt) -> float:
        """What the agent hopes for from here on: nothing, so that only results count."""
        return 0.0


def main() -> None:
    """Search for the first action, and print what the search saw."""
    root_state = Hunt(budget=16, suspects=tuple(SUSPICION))
    config = SearchConfig(simulations=2000, max_depth=8)
    result = search(PythonSimulator(BugHunt()), root_state, config)
    print(f"first action: {result.action}\n")
    print(f"{'action':<16}{'visits':>7}{'value':>8}")
    for action, visits, value in zip(result.actions, result.visits, result.values, strict=True):
        print(f"{action!s:<16}{visits:>7}{value:>8.3f}")


if __name__ == "__main__":
    main()
