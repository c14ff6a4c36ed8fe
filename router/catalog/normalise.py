"""Tools as hosts and servers list them, in four wire shapes, to ``ToolDescriptor``."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from router.catalog.categories import infer_category
from router.catalog.checks import check_name, check_schema, check_text, check_tools, seen
from router.catalog.risk import infer_risk
from router.errors import ToolListError
from router.models import RiskLevel, ToolDescriptor

__all__ = ["normalise_tools"]

WRAPPERS: Final = ("function", "custom")
SCHEMAS: Final = ("schema", "input_schema", "inputSchema", "parameters")
RISKS: Final = {risk.value: risk for risk in RiskLevel}


def normalise_tools(source: object, place: str = "tools") -> list[ToolDescriptor]:
    """The tools of ``source``, in their order.

    A tool is an object with ``name``, ``description`` and, under any of the names ``schema``,
    ``input_schema``, ``inputSchema`` and ``parameters``, the JSON schema of its arguments; so
    OpenAI, Anthropic and MCP say it. OpenAI's ``{"type": "function", "function": {...}}`` is
    unwrapped. ``category`` and ``risk`` are taken where they are given; else they are inferred, see
    ``infer_category`` and ``infer_risk``, from ``annotations`` (MCP) first. Where there is no
    description, the ``title`` stands in; where there is none either, it is empty. Other keys are
    the host's own and ignored.

    Args:
        source: a list of tools, of descriptors too; or an object with ``tools``, as MCP's
            ``tools/list`` answers (one page of it) and requests to models have; or the JSON-RPC
            envelope of such an answer.
        place: what errors call the list.

    Raises:
        ToolListError: it is none of these, or a tool is not usable; names the place.
    """
    tools = [_descriptor(tool, f"{place}[{i}]") for i, tool in enumerate(_list_of(source, place))]
    check_tools(tools, place)
    return tools


def _list_of(source: object, place: str) -> Sequence[Any]:
    if isinstance(source, Mapping):
        if "result" in source and isinstance(source["result"], Mapping):
            source = source["result"]
        elif "error" in source and "tools" not in source:
            raise ToolListError(f"{place}: got the error of a server, wanted a list of tools")
        source = source.get("tools")
    if not isinstance(source, (list, tuple)):
        raise ToolListError(f"{place}: got {seen(source)}, wanted a list of tools")
    return source


def _descriptor(tool: object, place: str) -> ToolDescriptor:
    if isinstance(tool, ToolDescriptor):
        check_name(tool.name, f"{place}.name")
        return tool
    if not isinstance(tool, Mapping):
        raise ToolListError(f"{place}: got {seen(tool)}, wanted a tool as an object")
    for wrapper in WRAPPERS:
        if tool.get("type") == wrapper and isinstance(tool.get(wrapper), Mapping):
            tool, place = {**tool, **tool[wrapper]}, f"{place}.{wrapper}"
    name = check_name(tool.get("name"), f"{place}.name")
    description = _description(tool, place)
    schema = _schema(tool, place)
    category, risk = tool.get("category"), tool.get("risk")
    annotations = tool.get("annotations")
    if category is None:
        category = infer_category(name, description, schema, annotations)
    if risk is None:
        risk = infer_risk(name, description, schema, annotations)
    return ToolDescriptor(
        name,
        description,
        check_name(category, f"{place}.category", "a category"),
        _risk(risk, f"{place}.risk"),
        schema,
    )


def _description(tool: Mapping[Any, Any], place: str) -> str:
    """The description, else a title of the tool, else nothing."""
    said = tool.get("annotations")
    for key, holder in (("description", tool), ("title", tool), ("title", said)):
        text = holder.get(key) if isinstance(holder, Mapping) else None
        if text is not None and check_text(text, f"{place}.{key}").strip():
            return str(text)
    return ""


def _schema(tool: Mapping[Any, Any], place: str) -> dict[str, Any]:
    for key in SCHEMAS:
        if tool.get(key) is not None:
            return check_schema(tool[key], f"{place}.{key}")
    return {}


def _risk(risk: object, place: str) -> RiskLevel:
    found = RISKS.get(risk.lower()) if isinstance(risk, str) else None
    if found is None:
        raise ToolListError(f"{place}: got {seen(risk)}, wanted {', '.join(RISKS)}")
    return found
