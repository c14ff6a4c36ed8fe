"""The loop that the router owns mends the bug, with no key and no network."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_loop_ends_with_a_passing_test() -> None:
    environ = {k: v for k, v in os.environ.items() if k != "OPENROUTER_API_KEY"}
    run = subprocess.run(
        [sys.executable, "-W", "error", str(ROOT / "examples" / "router_owned_loop.py")],
        env={**environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    lines = run.stdout.splitlines()
    assert lines[-1].startswith("the test passes after ")
    assert "edit_file" in run.stdout
    assert "delete_file(" not in run.stdout
