"""normalise_servers: names of several servers are unique, and lead back to where they came from."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from router.catalog import normalise_servers
from router.errors import ToolListError


def tools(*names: str) -> list[dict[str, Any]]:
    return [{"name": name, "description": f"About {name}"} for name in names]


def names_of(servers: dict[str, list[str]]) -> list[str]:
    catalog = normalise_servers({server: tools(*names) for server, names in servers.items()})
    return [tool.name for tool in catalog.tools]


def test_only_names_that_collide_are_qualified() -> None:
    assert names_of({"git": ["log", "search"], "web": ["search", "fetch"]}) == [
        "log",
        "git.search",
        "web.search",
        "fetch",
    ]


def test_a_qualified_name_that_is_taken_gets_a_number() -> None:
    assert names_of({"a": ["x", "b.x"], "b": ["x"]}) == ["a.x", "b.x", "b.x~2"]
    assert names_of({"a": ["b.c"], "a.b": ["c"], "z": ["b.c", "c"]}) == [
        "a.b.c",
        "a.b.c~2",
        "z.b.c",
        "z.c",
    ]


def test_a_name_leads_back_to_its_server_and_its_name_there() -> None:
    catalog = normalise_servers({"git": {"tools": tools("log", "search")}, "web": tools("search")})
    entry = catalog.origin("web.search")
    assert (entry.server, entry.name) == ("web", "search")
    assert entry.tool is catalog.tools[2]
    assert entry.tool.description == "About search"
    assert ("git.search" in catalog, "search" in catalog, len(catalog)) == (True, False, 3)
    with pytest.raises(KeyError):
        catalog.origin("search")


def test_risk_is_judged_by_the_name_at_the_server() -> None:
    catalog = normalise_servers({"delete": tools("find"), "read": tools("find")})
    assert [tool.risk.value for tool in catalog.tools] == ["low", "low"]


def test_errors_name_the_server() -> None:
    with pytest.raises(ToolListError, match=r"servers\['git'\].tools\[1\].name: got 'a', wanted"):
        normalise_servers({"web": tools("a"), "git": tools("a", "a")})
    with pytest.raises(ToolListError, match=r"servers\['git'\].tools: got nothing"):
        normalise_servers({"git": None})
    with pytest.raises(ToolListError, match="servers: got '', wanted a name of a server"):
        normalise_servers({"": []})
    with pytest.raises(ToolListError, match="servers: got a list, wanted an object"):
        normalise_servers([])  # type: ignore[arg-type]


SHORT = st.sampled_from(["a", "b", "a.b", "a.a", "b.a", "a.b~2", "~", "a~2"])


@given(st.dictionaries(SHORT, st.lists(SHORT, unique=True)))
def test_names_are_unique_and_each_leads_back_whatever_servers_call_themselves(
    servers: dict[str, list[str]],
) -> None:
    catalog = normalise_servers({server: tools(*names) for server, names in servers.items()})
    offered = [tool.name for tool in catalog.tools]
    assert len(set(offered)) == len(offered)
    origins = [(catalog.origin(name).server, catalog.origin(name).name) for name in offered]
    assert origins == [(server, name) for server, names in servers.items() for name in names]
    every = [name for names in servers.values() for name in names]
    for name in every:
        assert (name in offered) or every.count(name) > 1
