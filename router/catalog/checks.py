"""Checks of tools offered together, and of what they are made of; errors name the place."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from router.errors import ToolListError
from router.models import ToolDescriptor

__all__ = ["check_name", "check_schema", "check_text", "check_tools", "seen"]

SHOWN: Final = 60
DEPTH_LIMIT: Final = 100
SIZE_LIMIT: Final = 100_000
INTEGER_BITS: Final = 1_024
PLAIN: Final = frozenset({str, bool, type(None)})


def check_tools(tools: Sequence[ToolDescriptor], place: str = "tools") -> dict[str, ToolDescriptor]:
    """The tools by name, in their order.

    Args:
        tools: offered together.
        place: what errors call the list.

    Raises:
        ToolListError: a name is blank or there twice.
    """
    offered: dict[str, ToolDescriptor] = {}
    for i, tool in enumerate(tools):
        name = tool.name
        if name in offered or not name.strip():
            wanted = "a name not used before" if name.strip() else "a name"
            raise ToolListError(f"{place}[{i}].name: got {seen(name)}, wanted {wanted}")
        offered[name] = tool
    return offered


def check_name(value: object, place: str, wanted: str = "a name") -> str:
    """``value`` if it is a text that is not blank; else raises ``ToolListError``."""
    text = check_text(value, place, wanted)
    if not text.strip():
        raise ToolListError(f"{place}: got {seen(text)}, wanted {wanted}")
    return text


def check_text(value: object, place: str, wanted: str = "a text") -> str:
    """``value`` if it is a text that can be written out; else raises ``ToolListError``."""
    if not isinstance(value, str):
        raise ToolListError(f"{place}: got {seen(value)}, wanted {wanted}")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:  # half a character pair: no request can carry it
            raise ToolListError(f"{place}: got {seen(value)}, wanted valid Unicode") from None
    return value


def check_schema(value: object, place: str) -> dict[str, Any]:
    """``value`` as a dict if it is a JSON object; else raises ``ToolListError``.

    It must go into JSON, as it will where it is used: text keys, no NaN, no circles, at most
    ``DEPTH_LIMIT`` levels and ``SIZE_LIMIT`` values.
    """
    if not isinstance(value, Mapping):
        raise ToolListError(f"{place}: got {seen(value)}, wanted a JSON object")
    schema = dict(value)
    trouble = _trouble_in_json(schema)
    if trouble is not None:
        raise ToolListError(f"{place}: got {trouble}, wanted a JSON object")
    return schema


def _trouble_in_json(value: object) -> str | None:
    """What keeps ``value`` from being JSON of a bounded size; None if nothing does.

    Goes level by level: neither deep nesting nor a circle can exhaust the stack or the memory.
    """
    level, count = [value], 0
    for _ in range(DEPTH_LIMIT):
        inner: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                try:
                    "".join(item)  # the fastest way to see that all keys are texts
                except TypeError:
                    return "a key that is no text"
                inner += [v for v in item.values() if type(v) not in PLAIN]
            elif isinstance(item, (list, tuple)):
                inner += [v for v in item if type(v) not in PLAIN]
            elif isinstance(item, float):
                if not math.isfinite(item):
                    return "a number that is not finite"
            elif isinstance(item, int):
                if item.bit_length() > INTEGER_BITS:
                    return "a number with too many digits"
            elif not isinstance(item, str):
                return seen(item)
        count += len(inner)
        if not inner:
            return None
        if count > SIZE_LIMIT:
            return f"more than {SIZE_LIMIT} values"
        level = inner
    return f"more than {DEPTH_LIMIT} levels"


def seen(value: object) -> str:
    """``value`` in a few words for an error; never its whole text, whatever it is."""
    if isinstance(value, str):
        return repr(value if len(value) <= SHOWN else f"{value[:SHOWN]}...")
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, (int, float)):
        return "a number"
    if isinstance(value, Mapping):
        return "an object"
    kind = "list" if isinstance(value, (list, tuple)) else type(value).__name__
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"
