"""Selection rules written as one plain function, compiled by numba to a kernel over a node's row.

A rule says what one child is worth trying; the loop over the children is ours. It is compiled for
the host's SIMD, kept on disk (see ``numba_cache``) and called by its address from the search's loop
without the GIL (``row_t`` in selection.pxd), so a rule of a researcher's own runs as fast as the
built-in ones. docs/scoring_rules.md is the page to begin with.

Importing this module imports numba; ``mcts_core`` does so only where a rule asks for it.
"""

import importlib
import inspect
import itertools
import math
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final, overload

from mcts_core.errors import ConfigError, MCTSError
from mcts_core.numba_cache import compile_module
from mcts_core.scoring_kernel import ROW, source_of

__all__ = ["ARGUMENTS", "ScoringRule", "load", "scoring_rule"]

Score = Callable[..., float]

ARGUMENTS: Final = (
    *("q", "visits", "prior", "parent_visits", "exploration", "value", "variance"),
)  # what a rule may ask for, by name; ``scoring_rule`` says what they are


@dataclass(frozen=True)
class ScoringRule:
    """A compiled selection rule.

    Attributes:
        name: of the function, for messages.
        address: of a C function of the type ``row_t`` (mcts_core/selection.pxd).
        uses_variance: the search is to keep sums of squared deviations of returns.
        function: the function as it was written.
        keep: what keeps the address valid.
    """

    name: str
    address: int
    uses_variance: bool
    function: Score = field(repr=False)
    keep: types.ModuleType = field(repr=False)


@overload
def scoring_rule(function: Score) -> ScoringRule: ...
@overload
def scoring_rule(*, variance: bool | None = None) -> Callable[[Score], ScoringRule]: ...
def scoring_rule(
    function: Score | None = None, *, variance: bool | None = None
) -> ScoringRule | Callable[[Score], ScoringRule]:
    """Make a selection rule of a function that scores one child: a decorator.

    The child with the highest score is tried next, the first of equals. The function asks by name
    for any of these, all floats:

        q: the mean return, mapped to [0, 1] by the range of values (``SearchConfig``).
        visits: how often the child was tried; 0 where it was not, and q is then the first-play
            urgency: the score must be finite for 0 too.
        prior: its probability, 0 to 1.
        parent_visits: how often its parent was visited, at least 1.
        exploration: ``SearchConfig.exploration``.
        value: the mean return as it is.
        variance: of the returns, population variance in units of q; 0 before the first visit.

    It is compiled by numba without fast-math, a division by zero gives inf or nan. A score that is
    nan is never the best. Where all are, or where a helper raises, the first child is taken.

    Args:
        function: the function; one that numba compiled already is compiled again in our way.
        variance: whether the search keeps the variance; None: if the function asks for it; False:
            it is given 0.

    Raises:
        ConfigError: the function asks for something else, raises or returns something that is not
            a finite number when tried in plain Python, or uses what numba does not compile. The
            message names the function and what was wanted.
    """
    if function is None:
        return lambda given: _compiled(given, variance)
    return _compiled(function, variance)


def _compiled(
    function: Score, variance: bool | None = None, name: str | None = None
) -> ScoringRule:
    plain = getattr(function, "py_func", function)
    if not isinstance(plain, types.FunctionType):
        raise ConfigError("scoring rule", function, "a function made by def")
    name = name or plain.__name__
    where = f"scoring rule {name}"
    names = _names(where, plain)
    if variance and "variance" not in names:
        raise ConfigError(where, names, "the argument variance, or not variance=True")
    uses_variance = "variance" in names and variance is not False
    _try_in_python(where, plain, names, uses_variance)

    def refuse(_: str, reason: str) -> ConfigError:
        wanted = f"score({', '.join(names)}) -> float that numba compiles"
        return ConfigError(where, reason, wanted)

    module = compile_module(
        "scoring",
        source_of(names, uses_variance=uses_variance),
        {"row": ROW},
        {"score": plain},
        constants={},
        options={"error_model": "numpy", "forceinline": True},
        refuse=refuse,
    )
    return ScoringRule(name, module.__dict__["c_row"].address, uses_variance, plain, module)


def _names(where: str, function: types.FunctionType) -> tuple[str, ...]:
    """The arguments that a function asks for, each of them one of ours."""
    parameters = inspect.signature(function).parameters.values()
    names = tuple(parameter.name for parameter in parameters)
    plain = all(p.kind is p.POSITIONAL_OR_KEYWORD and p.default is p.empty for p in parameters)
    if not names or not plain or not set(names) <= set(ARGUMENTS):
        got = f"{function.__name__}{inspect.signature(function)}"
        raise ConfigError(where, got, f"a function of some of {', '.join(ARGUMENTS)}")
    return names


def _try_in_python(
    where: str, function: Score, names: tuple[str, ...], uses_variance: bool
) -> None:
    """Score children as they occur: untried and tried, good and bad, likely and not."""
    grid = {
        "q": (0.0, 0.5, 1.0),
        "visits": (0.0, 1.0, 2.0, 1e6),
        "prior": (0.0, 0.25, 1.0),
        "parent_visits": (1.0, 3.0, 1e6),
        "exploration": (0.0, 1.5),
        "value": (-10.0, 0.0, 10.0),
        "variance": (0.0, 0.25) if uses_variance else (0.0,),
    }
    for values in itertools.product(*(grid[name] for name in names)):
        child = dict(zip(names, values, strict=True))
        at = ", ".join(f"{name}={value:g}" for name, value in child.items())
        try:
            got = function(**child)
            finite = math.isfinite(got)
        except Exception as error:
            what = f"{type(error).__name__} ({error}) at {at}"
            raise ConfigError(where, what, "a finite score") from error
        if not finite:
            raise ConfigError(where, f"{got} at {at}", "a finite score")


def _puct(q: float, visits: float, prior: float, parent_visits: float, exploration: float) -> float:
    """``puct`` of ``SearchConfig`` (Silver et al. 2017, Methods, "Select"), the same doubles."""
    return q + (exploration * math.sqrt(parent_visits) * prior) * (1.0 / (1.0 + visits))


def _ucb1(q: float, visits: float, parent_visits: float, exploration: float) -> float:
    """``ucb1`` of ``SearchConfig`` (Auer et al. 2002, figure 1), the same doubles."""
    if visits == 0.0:
        return q
    return q + exploration * math.sqrt(math.log(parent_visits)) * (1.0 / math.sqrt(visits))


BUILT_IN: Final[dict[str, Score]] = {"puct_numba": _puct, "ucb1_numba": _ucb1}


@cache
def load(name: str) -> ScoringRule:
    """The rule of that name, made once a process.

    Args:
        name: "puct_numba" or "ucb1_numba" (the built-in rules as row kernels: the same tree), or
            "package.module:attribute", the import path of a ``ScoringRule`` or a plain function.

    Raises:
        ConfigError: there is no such rule, its module cannot be imported, or what is there cannot
            be made a rule (see ``scoring_rule``).
    """
    if name in BUILT_IN:
        return _compiled(BUILT_IN[name], name=name)
    module, colon, attribute = name.partition(":")
    if not (module and colon and attribute):
        wanted = f"one of {', '.join(BUILT_IN)}, or an import path package.module:attribute"
        raise ConfigError("selection", name, wanted)
    found = _imported(name, module)
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise ConfigError("selection", name, f"an attribute of {found!r}; it has no {part!r}")
        found = getattr(found, part)
    if isinstance(found, ScoringRule):
        return found
    if not callable(found):
        wanted = f"a ScoringRule or a function there, not a {type(found).__name__}"
        raise ConfigError("selection", name, wanted)
    return _compiled(found)


def _imported(name: str, module: str) -> Any:
    try:
        return importlib.import_module(module)
    except MCTSError:
        raise  # a rule in it says what is wrong
    except Exception as error:
        wanted = f"a module that can be imported ({type(error).__name__}: {error})"
        raise ConfigError("selection", name, wanted) from error
