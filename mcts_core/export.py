"""The tree for eyes and tools: JSON, Graphviz, networkx, and files that keep it."""

import heapq
import math
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import IO, Any, Final

import numpy as np
import numpy.typing as npt

from mcts_core.config import MAX_COUNT, check_int
from mcts_core.errors import ConfigError
from mcts_core.result import CHANCE, COLUMNS, DECISION, OUTCOME, SearchTree, check_tree

__all__ = ["from_npz", "to_dot", "to_json", "to_networkx", "to_npz"]

File = str | PathLike[str] | IO[bytes]

JSON_VERSION: Final = 1
NPZ_VERSION: Final = 1
KIND_NAMES: Final = {DECISION: "decision", CHANCE: "chance", OUTCOME: "outcome"}
DTYPES: Final[dict[str, type[np.generic]]] = dict.fromkeys(COLUMNS, np.int32) | {
    **dict.fromkeys(("value", "prior", "reward"), np.float64),
    "kind": np.uint8,
    **dict.fromkeys(("ended", "proven"), np.bool_),
}
SHAPES: Final = {DECISION: "box", CHANCE: "diamond", OUTCOME: "ellipse"}
LONGEST_LABEL: Final = 80


def to_json(tree: SearchTree, labels: Sequence[object] | None = None) -> dict[str, Any]:
    """The tree as what ``json.dumps`` takes, column by column; node i is entry i of each.

    Keys: "format" ("mcts-tree"), "version", "nodes", "kinds" (the names of the numbers in
    "kind"), one list for each array of ``SearchTree``, and "labels" if they are given. Numbers
    keep all their digits; those that are not finite become None.

    Args:
        tree: N nodes, N >= 1, parents before children.
        labels: [N] what leads to each node, such as ``Search.tree_actions()``; shown by ``str``.

    Raises:
        ConfigError: the tree has no root, its arrays differ in length, a parent does not come
            before its child, or ``labels`` has another length than the tree.
    """
    check_tree(tree, labels=labels)
    data: dict[str, Any] = {
        "format": "mcts-tree",
        "version": JSON_VERSION,
        "nodes": len(tree),
        "kinds": [KIND_NAMES[kind] for kind in sorted(KIND_NAMES)],
    }
    data |= {name: _column(getattr(tree, name)) for name in COLUMNS}
    if labels is not None:
        data["labels"] = [str(label) for label in labels]
    return data


def to_dot(
    tree: SearchTree, labels: Sequence[object] | None = None, *, max_nodes: int = 200
) -> str:
    """The tree in Graphviz' language: the root, and always next the most visited node below.

    Decisions are boxes, chance nodes diamonds, outcomes ellipses; a double border means that the
    world or the horizon ends there, a thick one that the value is proven. Labels stand as they
    are, whatever markup they hold, in at most 80 characters; of these, what cannot be printed shows
    as its Python escape.

    Args:
        tree: N nodes, N >= 1, parents before children.
        labels: [N] what leads to each node; None: the action's number.
        max_nodes: most nodes drawn, 1 or more; how many are left out is said below the drawing.

    Raises:
        ConfigError: as ``to_json``, and where ``max_nodes`` is out of range.
    """
    check_tree(tree, labels=labels)
    check_int("max_nodes", max_nodes, 1, MAX_COUNT)
    drawn = list(_most_visited(tree, max_nodes))
    lines = ["digraph tree {", '  node [fontname="sans-serif"];']
    if len(drawn) < len(tree):
        lines.append(f'  label="the {len(drawn)} most visited of {len(tree)} nodes";')
    lines += [f"  n{node} [{_dot_node(tree, labels, node)}];" for node in drawn]
    lines += [f"  n{tree.parent[node]} -> n{node};" for node in drawn[1:]]
    return "\n".join([*lines, "}", ""])


def to_networkx(tree: SearchTree, labels: Sequence[object] | None = None) -> Any:
    """The tree as a ``networkx.DiGraph`` with nodes 0 to N-1 and edges from parent to child.

    A node has the entries of each array of ``SearchTree`` but "parent" as attributes, in plain
    Python types, "kind" by its name, and "label" if labels are given.

    Args:
        tree: N nodes, N >= 1, parents before children.
        labels: [N] what leads to each node; kept as it is.

    Raises:
        ImportError: networkx is not installed; names the extra.
        ConfigError: as ``to_json``.
    """
    check_tree(tree, labels=labels)
    graph = _networkx().DiGraph()
    columns = {name: getattr(tree, name).tolist() for name in COLUMNS if name != "parent"}
    columns["kind"] = [KIND_NAMES[kind] for kind in columns["kind"]]
    if labels is not None:
        columns["label"] = list(labels)
    rows = zip(*columns.values(), strict=True)
    graph.add_nodes_from((i, dict(zip(columns, row, strict=True))) for i, row in enumerate(rows))
    graph.add_edges_from((parent, i) for i, parent in enumerate(tree.parent.tolist()) if i > 0)
    return graph


def to_npz(tree: SearchTree, file: File) -> None:
    """Save the tree, compressed, in numpy's format, for ``from_npz``.

    Args:
        tree: N nodes, N >= 1, parents before children.
        file: a path, used as it is (no ".npz" is added), or a file open for writing bytes.

    Raises:
        ConfigError: as ``to_json``.
        OSError: the file cannot be opened or written.
    """
    check_tree(tree)
    arrays: dict[str, Any] = {
        name: np.asarray(getattr(tree, name), DTYPES[name]) for name in COLUMNS
    }
    with _opened(file, "wb") as opened:
        np.savez_compressed(opened, format_version=np.array(NPZ_VERSION), **arrays)


def from_npz(file: File) -> SearchTree:
    """The tree that ``to_npz`` saved, equal in every bit.

    Nothing in the file is executed: it holds numbers only.

    Args:
        file: a path, or a file open for reading bytes that can be sought in.

    Raises:
        ConfigError: the file holds no tree, is damaged, or has a version that this release does
            not know; names what was wrong.
        OSError: the file cannot be opened.
    """
    with _opened(file, "rb") as opened:
        try:
            arrays = _read(opened)
        except ConfigError:
            raise
        except Exception as error:  # zipfile and numpy raise many things for a damaged file
            reason = f"{type(error).__name__}: {error}".splitlines()[0]
            raise ConfigError("file", reason, "a tree saved by to_npz") from error
    tree = SearchTree(**arrays)
    check_tree(tree)
    return tree


def _read(opened: IO[bytes]) -> dict[str, npt.NDArray[Any]]:
    """The arrays in a file of ``to_npz``, with the types that they must have."""
    archive = np.load(opened, allow_pickle=False)
    if not isinstance(archive, np.lib.npyio.NpzFile):
        raise ConfigError("file", "a single array", "a tree saved by to_npz")
    with archive:
        version = archive["format_version"]
        if version.shape != () or version != NPZ_VERSION:
            raise ConfigError("format_version", version.tolist(), f"{NPZ_VERSION}")
        arrays = {name: archive[name] for name in COLUMNS}
    for name, array in arrays.items():
        if array.dtype != DTYPES[name] or array.ndim != 1:
            got = f"{array.dtype} {list(array.shape)}"
            raise ConfigError(f"tree.{name}", got, f"{np.dtype(DTYPES[name])} [N]")
    return arrays


def _opened(file: File, mode: str) -> AbstractContextManager[IO[bytes]]:
    """An open file that is closed at the end, or the given one, which stays open."""
    if isinstance(file, (str, PathLike)):
        return Path(file).open(mode)
    return nullcontext(file)


def _column(array: npt.NDArray[Any]) -> list[Any]:
    """[N] an array as plain numbers and truth values; None where a number is not finite."""
    if array.dtype.kind != "f":
        return list(array.tolist())
    return [x if math.isfinite(x) else None for x in array.tolist()]


def _most_visited(tree: SearchTree, limit: int) -> Iterator[int]:
    """The root, then always the most visited child of the nodes so far, the first of equals."""
    below: list[list[int]] = [[] for _ in range(len(tree))]
    for node, parent in enumerate(tree.parent[1:].tolist(), start=1):
        below[parent].append(node)
    visits = tree.visits.tolist()
    frontier = [(-visits[0], 0)]
    for _ in range(min(limit, len(tree))):
        _, node = heapq.heappop(frontier)
        yield node
        for child in below[node]:
            heapq.heappush(frontier, (-visits[child], child))


def _dot_node(tree: SearchTree, labels: Sequence[object] | None, node: int) -> str:
    """The attributes of one node."""
    unnamed = str(tree.action[node]) if node else "root"
    name = unnamed if labels is None else str(labels[node])
    facts = rf"\n{tree.visits[node]} visits\nvalue {tree.value[node]:.4g}"
    looks = [f'label="{_dot_text(name)}{facts}"', f"shape={SHAPES[int(tree.kind[node])]}"]
    if tree.ended[node]:
        looks.append("peripheries=2")
    if tree.proven[node]:
        looks.append("penwidth=3")
    return ", ".join(looks)


def _dot_text(text: str) -> str:
    """``text`` inside a quoted label: no quote ends it, no escape or entity means anything."""
    short = text if len(text) <= LONGEST_LABEL else text[: LONGEST_LABEL - 1] + "…"
    printable = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in short)
    return printable.replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;")


def _networkx() -> Any:
    try:
        return import_module("networkx")
    except ImportError as error:
        raise ImportError(
            "networkx: not installed, wanted: pip install 'harness-router[networkx]'"
        ) from error
