"""A simulator of your own in plain Python: an agent mends a bug within a small context budget.

    python examples/custom_simulator.py

Tracing the failing test and reading the code cost context and make the patch more likely right.
"""

from collections.abc import Sequence
from typing import NamedTuple

from mcts_core import Outcome, SearchConfig, SimulatedStep, search
from simulators import PythonSimulator


class Task(NamedTuple):
    """What later steps depend on: hashable and never changed. The budget is in 1,000 tokens."""

    budget: int
    done: tuple[str, ...] = ()


class BugHunt:
    """A right patch pays 1, a wrong one costs 1, and each thousand tokens costs two cents."""

    def cost(self, state: Task, action: str) -> int:
        if action == "read code":
            return 3 if "trace test" in state.done else 8  # the trace says where to read
        return {"trace test": 2, "patch": 2, "submit": 0}[action]

    def actions(self, state: Task) -> Sequence[str]:
        """What is left to do and fits the budget; nothing is left after the submission."""
        order = ["submit"] if "patch" in state.done else ["patch", "read code", "trace test"]
        left = [action for action in order if action not in state.done]
        return (
            []
            if "submit" in state.done
            else [a for a in left if self.cost(state, a) <= state.budget]
        )

    def outcomes(self, state: Task, action: str) -> Sequence[Outcome[Task]]:
        """All that ``action`` may lead to. In a world without chance write ``step`` instead."""
        cost = self.cost(state, action)
        after = Task(state.budget - cost, (*state.done, action))
        if action != "submit":
            return [Outcome(1.0, SimulatedStep(after, -0.02 * cost))]
        right = 0.3 + 0.4 * ("read code" in state.done) + 0.15 * ("trace test" in state.done)
        return [
            Outcome(right, SimulatedStep(after, 1.0, terminal=True)),
            Outcome(1.0 - right, SimulatedStep(after, -1.0, terminal=True)),
        ]

    def evaluate(self, state: Task) -> float:
        """What the agent hopes for from here on: nothing, so that only results count."""
        return 0.0


def main() -> None:
    config = SearchConfig(simulations=2000, max_depth=6, evaluation="rollout")
    result = search(PythonSimulator(BugHunt()), Task(budget=12), config)
    print(f"first action: {result.action}\n\naction       visits   value")
    for action, visits, value in zip(result.actions, result.visits, result.values, strict=True):
        print(f"{action!s:<12}{visits:>7}{value:>8.3f}")


if __name__ == "__main__":
    main()
