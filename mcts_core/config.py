"""The settings of a search: frozen, checked at construction, bounds and units per field."""

import dataclasses
import math
from dataclasses import dataclass
from typing import Final, Literal, get_args

from mcts_core.errors import ConfigError

__all__ = ["MAX_SEED", "Evaluation", "SearchConfig", "Selection"]

Selection = Literal["puct", "ucb1"]
Evaluation = Literal["decisive", "forced", "rollout", "simulator"]

MAX_SEED: Final = 2**64 - 1
MAX_COUNT: Final = 2**31 - 2


@dataclass(frozen=True, slots=True)
class SearchConfig:
    """How one search runs. Every field is checked; a bad one raises ``ConfigError``.

    Attributes:
        simulations: budget in simulations, 1 to 2**31 - 2. One simulation is one descent
            from the root, one leaf evaluation and one backup.
        time_limit_ms: budget in milliseconds of wall time, > 0, or None for no limit.
            Whichever budget ends first ends the search.
        max_depth: horizon in actions from the root, 1 to 2**31 - 2. What lies beyond is
            worth the simulator's ``evaluate`` of the state at the horizon.
        discount: factor per step on what follows, 0 to 1.
        selection: rule inside the tree. "puct" (Silver et al. 2017, AlphaGo Zero, Methods,
            "Select"; with sqrt(max(N, 1))) or "ucb1" (Kocsis & Szepesvari 2006, UCT; Auer et
            al. 2002, figure 1).
        exploration: weight of the exploration term, >= 0, in units of the value range: Q is
            first mapped to [0, 1] by ``value_range``, so it does not depend on their scale.
        fpu: first-play urgency, the normalised value assumed for an action never tried
            (Gelly & Wang 2006). "first": each action is tried once before any is tried twice,
            in order of prior; "parent": the visit-weighted mean value of the actions tried at
            that node; a number: that value, 0 = as bad as the worst seen, 1 = as good as the best.
        value_range: (low, high) of returns where they are known, low < high; None: the range
            of action values seen so far in this tree (Schrittwieser et al. 2020, MuZero, eq. 5).
        evaluation: value of a new leaf. "simulator": its ``evaluate``; "forced": follow the
            moves while exactly one is legal, then ``evaluate``; "rollout": random moves to the
            end or the horizon, then ``evaluate``; "decisive": a rollout whose player makes the
            first move that wins at once, by ending the world with a reward of at least the upper
            bound of ``value_range`` (which must be given); else a random one, taken back where
            the other player could then win at once and another move is left (decisive and
            anti-decisive moves, Teytaud & Teytaud 2010). ``Search`` refuses it where there is
            chance. A state where the search ends (terminal, no action, horizon) is always worth
            its ``evaluate``.
        solver: prove values (MCTS-Solver, Winands et al. 2008, generalised to any return): a place
            where the world or the horizon ends is proven, and so is a state all of whose actions
            are, or one of them at the upper bound of ``value_range``, which must then bound the
            return from every state. A proven action is not tried again; its value is backed up
            instead of returns through actions that are worse on average. The search ends when the
            root is proven. Actions with chance are never proven.
        prior_mix: e in (1 - e) * prior + e / k, 0 to 1: no action starves on a wrong prior.
        seed: 0 to 2**64 - 1. Same simulator, config and seed: same result, bit for bit.
    """

    simulations: int = 1024
    time_limit_ms: float | None = None
    max_depth: int = 64
    discount: float = 1.0
    selection: Selection = "puct"
    exploration: float = 1.5
    fpu: Literal["first", "parent"] | float = "first"
    value_range: tuple[float, float] | None = None
    evaluation: Evaluation = "forced"
    solver: bool = False
    prior_mix: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        check_int("simulations", self.simulations, 1, MAX_COUNT)
        check_int("max_depth", self.max_depth, 1, MAX_COUNT)
        check_int("seed", self.seed, 0, MAX_SEED)
        if self.time_limit_ms is not None:
            check_real("time_limit_ms", self.time_limit_ms, 0.0, math.inf, open_low=True)
        check_real("discount", self.discount, 0.0, 1.0)
        check_real("exploration", self.exploration, 0.0, math.inf)
        check_real("prior_mix", self.prior_mix, 0.0, 1.0)
        check_choice("selection", self.selection, get_args(Selection))
        check_choice("evaluation", self.evaluation, get_args(Evaluation))
        if not isinstance(self.solver, bool):
            raise ConfigError("solver", self.solver, "True or False")
        if isinstance(self.fpu, str):
            check_choice("fpu", self.fpu, ("first", "parent", "a number"))
        else:
            check_real("fpu", self.fpu, -math.inf, math.inf)
        _check_range("value_range", self.value_range)
        if self.evaluation == "decisive" and self.value_range is None:
            wanted = '(low, high) with evaluation "decisive": high is what a winning move pays'
            raise ConfigError("value_range", None, wanted)

    def replace(self, **changes: object) -> "SearchConfig":
        """Return a copy with some fields changed, checked again."""
        return dataclasses.replace(self, **changes)  # type: ignore[arg-type]  # checked at run time


def check_int(field: str, got: object, low: int, high: int) -> None:
    """Raise ``ConfigError`` unless ``got`` is an int (not a bool) in [low, high]."""
    if isinstance(got, bool) or not isinstance(got, int) or not low <= got <= high:
        raise ConfigError(field, got, f"an integer from {low} to {high}")


def check_real(field: str, got: object, low: float, high: float, *, open_low: bool = False) -> None:
    """Raise ``ConfigError`` unless ``got`` is a finite number in [low, high] (or (low, high])."""
    good = isinstance(got, (int, float)) and not isinstance(got, bool) and math.isfinite(got)
    if not good or not (low < got if open_low else low <= got) or not got <= high:  # type: ignore[operator]
        lower = f"{'above' if open_low else 'at least'} {low:g}" if low > -math.inf else ""
        upper = f"at most {high:g}" if high < math.inf else ""
        bounds = " and ".join(part for part in (lower, upper) if part)
        raise ConfigError(field, got, f"a finite number {bounds}".strip())


def check_choice(field: str, got: object, choices: tuple[str, ...]) -> None:
    """Raise ``ConfigError`` unless ``got`` is one of ``choices``."""
    if got not in choices:
        raise ConfigError(field, got, "one of " + ", ".join(choices))


def _check_range(field: str, got: object) -> None:
    if got is None:
        return
    if not isinstance(got, tuple) or len(got) != 2:
        raise ConfigError(field, got, "None or a pair (low, high)")
    low, high = got
    check_real(f"{field}[0]", low, -math.inf, math.inf)
    check_real(f"{field}[1]", high, -math.inf, math.inf)
    if not low < high or not math.isfinite(high - low):
        raise ConfigError(field, got, "low < high with a finite difference")
