"""The golden trees of mctx (Apache-2.0, JSON files in its wheel), grown again visit for visit."""

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

from mcts_core import Search, SearchConfig, SimulatedStep
from simulators.python import PythonSimulator


def data_folder() -> Path | None:
    """Where mctx keeps its trees; found without importing it, since that needs JAX."""
    found = importlib.util.find_spec("mctx")
    if found is None or not found.submodule_search_locations:
        return None
    folder = Path(found.submodule_search_locations[0]) / "_src" / "tests" / "test_data"
    return folder if folder.is_dir() else None


FOLDER = data_folder()
pytestmark = pytest.mark.skipif(FOLDER is None, reason="mctx is not installed: pip install mctx")

SHARED = {"evaluation": "simulator", "max_depth": 1000}
PUCT = SHARED | {
    "selection": "puct", "exploration": 1.25, "exploration_base": 19652.0, "fpu": 0.0,
}  # fmt: skip
GUMBEL = SHARED | {
    "selection": "gumbel", "root": "gumbel", "gumbel_scale": 0.0, "rescale_values": False,
}  # fmt: skip
CONFIGS: dict[str, dict[str, Any]] = {
    "muzero_tree": PUCT | {"value_range": (-1.0, 1.0)},
    "muzero_qtransform_tree": PUCT | {"normalisation": "node"},
    "gumbel_muzero_tree": GUMBEL
    | {"considered_actions": 16, "value_scale": 0.5, "visit_scale": 50.0},
    "gumbel_muzero_reward_tree": GUMBEL
    | {"considered_actions": 8, "value_scale": 0.1, "visit_scale": 20.0},
}


class Replay:
    """A world that says what the recorded tree says; a state is a node of it and its depth."""

    def __init__(self, two_players: bool) -> None:
        self.two_players = two_players

    def actions(self, state: tuple[Any, int]) -> list[int]:
        return [child["action"] for child in state[0]["child_stats"]]

    def priors(self, state: tuple[Any, int], actions: list[int]) -> list[float]:
        return [child["prior"] for child in state[0]["child_stats"]]

    def step(self, state: tuple[Any, int], action: int) -> SimulatedStep[tuple[Any, int]]:
        child = state[0]["child_stats"][action]
        assert "visit" in child, "a node that mctx never visited"
        return SimulatedStep((child, state[1] + 1), child["reward"])

    def evaluate(self, state: tuple[Any, int]) -> float:
        return float(state[0]["raw_value_view"])

    def player(self, state: tuple[Any, int]) -> int:
        return state[1] % 2 if self.two_players else 0


@pytest.mark.parametrize("name", CONFIGS)
def test_the_engine_grows_the_golden_tree(name: str) -> None:
    assert FOLDER is not None
    golden = json.loads((FOLDER / f"{name}.json").read_text())
    root, discount = golden["tree"], golden["env_config"]["discount"]
    config = SearchConfig(simulations=root["visit"] - 1, discount=abs(discount), **CONFIGS[name])
    run = Search(PythonSimulator(Replay(discount < 0)), (root, 0), config)
    run.run()
    result = run.result()
    expected = [child.get("visit", 0) for child in root["child_stats"]]
    assert result.visits.tolist() == expected
    value = (
        root["raw_value_view"]
        + sum(n * q for n, q in zip(expected, result.values, strict=True) if n)
    ) / root["visit"]
    assert value == pytest.approx(root["value_view"], abs=1e-6)
    states: list[Any] = run.tree_states()
    for (node, depth), count in zip(states[1:], run.tree().visits[1:].tolist(), strict=True):
        assert node["visit"] == count, (depth, node["action"])
    assert len(states) == root["visit"]
