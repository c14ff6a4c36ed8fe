"""Malformed simulation graphs: what is given, and what the one-line error must contain.

``MALFORMED`` holds files that are refused whatever the limits, ``OVERSIZED`` sound ones that
exceed the limits of a prompt. The bytes are made when they are asked for; some are large.
"""

import json
from collections.abc import Callable
from typing import Any, Final, NamedTuple

__all__ = ["DELETED", "MALFORMED", "OVERSIZED", "Malformed", "Text", "changed", "document"]

DELETED: Final = object()
MEGABYTES: Final = 10_000_000


class Text(str):
    """JSON text to be put in as it stands."""


class Malformed(NamedTuple):
    """One bad input.

    Attributes:
        name: of the test.
        data: makes the bytes.
        says: what the error must contain, normally its place.
    """

    name: str
    data: Callable[[], bytes]
    says: str


def document() -> dict[str, Any]:
    """A sound graph that uses every key: 3 states, 4 transitions, one of them by chance."""
    tools = [
        {"name": "run", "description": "Run it.", "category": "shell", "risk": "low"},
        {"name": "ask", "description": "Ask."},
    ]
    return {
        "root_state": "a",
        "states": [
            {"id": "a", "goal": "g", "observation": "o", "value": 0.5, "tools": tools},
            {"id": "b", "goal": "g", "last_action": "run", "tools": [dict(tools[0])]},
            {"id": "c", "goal": "g", "tools": []},
        ],
        "transitions": [
            {"from_state": "a", "tool": "run", "to_state": "b", "probability": 0.25},
            {"from_state": "a", "tool": "run", "to_state": "c", "probability": 0.75},
            {"from_state": "a", "tool": "ask", "to_state": "a", "reward": -0.5},
            {"from_state": "b", "tool": "run", "to_state": "c", "reward": 1, "terminal": True},
        ],
        **{"simulations": 100, "max_depth": 10, "discount": 0.9},
        **{"use_jev_prior": False, "seed": 7, "time_limit_ms": 50},
    }


def changed(*changes: tuple[str, object]) -> dict[str, Any]:
    """The sound graph with other values at some places (keys and indices between blanks).

    ``DELETED`` removes what is there; an index one beyond the end appends.
    """
    graph = document()
    for path, value in changes:
        *steps, last = (int(step) if step.isdigit() else step for step in path.split())
        node: Any = graph
        for step in steps:
            node = node[step]
        if value is DELETED:
            del node[last]
        elif isinstance(node, list) and last == len(node):
            node.append(value)
        else:
            node[last] = value
    return graph


def at(path: str, value: object) -> Callable[[], bytes]:
    """The bytes of the sound graph with ``value`` at ``path``."""
    if isinstance(value, Text):
        return lambda: at(path, "@@")().replace(b'"@@"', value.encode())
    return lambda: json.dumps(changed((path, value))).encode()


def swap(old: bytes, new: bytes) -> Callable[[], bytes]:
    """The bytes of the sound graph with the first ``old`` replaced by ``new``."""
    return lambda: json.dumps(document()).encode().replace(old, new, 1)


def raw(data: bytes | str) -> Callable[[], bytes]:
    """Exactly these bytes."""
    return lambda: data.encode() if isinstance(data, str) else data


def misplaced(path: str, value: object, says: str) -> Malformed:
    """``value`` at ``path``, where the error must name that place, and then say ``says``."""
    steps = [f"[{step}]" if step.isdigit() else f".{step}" for step in path.split()]
    place = "".join(steps).removeprefix(".")
    label = "deleted" if value is DELETED else str(value) or "empty"
    kind = "" if value is DELETED else f" ({type(value).__name__})"
    return Malformed(f"{place} is {label[:20]}{kind}", at(path, value), f"{place}: {says}")


def _many(states: int, transitions: int) -> bytes:
    tools = [{"name": str(k), "description": ""} for k in range(transitions)]
    first = {"id": "a", "goal": "", "tools": tools}
    others = [{"id": str(k), "goal": "", "tools": []} for k in range(states - 1)]
    moves = [{"from_state": "a", "tool": tool["name"], "to_state": "a"} for tool in tools]
    graph = {"root_state": "a", "states": [first, *others], "transitions": moves}
    return json.dumps(graph).encode()


JSON_TEXT: Final = (
    Malformed("an empty file", raw(b""), "graph: got nothing"),
    Malformed("blanks only", raw(b" \r\n\t "), "graph: got nothing"),
    Malformed("a byte order mark only", raw(b"\xef\xbb\xbf"), "graph: got nothing"),
    Malformed("text that is not JSON", raw("hello"), "line 1 column 1: "),
    Malformed("a file cut off", lambda: swap(b"", b"")()[:100], "line 1 column "),
    Malformed("a trailing comma", raw('{"root_state": "a",\n}'), "column "),
    Malformed("single quotes", raw("{\n  'root_state': 1}"), "line 2 column 3: "),
    Malformed("text after the end", lambda: swap(b"", b"")() + b" x", 'got "x"'),
    Malformed("two documents", lambda: swap(b"", b"")() * 2, "extra data"),
    Malformed("invalid UTF-8", raw(b'{"root_state": "a\xff"}'), "byte 17: not valid UTF-8"),
    Malformed("cut UTF-8", raw(b'{"root_state": "\xe2\x82'), "byte 16: not valid UTF-8"),
    Malformed("a surrogate in UTF-8", raw(b'{"a": "\xed\xa0\x80"}'), "byte 7: not valid UTF-8"),
    Malformed("UTF-16", raw("\ufeff{}".encode("utf-16-le")), "byte 0: not valid UTF-8"),
    Malformed("a NUL byte", raw(b'{"seed": 1}\x00'), 'got "\\u0000"'),
    Malformed("a raw control character", raw(b'{"root_state": "a\x1b[31m"}'), "line 1 column 18"),
    Malformed("a raw newline in a string", raw('{"root_state": "a\nb"}'), "line 1 column 18"),
    Malformed("a bad escape", raw(r'{"root_state": "\x41"}'), "line 1 column 17"),
    Malformed("100,000 open brackets", lambda: b"[" * 100_000, "graph: nested too deeply"),
    Malformed("100,000 open objects", lambda: b'{"a":' * 100_000, "graph: nested too deeply"),
    Malformed(
        "200,000 brackets in a field",
        at("states 0 goal", Text("[" * 100_000 + "]" * 100_000)),
        "graph: nested too deeply",
    ),
    Malformed("10 MB of one letter", lambda: b"x" * MEGABYTES, "line 1 column 1: "),
    Malformed("10 MB of zero bytes", lambda: bytes(MEGABYTES), "line 1 column 1: "),
    Malformed("10 MB of blanks", lambda: b" " * MEGABYTES, "graph: got nothing"),
    Malformed("10 MB of digits", lambda: b"1" * MEGABYTES, "graph: got 1111"),
    Malformed("10 MB of an open string", lambda: b'["' + b"a" * MEGABYTES, "column 2: "),
    Malformed("10 MB of high bytes", lambda: b"\xf0" * MEGABYTES, "byte 0: "),
    Malformed(
        "a million items of a wrong kind",
        lambda: b'{"root_state":"a","transitions":[],"states":[0' + b",0" * 1_000_000 + b"]}",
        "states[0]: got 0, wanted an object (and at least 1000 more problems)",
    ),
    Malformed(
        "a hundred thousand unknown keys",
        lambda: b"{" + b",".join(b'"k%d":0' % k for k in range(100_000)) + b"}",
        "k0: unknown key",
    ),
)

DOCUMENT: Final = (
    Malformed("null", raw("null"), "graph: got null, wanted an object"),
    Malformed("an array", raw("[]"), "graph: got an array, wanted an object"),
    Malformed("a string", raw('"root_state"'), 'graph: got "root_state", wanted an object'),
    Malformed("a number", raw("1e400"), "graph: got 1e400, wanted an object"),
    Malformed("NaN alone", raw("NaN"), "graph: got NaN"),
    Malformed("an empty object", raw("{}"), "root_state: missing"),
    Malformed("an empty key", raw('{"": 1}'), 'graph[""]: unknown key'),
    Malformed("a key of control characters", at("\x1b[31m\b", 1), 'graph["\\u001b[31m\\b"]'),
    Malformed("a key with a lone surrogate", at("\ud800", 1), 'graph: got "\\ud800"'),
    Malformed("a key of 10,000 letters", at("k" * 10_000, 1), 'graph["kkk'),
    Malformed(
        "a key given twice in the graph",
        swap(b'"root_state"', b'"root_state": "b", "root_state"'),
        "root_state: key given 2 times",
    ),
    Malformed(
        "a key given twice in a state",
        swap(b'"goal": "g"', b'"goal": 1, "goal": "g"'),
        "states[0].goal: key given 2 times",
    ),
    Malformed(
        "a key given three times in a tool",
        swap(b'"name": "ask"', b'"name": "ask", "name": "ask", "name": "ask"'),
        "states[0].tools[1].name: key given 3 times",
    ),
    Malformed(
        "a key given twice in a transition",
        swap(b'"tool": "ask"', b'"tool": "ask", "tool": "ask"'),
        "transitions[2].tool: key given 2 times",
    ),
)

GRAPH: Final = (
    misplaced("states", DELETED, "missing, wanted an array"),
    misplaced("states", {}, "got an object, wanted an array"),
    misplaced("states", None, "got null, wanted an array"),
    misplaced("states", [], "got an empty array, wanted at least one state"),
    misplaced("transitions", DELETED, "missing, wanted an array"),
    misplaced("transitions", "x", 'got "x", wanted an array'),
    misplaced("root_state", DELETED, "missing, wanted a string"),
    misplaced("root_state", 1, "got 1, wanted a string"),
    misplaced("root_state", "z", 'unknown state "z", wanted one of "a", "b", "c"'),
    misplaced("budget", 1, "unknown key, wanted one of root_state, states, "),
    misplaced("Seed", 1, "unknown key"),
    misplaced("simulations", 0, "got 0, wanted at least 1"),
    misplaced("simulations", 1_000_001, "got 1000001, wanted at most 1000000"),
    misplaced("simulations", 10.0, "got 10.0, wanted an integer"),
    misplaced("simulations", True, "got true, wanted an integer"),
    misplaced("simulations", "10", 'got "10", wanted an integer'),
    misplaced("simulations", Text("NaN"), "got NaN"),
    misplaced("max_depth", 0, "got 0, wanted at least 1"),
    misplaced("max_depth", 10_001, "got 10001, wanted at most 10000"),
    misplaced("max_depth", [1], "got an array, wanted an integer"),
    misplaced("discount", -0.1, "got -0.1, wanted at least 0"),
    misplaced("discount", 1.5, "got 1.5, wanted at most 1"),
    misplaced("discount", "0.9", 'got "0.9", wanted a finite number'),
    misplaced("discount", Text("Infinity"), "got Infinity, wanted a finite number"),
    misplaced("use_jev_prior", 1, "got 1, wanted true or false"),
    misplaced("use_jev_prior", "true", 'got "true", wanted true or false'),
    misplaced("seed", -1, "got -1, wanted at least 0"),
    misplaced("seed", 2**64, "got 18446744073709551616, wanted at most 18446744073709551615"),
    misplaced("seed", Text("9" * 5000), "got 999"),
    misplaced("seed", Text("1e3"), "got 1000.0, wanted an integer"),
    misplaced("time_limit_ms", 0, "got 0, wanted more than 0"),
    misplaced("time_limit_ms", -5, "got -5, wanted more than 0"),
    misplaced("time_limit_ms", Text("1e400"), "got 1e400, wanted a finite number"),
)

STATES: Final = (
    misplaced("states 1", None, "got null, wanted an object"),
    misplaced("states 1", [], "got an array, wanted an object"),
    misplaced("states 1 id", DELETED, "missing, wanted a string"),
    misplaced("states 1 goal", DELETED, "missing, wanted a string"),
    misplaced("states 1 tools", DELETED, "missing, wanted an array"),
    misplaced("states 1 id", "", 'got "", wanted a string that is not empty'),
    misplaced("states 1 id", 3, "got 3, wanted a string"),
    misplaced("states 1 id", "\udfff", 'got "\\udfff", wanted text without lone surrogates'),
    misplaced("states 2 id", "b", 'duplicate of states[1].id "b", wanted unique ids'),
    misplaced("states 0 goal", None, "got null, wanted a string"),
    misplaced("states 0 goal", Text("[" * 500 + "]" * 500), "got an array, wanted a string"),
    misplaced("states 0 observation", True, "got true, wanted a string"),
    misplaced("states 0 last_action", {}, "got an object, wanted a string"),
    misplaced("states 0 value", "1", 'got "1", wanted a finite number'),
    misplaced("states 0 value", True, "got true, wanted a finite number"),
    misplaced("states 0 value", None, "got null, wanted a finite number"),
    misplaced("states 0 value", Text("NaN"), "got NaN, wanted a finite number"),
    misplaced("states 0 value", Text("1e400"), "got 1e400, wanted a finite number"),
    misplaced("states 0 value", 1e151, "got 1e+151, wanted at most 1e+150"),
    misplaced("states 0 value", Text("9" * 400), "got 999"),
    misplaced("states 0 value", Text("8" * 200), "got an integer of about 200 digits"),
    misplaced("states 0 name", "x", "unknown key, wanted one of id, goal, "),
    misplaced("states 0 tools", None, "got null, wanted an array"),
    misplaced("states 0 tools 1", "run", 'got "run", wanted an object'),
    misplaced("states 0 tools 1 name", DELETED, "missing, wanted a string"),
    misplaced("states 0 tools 1 description", DELETED, "missing, wanted a string"),
    misplaced("states 0 tools 1 name", "", 'got "", wanted a string that is not empty'),
    misplaced("states 0 tools 1 name", " \t", 'got " \\t", wanted a name that is not blank'),
    misplaced("states 0 tools 1 name", 7, "got 7, wanted a string"),
    misplaced("states 0 tools 1 name", "run", 'duplicate of states[0].tools[0].name "run"'),
    misplaced("states 0 tools 0 risk", "none", "got \"none\", wanted 'low', 'medium', 'high' or"),
    misplaced("states 0 tools 0 risk", None, "got null"),
    misplaced("states 0 tools 0 category", 1, "got 1, wanted a string"),
    misplaced("states 0 tools 0 cost", 1, "unknown key, wanted one of name, description, "),
)

TRANSITIONS: Final = (
    misplaced("transitions 1", 5, "got 5, wanted an object"),
    misplaced("transitions 1 from_state", DELETED, "missing, wanted a string"),
    misplaced("transitions 1 to_state", DELETED, "missing, wanted a string"),
    misplaced("transitions 1 tool", DELETED, "missing, wanted a string"),
    misplaced("transitions 2 to_state", "s9", 'unknown state "s9", wanted one of "a", "b", "c"'),
    misplaced("transitions 2 from_state", "s9", 'unknown state "s9", wanted one of "a", "b"'),
    misplaced("transitions 2 to_state", "\x1b]\u202e\n" * 99, r'unknown state "\u001b]\u202e\n'),
    misplaced("transitions 3 tool", "ask", 'got "ask", not offered by "b", wanted one of "run"'),
    misplaced("transitions 3 tool", None, "got null, wanted a string"),
    misplaced("transitions 3 reward", "1", 'got "1", wanted a finite number'),
    misplaced("transitions 3 reward", True, "got true, wanted a finite number"),
    misplaced("transitions 3 reward", Text("NaN"), "got NaN, wanted a finite number"),
    misplaced("transitions 3 reward", Text("-Infinity"), "got -Infinity, wanted a finite number"),
    misplaced("transitions 3 reward", Text("1e400"), "got 1e400, wanted a finite number"),
    misplaced("transitions 3 reward", -1e151, "got -1e+151, wanted at least -1e+150"),
    misplaced("transitions 3 terminal", 1, "got 1, wanted true or false"),
    misplaced("transitions 3 terminal", None, "got null, wanted true or false"),
    misplaced("transitions 0 probability", 0, "got 0, wanted more than 0"),
    misplaced("transitions 0 probability", -0.25, "got -0.25, wanted more than 0"),
    misplaced("transitions 0 probability", 1.5, "got 1.5, wanted at most 1"),
    misplaced("transitions 0 probability", Text("NaN"), "got NaN, wanted a finite number"),
    misplaced("transitions 0 probability", "1", 'got "1", wanted a finite number'),
    misplaced("transitions 0 probability", Text("1e-400"), "got 0.0, wanted more than 0"),
    misplaced("transitions 0 probability", 0.15, "got a sum of 0.9 over 2 transitions of state"),
    misplaced("transitions 3 probability", 0.5, "got a sum of 0.5 over 1 transition of state"),
    misplaced("transitions 0 p", 1, "unknown key, wanted one of from_state, tool, "),
    Malformed(
        "a tool of a state without tools",
        at("transitions 4", {"from_state": "c", "tool": "run", "to_state": "a"}),
        'transitions[4].tool: got "run", not offered by "c", wanted none',
    ),
    Malformed(
        "probabilities that sum to 2",
        at("transitions 4", {"from_state": "a", "tool": "run", "to_state": "a"}),
        'transitions[0].probability: got a sum of 2 over 3 transitions of state "a" and tool "run"',
    ),
)

MALFORMED: Final = (*JSON_TEXT, *DOCUMENT, *GRAPH, *STATES, *TRANSITIONS)

OVERSIZED: Final = (
    Malformed("257 states", lambda: _many(257, 1), "states: got 257 states, wanted at most 256"),
    Malformed("1,025 transitions", lambda: _many(256, 1025), "transitions: got 1025 transitions"),
)
