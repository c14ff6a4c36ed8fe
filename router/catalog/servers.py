"""The tools of several servers as one list: names told apart where they collide, and traced back."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from router.catalog.checks import check_name, seen
from router.catalog.normalise import normalise_tools
from router.errors import ToolListError
from router.models import ToolDescriptor

__all__ = ["Catalog", "CatalogEntry", "normalise_servers"]


@dataclass(frozen=True, slots=True)
class CatalogEntry:
    """A tool on offer and where it comes from.

    Attributes:
        tool: as it is offered; its name is unique in the catalog.
        server: name of its server.
        name: its name there.
    """

    tool: ToolDescriptor
    server: str
    name: str


class Catalog:
    """The tools of several servers, with unique names.

    Attributes:
        entries: in the order of the servers and of their tools.
        tools: the descriptors of ``entries``, to be offered to a router.
    """

    def __init__(self, entries: tuple[CatalogEntry, ...]) -> None:
        self.entries = entries
        self.tools = tuple(entry.tool for entry in entries)
        self._by_name = {entry.tool.name: entry for entry in entries}

    def __len__(self) -> int:
        return len(self.entries)

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def origin(self, name: str) -> CatalogEntry:
        """The server, and the name there, of the tool that is offered as ``name``.

        Raises:
            KeyError: no tool is offered under that name.
        """
        return self._by_name[name]


def normalise_servers(servers: Mapping[str, Any]) -> Catalog:
    """The tools of all ``servers``.

    A name that only one server has stays as it is. A name that several have becomes
    "server.name" at each of them; should that be taken (by a tool that is called so itself), a
    number is added: "server.name~2". So a further server changes no name but those it shares.

    Args:
        servers: name -> its tools, as ``normalise_tools`` takes them.

    Raises:
        ToolListError: a tool is not usable, or its server has two of its name; names server and
            place.
    """
    if not isinstance(servers, Mapping):
        raise ToolListError(f"servers: got {seen(servers)}, wanted name -> tools")
    listed: list[tuple[str, ToolDescriptor]] = []
    for server, source in servers.items():
        check_name(server, "servers")
        place = f"servers[{seen(server)}].tools"
        listed += ((server, tool) for tool in normalise_tools(source, place))
    return Catalog(tuple(_entries(listed)))


def _entries(listed: list[tuple[str, ToolDescriptor]]) -> list[CatalogEntry]:
    servers_with = Counter(tool.name for _, tool in listed)
    taken = {name for name, count in servers_with.items() if count == 1}
    entries = []
    for server, tool in listed:
        name = tool.name
        if servers_with[name] > 1:
            name = _free_name(f"{server}.{name}", taken)
            taken.add(name)
        entries.append(CatalogEntry(replace(tool, name=name), server, tool.name))
    return entries


def _free_name(name: str, taken: set[str]) -> str:
    number, found = 1, name
    while found in taken:
        number += 1
        found = f"{name}~{number}"
    return found
