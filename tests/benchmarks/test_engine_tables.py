"""The engine's side of its table runs what it says, peers or no peers."""

import json
import sys

import numpy as np
import pytest
from click.testing import CliRunner

from benchmarks.batch_worlds import BATCHES, our_batches
from benchmarks.engine_speed import main
from benchmarks.engine_worlds import one_node
from benchmarks.node_bytes import WORLDS, node_bytes
from benchmarks.peers import PEERS, Work, answers, version
from mcts_core import Search
from simulators.native_games import constant_tree

without_lightzero = pytest.mark.skipif(
    version(PEERS["LightZero ctree"]) is not None, reason="LightZero is installed here"
)


@pytest.mark.parametrize("priors", [True, False])
@pytest.mark.parametrize("size", BATCHES)
def test_batches_of_every_size_run_all_their_simulations(size: int, priors: bool) -> None:
    seconds, simulations = our_batches(size, priors=priors)(1500)
    assert simulations == 1500
    assert seconds > 0


@pytest.mark.parametrize("rule", ["ucb1", "puct_numba"])
def test_one_node_gets_a_child_for_eight_simulations(rule: str) -> None:
    assert one_node(rule)(128)[1] == 128


@pytest.mark.parametrize("title", WORLDS)
def test_a_slot_takes_what_arrays_of_its_columns_take(title: str) -> None:
    found = node_bytes(*WORLDS[title], 3000)
    assert found.a_slot == 45  # mcts_core/tree.pxd
    assert found.visited <= found.slots
    assert found.a_visited == pytest.approx(45 * found.slots / found.visited)
    assert found.with_state > found.a_visited


def test_slots_are_the_root_and_the_children_of_every_node_that_was_expanded() -> None:
    make, config, state = WORLDS["tree 8 x 6"]
    search = Search(constant_tree(8), None, config.replace(simulations=3000))
    search.run()
    tree = search.tree()
    expanded = np.unique(tree.parent[1:])
    assert node_bytes(make, config, state, 3000).slots == 1 + 8 * len(expanded)


def test_a_state_of_another_size_than_said_is_noticed() -> None:
    make, config, state = WORLDS["connect four"]
    with pytest.raises(RuntimeError, match="not whole nodes"):
        node_bytes(make, config, state - 1, 100)


@without_lightzero
def test_the_command_tells_loudly_which_peers_are_missing_and_how_to_get_them() -> None:
    run = CliRunner().invoke(main, ["--only", "bytes", "--peers-python", sys.executable])
    assert run.exit_code == 0, run.output
    assert "make bench-peers" in run.stderr
    assert "LightZero" in run.stderr
    assert "45.0 a slot without state" in run.stdout


@without_lightzero
def test_the_json_has_a_world_for_each_table_that_was_asked_for() -> None:
    options = ["--quick", "--simulations", "100", "--rounds", "1", "--only", "batches of 8,"]
    run = CliRunner().invoke(main, [*options, "--json"])
    assert run.exit_code == 0, run.output
    (world,) = json.loads(run.stdout)["worlds"].values()
    assert world["ours, priors and values"]["speed"]["1000"] > 0
    assert world["LightZero ctree, 8 trees, in all"]["note"] == "not installed"


def test_a_peer_is_asked_for_as_many_trees_as_a_batch_has_leaves() -> None:
    assert Work("batches", 10, trees=64).trees == 64
    lines = iter([json.dumps({"peer": "LightZero ctree", "world": "batches", "simulations": 3})])
    versions, answer = answers(lines)
    assert ("error" in answer) == (versions["LightZero ctree"] is None)
