"""The tool-choice sets as problems: a state, the tools on offer, and which of them is right.

Nothing of the sets is in this repository; they are read from ``../shared/data/tool_choice`` beside
the checkout, or from the folder that HARNESS_ROUTER_TOOL_CHOICE names. Groups keep items together
that share a conversation, a function list or a gold tool, and a hash of the group's name says which
part it belongs to: "fit" (about 60 %) or "report".
"""

import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from router.models import ActionSummary, HarnessState, RiskLevel, ToolDescriptor

__all__ = [
    "CASES",
    "Problem",
    "data_folder",
    "data_hash",
    "fold_of",
    "load",
    "load_cases",
    "part_of",
    "registry",
]

ROOT: Final = Path(__file__).parents[2]
CASES: Final = tuple(
    Path(__file__).with_name(name) for name in ("agent_cases.jsonl", "agent_runs.jsonl")
)
FIT_SHARE: Final = 0.6
SETS: Final = (
    "bfcl_live_multiple",
    "bfcl_multi_turn_steps",
    "bfcl_irrelevance",
    "metatool_similar",
)


@dataclass(frozen=True)
class Problem:
    """One decision with its right answer.

    Attributes:
        id: of the item in its set.
        source: name of the set.
        group: items of one group are never on both sides of a split.
        state, tools: what the selector sees.
        gold: index of the right tool, or None: none fits.
        step: of multi-turn items the number of calls made since the last request, else None.
    """

    id: str
    source: str
    group: str
    state: HarnessState
    tools: tuple[ToolDescriptor, ...]
    gold: int | None
    step: int | None = None


def data_folder() -> Path | None:
    """Where the sets are, or None."""
    named = os.environ.get("HARNESS_ROUTER_TOOL_CHOICE")
    candidates = [Path(named)] if named else []
    main = ROOT / ".git"
    if main.is_file():  # a worktree: the sets are beside the main checkout
        candidates.append(Path(main.read_text().split(":", 1)[1].strip()).parents[2])
    candidates += [ROOT]
    for base in candidates:
        for folder in (base, base.parent / "shared" / "data" / "tool_choice"):
            if (folder / f"{SETS[0]}.jsonl").exists():
                return folder
    return None


def data_hash(folder: Path) -> str:
    """First 16 digits of the sha256 over the sets' bytes."""
    digest = hashlib.sha256()
    for path in sorted(folder.glob("*.json*")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _share(group: str, salt: str) -> float:
    return int.from_bytes(hashlib.sha256(f"{salt}:{group}".encode()).digest()[:8], "big") / 2**64


def part_of(problem: Problem) -> str:
    """The part, "fit" or "report", by a hash of the group."""
    return "fit" if _share(problem.group, "part") < FIT_SHARE else "report"


def fold_of(problem: Problem, folds: int = 5) -> int:
    """The fold of cross-validation, 0 to ``folds`` - 1, by another hash of the group."""
    return int(_share(problem.group, "fold") * folds)


def load(folder: Path, sources: Sequence[str] = SETS) -> list[Problem]:
    """All problems of the sets in their order."""
    catalog = json.loads((folder / "bfcl_multi_turn_catalog.json").read_text())
    classes = {name: tuple(_tools(entries)) for name, entries in catalog.items()}
    problems = []
    for source in sources:
        for line in (folder / f"{source}.jsonl").read_text().splitlines():
            item = json.loads(line)
            if "classes" in item:
                tools = tuple(tool for name in item["classes"] for tool in classes[name])
            else:
                tools = tuple(_tools(item["candidates"]))
            if tools:
                problems.append(_problem(source, item, tools))
    return problems


def load_cases() -> list[Problem]:
    """Our own cases of agents at work: single ones, and the steps of whole runs.

    Cases with the same goal are a group. Lines with "box" are lists of tools; the others name one
    of them. A run is a list of (tool, what was seen after it): each step is a case whose history is
    the steps before. Half of the runs tell an outcome as its kind, half as what was seen.
    """
    items = [json.loads(line) for path in CASES for line in path.read_text().splitlines()]
    boxes = {item["box"]: tuple(_tools(item["tools"])) for item in items if "box" in item}
    problems: list[Problem] = []
    for item in items:
        if "steps" in item:
            problems += _steps(item, boxes[item["tools"]], len(problems))
        elif "box" not in item:
            state = HarnessState(
                goal=item["goal"],
                observation=item.get("observation"),
                last_action=item.get("last_action"),
                recent_actions=[
                    ActionSummary(*action) for action in item.get("recent_actions", ())
                ],
            )
            problems.append(_case(item["id"], state, boxes[item["tools"]], item["gold"]))
    return problems


def _steps(item: dict[str, Any], tools: tuple[ToolDescriptor, ...], number: int) -> list[Problem]:
    """One case for each step of a run."""
    done: list[ActionSummary] = []
    observation: str | None = None
    problems = []
    told = _share(item["goal"], "told") < 0.5
    for i, (tool, seen) in enumerate(item["steps"]):
        last = done[-1].tool if done else None
        state = HarnessState(item["goal"], observation, last, done)
        problems.append(_case(f"run_{number}_{i}", state, tools, tool))
        failed = any(word in seen.lower() for word in ("fail", "error", "not found", "unhealthy"))
        done.append(ActionSummary(str(tool), seen if told else "error" if failed else "ok"))
        observation = seen
    return problems


def _case(
    name: str, state: HarnessState, tools: tuple[ToolDescriptor, ...], gold: str | None
) -> Problem:
    names = [tool.name for tool in tools]
    place = names.index(gold) if gold is not None else None
    return Problem(name, "agent_cases", f"case:{state.goal}", state, tools, place)


def registry(folder: Path) -> tuple[ToolDescriptor, ...]:
    """Every distinct tool of the sets and of the MCP catalogs beside them, first come first."""
    found: dict[str, ToolDescriptor] = {}
    for problem in load(folder):
        for tool in problem.tools:
            found.setdefault(tool.name, tool)
    for path in sorted((folder.parent / "mcp_catalogs").glob("*.json")):
        for entry in json.loads(path.read_text())["tools"]:
            schema = entry.get("inputSchema") or {}
            tool = ToolDescriptor(entry["name"], entry.get("description") or "", schema=schema)
            found.setdefault(tool.name, tool)
    return tuple(found.values())


def _tools(entries: Iterable[dict[str, Any]]) -> Iterable[ToolDescriptor]:
    for entry in entries:
        properties: dict[str, Any] = {name: {} for name in entry.get("parameters", ())}
        schema = {"type": "object", "properties": properties}
        risk = RiskLevel(entry.get("risk", "medium"))
        description = entry.get("description") or ""
        yield ToolDescriptor(entry["name"], description, risk=risk, schema=schema)


def _problem(source: str, item: dict[str, Any], tools: tuple[ToolDescriptor, ...]) -> Problem:
    names = [tool.name for tool in tools]
    gold = item["gold"][0] if item["gold"] else None
    if source == "bfcl_multi_turn_steps":
        group = "conversation:" + item["id"].rsplit("-", 1)[0]
    elif source == "metatool_similar":
        group = f"metatool:{gold}"
    else:  # some lists are in both sets
        group = "functions:" + " ".join(sorted(names))
    return Problem(
        id=item["id"],
        source=source,
        group=group,
        state=HarnessState(goal=item["goal"], observation=item["observation"] or None),
        tools=tools,
        gold=None if gold is None else names.index(gold),
        step=item.get("step_in_turn"),
    )
