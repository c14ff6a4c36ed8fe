"""Tools, states, decisions and records for tests, some of them random."""

import asyncio
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from router.config import RoutingConfig
from router.decisions.privacy import Privacy
from router.decisions.record import DecisionRecord, Thresholds
from router.decisions.store import RecordStore
from router.gate import pass_gate
from router.models import (
    ActionSummary,
    ChoiceDecision,
    HarnessState,
    RiskLevel,
    RouteDecision,
    RoutingMode,
    Selection,
    ToolDescriptor,
    Usage,
)
from router.tool_router import JevToolRouter

TOOLS = (
    ToolDescriptor(
        "read_file",
        "Open a file at a path",
        "inspect",
        RiskLevel.LOW,
        {"type": "object", "properties": {"path": {"type": "string"}}},
    ),
    ToolDescriptor("edit_file", "Change a file", "mutate"),
    ToolDescriptor("delete_all", "Löscht alles 🗑", None, RiskLevel.CRITICAL),
)
STATE = HarnessState(
    "fix the failing test",
    observation="3 failed in /home/anna/project",
    last_action="read_file",
    recent_actions=[ActionSummary("read_file", "success", "a1"), ActionSummary("grep", "2 hits")],
    constraints=["no network"],
)
PICK = RouteDecision(
    "edit_file",
    "mutate",
    0.9,
    {"read_file": 0.05, "edit_file": 0.9, "delete_all": 0.0},
    source="local",
    none_fits=0.05,
    version="local@1",
    latency_ms=0.25,
    why=("edit stands in the goal",),
)
PRIVATE = Privacy("full", b"k" * 32)


def record(
    decision: RouteDecision = PICK, privacy: Privacy = PRIVATE, **more: Any
) -> DecisionRecord:
    """A record of a decision among ``TOOLS`` in ``STATE``."""
    point = more.pop("point", "tool")
    return DecisionRecord.from_decision(point, STATE, TOOLS, decision, privacy, **more)


def forked(action: Callable[[], object]) -> str:
    """What ``action`` returns in a forked child, as text; the name of what it raises."""
    return forked_together(action, 1)[0]


def forked_together(action: Callable[[], object], count: int) -> list[str]:
    """As ``forked``, of several children that begin at the same moment."""
    start_read, start_write = os.pipe()
    children = [_fork(action, start_read) for _ in range(count)]
    os.write(start_write, b"x" * count)
    told = []
    for child, read in children:
        with os.fdopen(read) as pipe:
            told.append(pipe.read())
        os.waitpid(child, 0)
    os.close(start_read)
    os.close(start_write)
    return told


def _fork(action: Callable[[], object], start: int) -> tuple[int, int]:
    read, write = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the runner of tests has threads
        child = os.fork()
    if child:
        os.close(write)
        return child, read
    try:
        os.read(start, 1)
        told = str(action())
    except BaseException as error:
        told = f"{type(error).__name__}: {error}"
    with os.fdopen(write, "w") as pipe:
        pipe.write(told)
    os._exit(0)


def store_in(folder: Path, **more: Any) -> RecordStore:
    return RecordStore(folder / "records.db", **more)


class Shares:
    """A local selector that gives each tool the share it is told, and "none fits" the rest."""

    version = "shares@1"

    def __init__(self, shares: Mapping[str, float]) -> None:
        self._shares = shares

    def select_now(self, state: HarnessState, tools: Sequence[ToolDescriptor]) -> Selection:
        shares = {tool.name: self._shares.get(tool.name, 0.0) for tool in tools}
        none_fits = 1.0 - sum(shares.values())
        best = max(shares, key=shares.__getitem__)
        tool = best if shares[best] >= none_fits else None
        return Selection(tool, shares, none_fits, "local", self.version)

    def shortlist(
        self, state: HarnessState, tools: Sequence[ToolDescriptor], size: int
    ) -> list[int]:
        return list(range(len(tools)))[:size]


def routed(weights: dict[str, float], config: RoutingConfig | None = None) -> RouteDecision:
    """What the router decides of ``TOOLS`` if its local selector gives these shares."""
    router = JevToolRouter(config=config, selector=Shares(weights))
    return asyncio.run(router.route(STATE, TOOLS))


texts = st.text(st.characters(exclude_categories=()), max_size=20)
"""Any text, halves of surrogate pairs and NUL among them."""
names = st.text("abc_.:é", min_size=1, max_size=6)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(-1e9, 1e9) | names,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=5,
)
tools = st.builds(
    ToolDescriptor,
    name=names,
    description=texts,
    category=st.none() | names,
    risk=st.sampled_from(RiskLevel),
    schema=st.dictionaries(names, json_values, max_size=3),
)
tool_lists = st.lists(tools, min_size=1, max_size=5, unique_by=lambda tool: tool.name)
states = st.builds(
    HarnessState,
    goal=texts,
    observation=st.none() | texts,
    last_action=st.none() | texts,
    recent_actions=st.lists(
        st.builds(ActionSummary, tool=texts, outcome=texts, arguments_hash=st.none() | texts),
        max_size=3,
    ),
    constraints=st.lists(texts, max_size=2),
)
configs = st.builds(
    lambda mode, a, b: RoutingConfig(mode, max(a, b), min(a, b)),
    st.sampled_from([RoutingMode.HYBRID, RoutingMode.JEV_ONLY]),
    st.floats(0.0, 1.0),
    st.floats(0.0, 1.0),
)


@st.composite
def selections(draw: st.DrawFn, offered: list[ToolDescriptor]) -> Selection:
    """Of the local selector or of a provider, ties and unknown probabilities among them."""
    weights = [draw(st.integers(0, 3)) for _ in range(len(offered) + 1)]
    if not any(weights):
        weights[0] = 1
    shares = {t.name: w / sum(weights) for t, w in zip(offered, weights, strict=False)}
    none_fits = weights[-1] / sum(weights)
    best = max(shares.values())
    winners = [name for name, share in shares.items() if share == best]
    if draw(st.booleans()):
        tool = winners[0] if best >= none_fits else None
        return Selection(tool, shares, none_fits, "local", "local@1", why=(draw(texts),))
    answer = _answer(draw, draw(st.sampled_from(winners)), shares, none_fits)
    if draw(st.integers(0, 5)) == 0:
        return Selection(answer.choice, {}, None, "jev", "jev@1", answer)
    tool = answer.choice if best >= none_fits else None
    return Selection(tool, shares, none_fits, "jev", "jev@1", answer)


def _answer(
    draw: st.DrawFn, choice: str, shares: dict[str, float], none_fits: float
) -> ChoiceDecision:
    stated = draw(st.permutations([*shares.items(), ("none of these", none_fits)]))
    counts = st.none() | st.integers(0, 10**6)
    return ChoiceDecision(
        choice,
        {name: round(share, 2) for name, share in stated},
        draw(st.none() | st.floats(0, 1)),
        draw(st.none() | names),
        draw(st.none() | names),
        Usage(draw(counts), draw(counts), draw(st.none() | st.floats(0, 1))),
        draw(st.none() | st.floats(0, 1e4)),
    )


@st.composite
def records(draw: st.DrawFn) -> DecisionRecord:
    """A record of a decision that the gate of the router made."""
    offered = draw(tool_lists)
    selection, config = draw(selections(offered)), draw(configs)
    local = selection.source == "local"
    decision = pass_gate(
        selection,
        {tool.name: tool for tool in offered},
        config,
        source="local" if local else draw(st.sampled_from(["jev", "cache"])),
        provider_error=draw(st.sampled_from([None, "no_key", "timeout"])) if local else None,
    )
    privacy = Privacy(draw(st.sampled_from(["full", "hashed", "none"])), b"k" * 32)
    return DecisionRecord.from_decision(
        draw(st.sampled_from(["tool", "route"])),
        draw(states),
        offered,
        decision,
        privacy,
        session=draw(st.none() | texts),
        thresholds=draw(st.none() | st.just(Thresholds.of(config, "c1"))),
        prompt_hash=draw(st.none() | names),
    )
