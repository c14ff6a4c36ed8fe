"""The README's first Python example runs as it stands there, with no key and no network."""

import os
import re
import subprocess
import sys
from pathlib import Path

import harness_router

ROOT = Path(__file__).parents[1]


def test_the_first_example_runs_as_written(tmp_path: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
    script = tmp_path / "example.py"
    script.write_text(blocks[0])
    environ = {k: v for k, v in os.environ.items() if k != "OPENROUTER_API_KEY"}
    run = subprocess.run(
        [sys.executable, "-W", "error", str(script)],
        cwd=tmp_path,
        env={**environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    tool, confidence = run.stdout.split()
    assert tool in ("read_file", "search_code", "None")
    assert 0.0 <= float(confidence) <= 1.0


def test_every_public_name_is_there() -> None:
    assert [name for name in harness_router.__all__ if not hasattr(harness_router, name)] == []
    assert sorted(harness_router.__all__) == harness_router.__all__
