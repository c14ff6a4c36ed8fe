"""The options of a decision exactly as they were offered, with digests that name the set."""

import hashlib
import json
import marshal
import zlib
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from router.decisions.errors import RecordFieldError
from router.models import RiskLevel, ToolDescriptor

__all__ = ["OptionSet", "OptionSets", "option_set", "options_from_json", "unpacked"]

DIGEST_BYTES: Final = 16
MOST_BODY: Final = 64 << 20
"""Bytes of an option set that is read back: a small file cannot unpack into all memory."""


@dataclass(frozen=True, slots=True)
class OptionSet:
    """Options in the order in which they were offered.

    Two sets are equal if their keys are, which cover every field, schemas too.

    Attributes:
        tools: as offered; of points that choose no tool, ``name`` is the option's id and
            ``description`` its label.
        key: digest of the options in their order, 16 bytes.
        set_hash: digest of the options in any order, 32 hexadecimal digits: what thresholds are
            keyed on.
        names: of ``tools``, in their order.
        known: the same as a set.
    """

    tools: tuple[ToolDescriptor, ...] = field(compare=False, repr=False)
    key: bytes
    set_hash: str
    names: tuple[str, ...] = field(compare=False)
    known: frozenset[str] = field(compare=False, repr=False)

    def __len__(self) -> int:
        return len(self.tools)

    def get(self, name: str | None) -> ToolDescriptor | None:
        """The option of that name, or None."""
        return next((tool for tool in self.tools if tool.name == name), None)

    def as_json(self) -> list[list[Any]]:
        """Per option [name, description, category, risk, schema]."""
        return [_plain(tool) for tool in self.tools]

    def packed(self) -> bytes:
        """``as_json`` as compressed text."""
        text = json.dumps(self.as_json(), separators=(",", ":"), default=_mapping)
        return zlib.compress(text.encode())


def option_set(tools: Sequence[ToolDescriptor]) -> OptionSet:
    """The set of ``tools``.

    Raises:
        RecordFieldError: a name stands twice, or a schema is not JSON.
    """
    names = tuple(tool.name for tool in tools)
    known = frozenset(names)
    if len(known) < len(names):
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise RecordFieldError("options", twice, "names that differ")
    digests = [_digest(_canonical(tool)) for tool in tools]
    set_hash = _digest(b"".join(sorted(digests))).hex()
    return OptionSet(tuple(tools), _digest(b"".join(digests)), set_hash, names, known)


def options_from_json(given: object) -> OptionSet:
    """What ``as_json`` made, checked.

    Raises:
        RecordFieldError: it is something else.
    """
    if not isinstance(given, list):
        raise RecordFieldError("options", given, "a list")
    return option_set([_tool(i, entry) for i, entry in enumerate(given)])


def unpacked(body: bytes) -> OptionSet:
    """What ``packed`` made; raises ``RecordFieldError`` on anything else."""
    try:
        stream = zlib.decompressobj()
        return options_from_json(json.loads(stream.decompress(body, MOST_BODY)))
    except (zlib.error, ValueError, RecursionError) as error:
        if isinstance(error, RecordFieldError):
            raise
        raise RecordFieldError("options", type(error).__name__, "a packed option set") from None


class OptionSets:
    """The sets met lately, so that the same tools are not hashed again for every decision.

    A set is found by the identity of its descriptors, which are frozen, and which are held here so
    that no other object can have the same identity (a schema must not be changed in place); else by
    their content, which takes about 2 us a tool where hashing anew takes 15.

    Args:
        prepare: what is done to the tools before they are hashed, e.g. secrets taken out.
        size: most sets held.
    """

    def __init__(
        self,
        prepare: Callable[[Sequence[ToolDescriptor]], Sequence[ToolDescriptor]] = tuple,
        size: int = 64,
    ) -> None:
        self._prepare = prepare
        self._size = size
        self._same: OrderedDict[tuple[int, ...], tuple[tuple[ToolDescriptor, ...], OptionSet]] = (
            OrderedDict()
        )
        self._equal: OrderedDict[bytes, OptionSet] = OrderedDict()

    def of(self, tools: Sequence[ToolDescriptor]) -> OptionSet:
        """The set of ``tools``; raises as ``option_set``."""
        identity = tuple(map(id, tools))
        same = self._same.get(identity)
        if same is not None:
            return same[1]
        content = _content(tools)
        found = self._equal.get(content) if content is not None else None
        if found is None:
            found = option_set(self._prepare(tools))
        if content is not None:
            self._equal[content] = found
        self._same[identity] = (tuple(tools), found)
        for held in (self._same, self._equal):
            if len(held) > self._size:
                held.popitem(last=False)
        return found

    def forget(self) -> None:
        """Hash every set anew from now on."""
        self._same.clear()
        self._equal.clear()


def _content(tools: Sequence[ToolDescriptor]) -> bytes | None:
    """A digest that differs wherever the tools do; None where a schema is made of other objects
    than JSON is.
    """
    whole = [(t.name, t.description, t.category, t.risk.value, t.schema) for t in tools]
    try:
        # Several times as fast as JSON; version 2 knows no references, so equal is equal.
        return _digest(marshal.dumps(whole, 2))
    except ValueError:
        return None


def _plain(tool: ToolDescriptor) -> list[Any]:
    return [tool.name, tool.description, tool.category, tool.risk.value, tool.schema]


def _canonical(tool: ToolDescriptor) -> bytes:
    try:
        return json.dumps(_plain(tool), sort_keys=True, allow_nan=False, default=_mapping).encode()
    except (TypeError, ValueError, RecursionError):
        raise RecordFieldError(f"options.{tool.name}.schema", "no JSON", "JSON") from None


def _mapping(given: object) -> dict[Any, Any]:
    if isinstance(given, Mapping):
        return dict(given)
    raise TypeError(type(given).__name__)


def _digest(text: bytes) -> bytes:
    return hashlib.blake2b(text, digest_size=DIGEST_BYTES).digest()


def _tool(i: int, entry: object) -> ToolDescriptor:
    if not isinstance(entry, list) or len(entry) != 5:
        raise RecordFieldError(
            f"options[{i}]", entry, "[name, description, category, risk, schema]"
        )
    name, description, category, risk, schema = entry
    for what, got in (("name", name), ("description", description)):
        if not isinstance(got, str):
            raise RecordFieldError(f"options[{i}].{what}", got, "a text")
    if category is not None and not isinstance(category, str):
        raise RecordFieldError(f"options[{i}].category", category, "a text or null")
    if risk not in [level.value for level in RiskLevel]:
        raise RecordFieldError(f"options[{i}].risk", risk, "one of low, medium, high, critical")
    if not isinstance(schema, dict):
        raise RecordFieldError(f"options[{i}].schema", schema, "an object")
    return ToolDescriptor(name, description, category, RiskLevel(risk), schema)
