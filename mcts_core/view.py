"""A search tree as one HTML page that needs nothing else: no server, no network, no other file.

The page is the template ``view.html`` beside this file with the tree put in as JSON, column by
column, and a Content-Security-Policy that admits only the template's own script and style (by
their hashes) and no request at all. The page is pure ASCII, so any encoding stores it unharmed.
"""

import base64
import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from mcts_core.result import CHANCE, COLUMNS, SearchTree, check_tree

__all__ = ["render_html"]

SIGNIFICANT_DIGITS: Final = 6


def render_html(
    tree: SearchTree,
    labels: Sequence[str],
    *,
    title: str,
    subtitle: str = "",
    facts: Mapping[str, str] | None = None,
    details: Sequence[str] | None = None,
) -> str:
    """Return a page on which ``tree`` can be unfolded, sorted and filtered.

    Values, priors and rewards are kept to six significant digits; what is not finite becomes
    null. Texts are shown as they are, whatever markup they hold.

    Args:
        tree: N nodes, N >= 1, parents before children.
        labels: [N] the action that leads to each node; for the root the name of its state.
        title: heading of the page.
        subtitle: one line below the heading; empty: none.
        facts: name and value pairs shown on top, in their order.
        details: [N] longer texts shown when a node is selected; an empty one shows nothing.

    Raises:
        ConfigError: the tree has no root, its arrays differ in length, a parent does not come
            before its child, or ``labels`` or ``details`` have another length than the tree.
    """
    check_tree(tree, labels=labels, details=details)
    data = {
        "title": title,
        "subtitle": subtitle,
        "facts": list((facts or {}).items()),
        "pv": _principal_variation(tree),
        "labels": _table(labels),
        "details": None if details is None else _table(details),
        **{name: _column(getattr(tree, name)) for name in COLUMNS},
    }
    template = resources.files("mcts_core").joinpath("view.html").read_text("utf-8")
    for tag in ("script", "style"):
        template = template.replace(f"__{tag.upper()}_HASH__", _hash_of(tag, template))
    return template.replace("__DATA__", _json_for_html(data))


def _principal_variation(tree: SearchTree) -> list[int]:
    """Nodes from the root down the best child of each.

    Best is, as in ``SearchResult``, most visits, then value, then prior, then first offered; the
    best proven child instead if its value is no lower. Of chance it is the most visited outcome.
    """
    value, prior = (np.where(np.isnan(x), -np.inf, x) for x in (tree.value, tree.prior))
    by_parent = np.argsort(tree.parent, kind="stable")
    starts = np.searchsorted(tree.parent[by_parent], np.arange(-1, len(tree) + 1))
    line = [0]
    while True:
        children = by_parent[starts[line[-1] + 1] : starts[line[-1] + 2]]
        if len(children) == 0:
            return line
        known = tree.proven[children] & (tree.kind[line[-1]] != CHANCE)
        best = _first(children[~known], tree.action, -prior, -value, -tree.visits)
        proven = _first(children[known], tree.action, -value)
        if best is None or (proven is not None and value[proven] >= value[best]):
            best = proven
        assert best is not None
        line.append(best)


def _first(nodes: npt.NDArray[np.intp], *keys: npt.NDArray[Any]) -> int | None:
    """The node that comes first when sorted by the last key, then the one before it, ..."""
    return int(nodes[np.lexsort([key[nodes] for key in keys])[0]]) if len(nodes) else None


def _column(array: npt.NDArray[Any]) -> list[int | float | None]:
    """[N] an array as JSON numbers, as short as their digits allow; null if not finite."""
    if array.dtype.kind != "f":
        return array.astype(np.int64).tolist()  # type: ignore[no-any-return]  # numpy says Any
    return [_short(x) for x in array.tolist()]


def _short(x: float) -> int | float | None:
    """``x`` to six significant digits, whole numbers without the point; None if not finite."""
    if not math.isfinite(x):
        return None
    rounded = float(f"{x:.{SIGNIFICANT_DIGITS}g}")
    return int(rounded) if rounded.is_integer() and abs(rounded) < 1e9 else rounded


def _table(texts: Sequence[str]) -> dict[str, list[Any]]:
    """Texts with each distinct one stored once: ``texts[at[i]]`` belongs to node i."""
    index: dict[str, int] = {}
    at = [index.setdefault(text, len(index)) for text in texts]
    return {"texts": list(index), "at": at}


def _json_for_html(data: object) -> str:
    """ASCII JSON that no HTML parser can take for markup; JSON.parse restores every character."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _hash_of(tag: str, template: str) -> str:
    """The CSP source that admits the text of the template's one inline ``<tag>``."""
    (text,) = re.findall(rf"<{tag}>(.*?)</{tag}>", template, re.DOTALL)
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
