"""Risk guessed from words against what MCP servers say themselves, their annotations hidden.

    python -m experiments.catalog_risk [FOLDER] [--server NAME=COMMAND ...] [--json]

FOLDER holds answers to tools/list, one JSON file with "tools" for each server (default:
../shared/data/mcp_catalogs). --server starts an MCP server, asks it for its tools over stdio, and
adds them: so the lexicon is tried on servers that nobody had seen when it was written.

For each catalog and in total: of the tools whose server says destructiveHint, how many are called
low (the costly error), and how many high or critical; of those it says readOnlyHint of, how many
are called low, and how many high or critical (false alarms). Intervals are Wilson's, 95 %. Then the
same with annotations shown, and the time that normalising 4,000 tools takes.

The lexicon was written by hand, not fitted. Its author had read the names in the default folder
(development: what it says there is optimistic), and had not read those of any other server.
"""

import contextlib
import json
import math
import shlex
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import click
from rich.console import Console
from rich.table import Table

from router.catalog import infer_risk, normalise_tools
from router.models import RiskLevel

FOLDER: Final = Path(__file__).parents[2] / "shared" / "data" / "mcp_catalogs"
# These say destructiveHint of every tool that is not read-only, of scrolling and of adding too.
ALL_WRITES_DESTRUCTIVE: Final = ("notionhq__notion-mcp-server", "playwright__mcp")
GRAVE: Final = ("high", "critical")
WAIT_SECONDS: Final = 60.0
TIMED_TOOLS: Final = 4_000


@dataclass
class Row:
    """Counts of inferred risk levels by what the annotations say of the tools.

    Attributes:
        name: of the catalog.
        destructive, read_only, silent: risk level -> number of tools; silent: neither is said.
        critical_though_read_only: names of tools that are called critical with annotations shown
            though they say readOnlyHint; should be none.
    """

    name: str
    destructive: Counter[str] = field(default_factory=Counter)
    read_only: Counter[str] = field(default_factory=Counter)
    silent: Counter[str] = field(default_factory=Counter)
    critical_though_read_only: list[str] = field(default_factory=list)

    def add(self, other: "Row") -> None:
        """Add the counts of another catalog."""
        self.destructive.update(other.destructive)
        self.read_only.update(other.read_only)
        self.silent.update(other.silent)
        self.critical_though_read_only += other.critical_though_read_only

    def as_json(self) -> dict[str, Any]:
        """Counts and shares, shares as [share, low end, high end] or null where there are none."""
        destructive, read_only = self.destructive.total(), self.read_only.total()
        return {
            "catalog": self.name,
            "destructive": dict(self.destructive),
            "read_only": dict(self.read_only),
            "silent": dict(self.silent),
            "destructive_not_low": share(destructive - self.destructive["low"], destructive),
            "destructive_high": share(grave(self.destructive), destructive),
            "read_only_low": share(self.read_only["low"], read_only),
            "read_only_high": share(grave(self.read_only), read_only),
            "critical_though_read_only": self.critical_though_read_only,
        }


def grave(counts: Counter[str]) -> int:
    """How many are called high or critical."""
    return sum(counts[level] for level in GRAVE)


def share(count: int, total: int) -> list[float] | None:
    """[count / total, low end, high end] with Wilson's 95 % interval; None if total is 0."""
    if not total:
        return None
    z, p = 1.959964, count / total
    middle = (p + z * z / (2 * total)) / (1 + z * z / total)
    half = z / (1 + z * z / total) * math.sqrt(p * (1 - p) / total + z * z / (4 * total**2))
    return [p, max(middle - half, 0.0), min(middle + half, 1.0)]


def row_of(name: str, tools: Iterable[Mapping[str, Any]]) -> Row:
    """The counts of one catalog."""
    row = Row(name)
    for tool in tools:
        said = tool.get("annotations") or {}
        schema = tool.get("inputSchema")
        guess = infer_risk(tool["name"], tool.get("description") or "", schema)
        if said.get("readOnlyHint") is True:
            row.read_only[guess.value] += 1
            shown = infer_risk(tool["name"], tool.get("description") or "", schema, said)
            if shown is RiskLevel.CRITICAL:
                row.critical_though_read_only.append(tool["name"])
        elif said.get("destructiveHint") is True:
            row.destructive[guess.value] += 1
        else:
            row.silent[guess.value] += 1
    return row


def sum_of(name: str, rows: Iterable[Row]) -> Row:
    """The counts of several catalogs together."""
    total = Row(name)
    for row in rows:
        total.add(row)
    return total


def catalogs_in(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """Name of the file -> its tools."""
    files = sorted(folder.glob("*.json"))
    return {path.stem: json.loads(path.read_text(encoding="utf-8"))["tools"] for path in files}


def tools_of_server(command: str) -> list[dict[str, Any]]:
    """The tools of an MCP server, which is started for it and ended again.

    Raises:
        click.ClickException: it does not answer within ``WAIT_SECONDS``, or with an error.
    """
    server = subprocess.Popen(
        shlex.split(command),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    too_late = threading.Timer(WAIT_SECONDS, server.kill)
    too_late.start()
    try:
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}}
        ask(server, 1, "initialize", {**hello, "clientInfo": {"name": "har", "version": "0"}})
        say(server, {"method": "notifications/initialized"})
        tools: list[dict[str, Any]] = []
        page: dict[str, Any] = {}
        for number in range(2, 1_000):
            answer = ask(server, number, "tools/list", page)
            tools += answer["tools"]
            if not answer.get("nextCursor"):
                break
            page = {"cursor": answer["nextCursor"]}
        return tools
    finally:
        too_late.cancel()
        server.kill()
        server.communicate()


def say(server: "subprocess.Popen[str]", message: dict[str, Any]) -> None:
    """Send one JSON-RPC message; a server that has ended will show in its missing answer."""
    assert server.stdin is not None
    with contextlib.suppress(BrokenPipeError):
        server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        server.stdin.flush()


def ask(
    server: "subprocess.Popen[str]", number: int, method: str, params: dict[str, Any]
) -> dict[str, Any]:
    """The result of one JSON-RPC request; what else the server prints is passed over."""
    assert server.stdout is not None
    say(server, {"id": number, "method": method, "params": params})
    for line in server.stdout:
        try:
            answer = json.loads(line)
        except ValueError:
            continue
        if isinstance(answer, dict) and answer.get("id") == number and "method" not in answer:
            if "result" not in answer:
                raise click.ClickException(f"the server answered {method} with an error")
            result: dict[str, Any] = answer["result"]
            return result
    raise click.ClickException(f"the server gave no answer to {method}")


def normalising_ms(tools: list[dict[str, Any]]) -> dict[str, float]:
    """Milliseconds that ``TIMED_TOOLS`` tools take, annotations hidden, the best of five runs.

    "first": none was seen before; "again": all were; "given": category and risk are stated.
    """
    if not tools:
        return {}
    best = {"first": math.inf, "again": math.inf, "given": math.inf}
    for run in range(5):
        many = distinct(tools, run)
        given = [{**tool, "category": "inspect", "risk": "low"} for tool in many]
        for kind, source in (("first", many), ("again", many), ("given", given)):
            took = milliseconds(normalise_tools, source)
            best[kind] = min(best[kind], took)
    return best


def distinct(tools: list[dict[str, Any]], run: int) -> list[dict[str, Any]]:
    """``TIMED_TOOLS`` tools with names and descriptions that no other run has."""
    many = []
    for i in range(TIMED_TOOLS):
        tool = {k: v for k, v in tools[i % len(tools)].items() if k != "annotations"}
        tool["name"] = f"{tool['name']}_{run}_{i}"
        many.append(tool)
    return many


def milliseconds(call: Callable[[Any], object], argument: object) -> float:
    """Wall time of one call."""
    started = time.perf_counter()
    call(argument)
    return (time.perf_counter() - started) * 1e3


def measure(catalogs: Mapping[str, list[dict[str, Any]]]) -> list[Row]:
    """One row for each catalog, then the totals."""
    rows = [row_of(name, tools) for name, tools in catalogs.items()]
    usual = [row for row in rows if row.name not in ALL_WRITES_DESTRUCTIVE]
    totals = [sum_of("total", rows)]
    if len(usual) < len(rows):
        totals.append(sum_of("total without Notion and Playwright", usual))
    return [*rows, *totals]


def table_of(rows: Iterable[Row]) -> Table:
    """The rows for a person to read."""
    table = Table(title="Risk from words, annotations hidden")
    for i, head in enumerate(
        ("catalog", "destructive", "not low", "high", "read-only", "low", "high", "neither said")
    ):
        table.add_column(head, justify="right" if i else "left")
    for row in rows:
        found = row.as_json()
        table.add_row(
            row.name,
            str(row.destructive.total()),
            shown(found["destructive_not_low"]),
            shown(found["destructive_high"]),
            str(row.read_only.total()),
            shown(found["read_only_low"]),
            shown(found["read_only_high"]),
            "/".join(str(row.silent[risk.value]) for risk in RiskLevel),
        )
    return table


def shown(found: list[float] | None) -> str:
    """A share with its interval."""
    return "-" if found is None else f"{found[0]:.3f} ({found[1]:.2f}-{found[2]:.2f})"


@click.command(help=__doc__.split("\n\n", 1)[0] if __doc__ else None)
@click.argument(
    "folder", type=click.Path(exists=True, file_okay=False, path_type=Path), required=False
)
@click.option("--server", "servers", multiple=True, help="NAME=COMMAND of an MCP server to ask.")
@click.option("--json", "as_json", is_flag=True, help="Print figures as JSON.")
def main(folder: Path | None, servers: tuple[str, ...], as_json: bool) -> None:
    """Measure and print."""
    catalogs = catalogs_in(folder or FOLDER) if folder or not servers else {}
    for text in servers:
        name, _, command = text.partition("=")
        catalogs[name] = tools_of_server(command)
    if not catalogs:
        raise click.UsageError("no catalogs there: name a FOLDER of them, or a --server")
    rows = measure(catalogs)
    took = normalising_ms([tool for tools in catalogs.values() for tool in tools])
    if as_json:
        figures = {"rows": [row.as_json() for row in rows], "normalising_ms": took}
        click.echo(json.dumps(figures, indent=1))
        return
    Console(width=150).print(table_of(rows))
    bad = sum_of("", rows).critical_though_read_only
    click.echo(f"called critical with annotations shown though read-only: {len(bad)}")
    click.echo(f"normalising {TIMED_TOOLS} tools, ms: {json.dumps(took)}")


if __name__ == "__main__":
    main()
