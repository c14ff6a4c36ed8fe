"""From the bytes of a document to plain JSON values, and from what is wrong with it to one line.

``parse`` reads JSON more strictly than ``json.loads`` does; ``validated`` makes a pydantic model of
it; ``first_error`` turns a list of problems into a ``GraphError``. What a graph is stands in
``simulators.graph``.
"""

import gc
import json
import math
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from typing import Final, NamedTuple, Self, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from mcts_core.errors import MCTSError

__all__ = [
    "Document",
    "GraphError",
    "Loc",
    "Problem",
    "collector_paused",
    "first_error",
    "parse",
    "shown",
    "some_of",
    "validated",
]

Loc = tuple[str | int, ...]
Children = Mapping[type[BaseModel], Mapping[str, type[BaseModel]]]
M = TypeVar("M", bound=BaseModel)

MANY: Final = 1000  # problems counted at most, and keys looked at in one object
MAX_SHOWN: Final = 60  # characters of a foreign value in a message
MAX_LEVELS: Final = 5  # graph object > states > state > tools > tool
MAX_INT_CHARS: Final = 310  # a longer integer exceeds the largest float

WANTED: Final = {
    "bool_type": "true or false",
    "finite_number": "a finite number",
    "float_type": "a finite number",
    "greater_than": "more than {gt:g}",
    "greater_than_equal": "at least {ge}",
    "int_type": "an integer",
    "invalid_key": "strings as keys",
    "less_than_equal": "at most {le}",
    "list_type": "an array",
    "literal_error": "{expected}",
    "model_type": "an object",
    "string_too_short": "a string that is not empty",
    "string_type": "a string",
    "string_unicode": "text without lone surrogates",
}


class GraphError(MCTSError, ValueError):
    """A simulation graph is malformed; ``str()`` is one line that says where and why.

    Attributes:
        place: where, such as ``transitions[4].to_state``, ``line 3 column 5`` or ``graph``.
        problem: what was got and what was wanted, foreign text shortened and escaped.
        more: how many further problems there are, 0 to 1000; 1000 means "or more".
    """

    def __init__(self, place: str, problem: str, more: int = 0) -> None:
        super().__init__(place, problem, more)
        self.place = place
        self.problem = problem
        self.more = more

    def __str__(self) -> str:
        if not self.more:
            return f"{self.place}: {self.problem}"
        count = f"at least {MANY}" if self.more >= MANY else str(self.more)
        problems = "problem" if self.more == 1 else "problems"
        return f"{self.place}: {self.problem} (and {count} more {problems})"


class Problem(NamedTuple):
    """One thing wrong with a document: the steps to its place, and one line of text."""

    loc: Loc
    text: str


class Document(NamedTuple):
    """A parsed document.

    Attributes:
        value: dicts, lists, strings, numbers, bools and None. Numbers that no finite float
            holds are ``NotFinite``, objects that repeat a key are ``Repeated``.
        repeats: True if some object in it repeats a key.
    """

    value: object
    repeats: bool


class NotFinite(float):
    """A number that is NaN or infinite as a float; remembers how it was written."""

    text: str

    def __new__(cls, text: str) -> Self:
        """Read ``text``, a JSON number or NaN, Infinity, -Infinity."""
        number = super().__new__(cls, text)
        number.text = text
        return number


class Repeated(dict[str, object]):
    """An object in which some key stands more than once; the last value is kept."""

    counts: Mapping[str, int]  # how often each key stands in it


@contextmanager
def collector_paused() -> Iterator[None]:
    """Keep the garbage collector from walking a million new objects again and again.

    Reading makes no cycles. Half of the time to read a large graph would be spent on this.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def parse(data: bytes | str) -> Document:
    """Read one JSON text: UTF-8, with or without a byte order mark.

    Raises:
        GraphError: invalid UTF-8, empty, a syntax error (line and column from 1), or nested
            too deeply for the parser.
    """
    text = _text(data)
    if not text or text.isspace():
        raise GraphError("graph", "got nothing, wanted a JSON object")
    repeats: list[Repeated] = []

    def read_object(pairs: list[tuple[str, object]]) -> dict[str, object]:
        made = dict(pairs)
        if len(made) == len(pairs):
            return made
        repeats.append(Repeated(pairs))
        repeats[-1].counts = Counter(key for key, _ in pairs)
        return repeats[-1]

    try:
        value = json.loads(
            text,
            object_pairs_hook=read_object,
            parse_constant=NotFinite,
            parse_float=_read_float,
            parse_int=_read_int,
        )
    except json.JSONDecodeError as error:
        raise _syntax_error(error) from None
    except (RecursionError, MemoryError):
        wanted = f"wanted at most {MAX_LEVELS} levels of arrays and objects"
        raise GraphError("graph", f"nested too deeply to be read, {wanted}") from None
    return Document(value, bool(repeats))


def _text(data: bytes | str) -> str:
    if not isinstance(data, str):
        try:
            data = data.decode("utf-8")
        except UnicodeDecodeError as error:
            got = f"got 0x{error.object[error.start]:02x}"
            raise GraphError(f"byte {error.start}", f"not valid UTF-8, {got}") from None
    return data.removeprefix("\ufeff")


def _read_float(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else NotFinite(text)


def _read_int(text: str) -> float:
    return int(text) if len(text) <= MAX_INT_CHARS else NotFinite(text)


def _syntax_error(error: json.JSONDecodeError) -> GraphError:
    got = shown(error.doc[error.pos :][:20]) if error.pos < len(error.doc) else "the end"
    reason = error.msg[:1].lower() + error.msg[1:].rstrip(": ")
    place = f"line {error.lineno} column {error.colno}"
    return GraphError(place, f"got {got}, wanted valid JSON: {reason}")


def validated(model: type[M], document: Document, children: Children) -> M:
    """Make a ``model`` of the document.

    ``children`` says for each model which of its fields are lists of which model.

    Raises:
        GraphError: the first repeated key, unknown or missing key, or value of a wrong kind.
    """
    with suppress(ValidationError):
        made = model.model_validate(document.value)
        if not document.repeats:
            return made
    repeated = _repeated_keys(document.value) if document.repeats else iter(())
    shape = _shape_problems(model, document.value, children)
    problems = [*islice(repeated, MANY + 1), *islice(shape, MANY + 1)]
    raise first_error(problems, document.value)


def _repeated_keys(node: object, loc: Loc = ()) -> Iterator[Problem]:
    """The keys that stand more than once in one object, as deep as a graph can be."""
    if len(loc) > MAX_LEVELS:
        return
    if isinstance(node, Repeated):
        for key, count in node.counts.items():
            if count > 1:
                yield Problem((*loc, key), f"key given {count} times in one object, wanted once")
    if isinstance(node, dict | list):
        for step, child in node.items() if isinstance(node, dict) else enumerate(node):
            if isinstance(child, dict | list):
                yield from _repeated_keys(child, (*loc, step))


def _shape_problems(
    model: type[BaseModel], node: object, children: Children, loc: Loc = ()
) -> Iterator[Problem]:
    """Where ``node`` departs from ``model``: its own problems first, then those of its lists.

    Going down by hand, item by item, keeps a document of a million errors from filling the
    memory: the models' lists fail fast, and whoever takes the problems may stop.
    """
    lists: dict[str, list[object]] = {}
    own = node
    if isinstance(node, dict):
        own = dict(islice(node.items(), MANY))
        lists = {k: v for k, v in own.items() if k in children.get(model, ()) and type(v) is list}
        own |= {key: [] for key in lists}
    try:
        model.model_validate(own)
    except ValidationError as error:
        for fault in error.errors(include_url=False):
            yield Problem((*loc, *fault["loc"]), _fault_text(fault, model, children))
    for key, items in lists.items():
        for number, item in enumerate(items):
            yield from _shape_problems(children[model][key], item, children, (*loc, key, number))


def _fault_text(fault: ErrorDetails, model: type[BaseModel], children: Children) -> str:
    kind, context = fault["type"], fault.get("ctx", {})
    if kind == "missing":
        is_list = fault["loc"][-1] in children.get(model, ())
        return f"missing, wanted {'an array' if is_list else 'a string'}"
    if kind == "extra_forbidden":
        return "unknown key, wanted one of " + ", ".join(model.model_fields)
    wanted = WANTED[kind].format(**context) if kind in WANTED else _cut(fault["msg"])
    return f"got {shown(fault['input'])}, wanted {wanted}"


def first_error(problems: Sequence[Problem], document: object) -> GraphError:
    """The error for the problem that comes first in ``document``; at least one is needed.

    A missing key counts as standing at the end of its object.
    """
    orders: dict[int, dict[object, int]] = {}  # of a dict by its id: key -> position

    def position(problem: Problem) -> list[int]:
        steps, node = [], document
        for step in problem.loc:
            if isinstance(node, dict):
                if id(node) not in orders:
                    orders[id(node)] = {key: number for number, key in enumerate(node)}
                steps.append(orders[id(node)].get(step, len(node)))
                node = node.get(step)
            else:
                steps.append(step if isinstance(step, int) else 0)
                known = isinstance(node, list) and isinstance(step, int)
                node = node[step] if known else None  # type: ignore[index]
        return steps

    first = min(problems, key=position)
    return GraphError(_place(first.loc), first.text, min(len(problems) - 1, MANY))


def _place(loc: Loc) -> str:
    steps = ""
    for step in loc:
        if isinstance(step, str) and re.fullmatch(r"[A-Za-z_][A-Za-z0-9_-]{0,59}", step):
            steps += f".{step}"
        else:
            steps += f"[{shown(step)}]"
    return steps.removeprefix(".") if steps.startswith(".") else f"graph{steps}"


def shown(value: object, limit: int = MAX_SHOWN) -> str:
    """``value`` as it may stand in a one-line message: at most ``limit`` characters and quotes.

    Containers and foreign objects are named by their kind; their own code is not called.
    """
    if isinstance(value, str):
        return f'"{_cut(value, limit)}"'
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, NotFinite):
        return _cut(value.text, limit)
    if isinstance(value, int):
        digits = int(math.log10(abs(value) or 1)) + 1
        return int.__repr__(value) if digits < 40 else f"an integer of about {digits} digits"
    if isinstance(value, float):
        return float.__repr__(value)
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "an array"
    return f"a value of type {_cut(type(value).__name__, limit)}"


def some_of(names: Collection[str]) -> str:
    """A few of ``names`` in words, for what was wanted."""
    if not names:
        return "none, as there are none"
    few = ", ".join(shown(name, 20) for name in islice(names, 3))
    return f"one of {few}" + (f" ({len(names)} in all)" if len(names) > 3 else "")


def _cut(text: str, limit: int = MAX_SHOWN) -> str:
    """Escape what does not print, as JSON does, and end in "..." beyond ``limit``."""
    parts = [
        char if char.isprintable() and char not in '"\\' else json.dumps(char)[1:-1]
        for char in islice(text, limit + 1)
    ]
    if sum(map(len, parts)) <= limit:
        return "".join(parts)
    while parts and sum(map(len, parts)) > limit - 3:
        parts.pop()
    return "".join(parts) + "..."
