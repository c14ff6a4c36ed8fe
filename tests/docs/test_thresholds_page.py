"""The example of docs/thresholds.md runs and certifies."""

import re
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[2] / "docs" / "thresholds.md"


def test_the_example_certifies_a_threshold() -> None:
    (block,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S)
    names: dict[str, Any] = {}
    exec(compile(block, str(PAGE), "exec"), names)
    finding = names["certificate"].finding
    assert 0.5 < finding.threshold < 1.0
    assert finding.bound <= 0.10
    assert finding.coverage > 0.2
