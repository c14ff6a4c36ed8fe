"""The tutorial on native simulators: its blocks run in order and print what stands under them."""

import contextlib
import importlib.util
import io
import re
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "native_simulators.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)
MARK = "-- end of a block --\n"


def blocks() -> list[tuple[str, str]]:
    """(language, text) of each block, in order."""
    return BLOCK.findall(PAGE.read_text())


@pytest.fixture(scope="module")
def tutorial(tmp_path_factory: pytest.TempPathFactory) -> tuple[ModuleType, list[str]]:
    """The python blocks as one module, from a file, and what each of them printed."""
    folder = tmp_path_factory.mktemp("tutorial")
    source = folder / "native_tutorial.py"
    python = [text for language, text in blocks() if language == "python"]
    source.write_text("".join(f"{text}\nprint({MARK!r}, end='')\n" for text in python))
    spec = importlib.util.spec_from_file_location("native_tutorial", source)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(io.StringIO()) as out:
        patch.setenv("HARNESS_ROUTER_CACHE", str(folder / "cache"))
        spec.loader.exec_module(module)
    return module, out.getvalue().split(MARK)[:-1]


def test_each_block_prints_what_stands_under_it(tutorial: tuple[ModuleType, list[str]]) -> None:
    languages = [language for language, _ in blocks()]
    assert languages == ["python", "text"] * (len(languages) // 2)
    assert tutorial[1] == [text for language, text in blocks() if language == "text"]


def test_the_order_of_chores_is_the_optimum_that_the_page_says(
    tutorial: tuple[ModuleType, list[str]],
) -> None:
    names = vars(tutorial[0])
    hours, worth, due, needs = (names[n].tolist() for n in ("HOURS", "WORTH", "DUE", "NEEDS"))

    def reward(chore: int, hour: int) -> float:
        return float(worth[chore]) if hour + hours[chore] <= due[chore] else 0.0

    @cache
    def best(done: int, hour: int) -> float:
        ready = [c for c in range(8) if not done >> c & 1 and done & needs[c] == needs[c]]
        after = [reward(c, hour) + best(done | 1 << c, hour + hours[c]) for c in ready]
        return max(after, default=0.0)

    hour, total = 0, 0.0
    for name in ("reproduce", "fix", "test", "docs", "review", "changelog", "release", "benchmark"):
        chore = names["NAMES"].index(name)
        total += reward(chore, hour)
        hour += hours[chore]
    assert total == best(0, 0) == 21
    assert "worth 21" in PAGE.read_text()
