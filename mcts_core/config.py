"""The settings of a search: frozen, checked at construction, bounds and units per field."""

import dataclasses
import math
import sys
from dataclasses import dataclass
from typing import Final, Literal, get_args

from mcts_core.errors import ConfigError

__all__ = ["MAX_SEED", "RULES", "Chance", "Evaluation", "Normalisation", "Root", "SearchConfig"]

Normalisation = Literal["node", "tree"]
Root = Literal["gumbel", "selection"]
Chance = Literal["expected", "mean"]
Evaluation = Literal["decisive", "forced", "rollout", "simulator"]

RULES: Final = ("gumbel", "puct", "ucb1", "ucb1_tuned", "puct_numba", "ucb1_numba")
"""The selection rules that have a name; any other is "package.module:attribute"."""
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
        selection: rule inside the tree, N visits of the node, n of the action, P its prior, Q its
            mean return:
            "puct": Q + c P sqrt(N) / (1 + n) (Silver et al. 2017, AlphaGo Zero, Methods, "Select");
            "ucb1": Q + c sqrt(ln N / n) (Kocsis & Szepesvari 2006, UCT; Auer et al. 2002, fig. 1);
            "ucb1_tuned": Q + c sqrt(ln N / n min(1/4, V + sqrt(2 ln N / n))), V the variance of the
            action's returns (Auer et al. 2002, section 4);
            "gumbel": the action whose share of visits lags most behind the improved policy
            (Danihelka et al. 2022, eq. 14);
            "puct_numba", "ucb1_numba", "package.module:attribute": see ``mcts_core.scoring``.
        exploration: c, the weight of the exploration term, >= 0, in units of the value range: Q is
            first mapped to [0, 1], so it does not depend on the scale of rewards.
        exploration_base: None, or the base b > 0 of a weight that grows with the visits: c +
            ln((N + b + 1) / b) (Silver et al. 2018, AlphaZero, "Search"; MuZero has 19652).
        normalisation: whose values map Q to [0, 1] where no ``value_range`` is given: those of the
            whole "tree" (Schrittwieser et al. 2020, MuZero, eq. 5), or those of the "node" and its
            actions.
        root: "selection": as inside the tree; "gumbel": sequential halving among actions sampled
            without replacement (Danihelka et al. 2022, figure 1 and algorithm 2), which then also
            names the action. It plans for ``simulations``, not for a time limit.
        considered_actions: how many actions a Gumbel root considers, >= 1.
        gumbel_scale: of the Gumbel noise at the root, >= 0; 0 takes the best by the prior.
        value_scale: c_scale of the improved policy, >= 0 (Danihelka et al. 2022, eq. 8).
        visit_scale: c_visit of the same, >= 0.
        mixed_value: actions never tried count as the mean of the node's own estimate and the tried
            actions' values weighted by prior (appendix D); False: as the estimate alone.
        rescale_values: map the completed values of a node to [0, 1] before they are scaled.
        noise_fraction: share of Dirichlet noise in the root's prior, 0 to 1 (AlphaZero: .25).
        noise_alpha: its concentration, > 0 (AlphaZero: about 10 / number of actions).
        temperature: T >= 0 of ``SearchResult.policy``, n^(1/T) (AlphaGo Zero, Methods, "Play"), of
            which ``SearchResult.sample`` draws; 0: the chosen action alone.
        widening: None, or (k, alpha) with k > 0 and alpha 0 to 1: a node visited N times opens only
            its first max(1, floor(k N^alpha)) actions in order of prior (progressive widening,
            Coulom 2007; Couetoux et al. 2011).
        chance_widening: the same for the outcomes of one action where the world draws without
            listing them: past the limit one of those seen is drawn, as often as they were.
        fpu: first-play urgency, the normalised value assumed for an action never tried
            (Gelly & Wang 2006). "first": each action is tried once before any is tried twice,
            in order of prior; "parent": the visit-weighted mean value of the actions tried at
            that node; a number: that value, 0 = as bad as the worst seen, 1 = as good as the best.
        value_range: (low, high) of returns where they are known, low < high; None: the range of
            action values seen so far, see ``normalisation``.
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
            root is proven. An action with chance is proven once all its outcomes are, if they are
            listed with their probabilities and ``chance`` is "expected"; else never.
        transpositions: let places that are the same state at the same depth share what lies below
            them: the tree becomes a graph (Childs, Brodeur & Kocsis 2008, UCT2). The simulator must
            give a key.
        early_stop: end as soon as the simulations left could not change which action has most
            visits. Where ``solver`` or a Gumbel root decides otherwise than by visits it has no
            effect.
        memory_limit_mb: None, or the megabytes, > 0, that nodes and states may take; the search
            ends before it would need more.
        batch_size: leaves that are evaluated in one call where the search has an evaluator, 1 to
            65,536.
        virtual_loss: losses that a simulation under way counts for at the actions it went through
            (Chaslot et al. 2008, section 4.3), 1 to 1,000; for batches and shared trees.
        chance: value of an action whose outcomes the simulator lists with their probabilities:
            "expected": probabilities times values of the outcomes seen, over the sum of their
            probabilities (partial Bellman backup, Keller & Helmert 2013, "Trial-based heuristic
            tree search"); "mean": of the returns, as where they are not listed, or where there are
            three players or more.
        prior_mix: e in (1 - e) * prior + e / k, 0 to 1: no action starves on a wrong prior.
        seed: 0 to 2**64 - 1. Same simulator, config and seed: same result, bit for bit.
    """

    simulations: int = 1024
    time_limit_ms: float | None = None
    max_depth: int = 64
    discount: float = 1.0
    selection: str = "puct"
    exploration: float = 1.5
    exploration_base: float | None = None
    normalisation: Normalisation = "tree"
    root: Root = "selection"
    considered_actions: int = 16
    gumbel_scale: float = 1.0
    value_scale: float = 0.1
    visit_scale: float = 50.0
    mixed_value: bool = True
    rescale_values: bool = True
    noise_fraction: float = 0.0
    noise_alpha: float = 0.3
    temperature: float = 0.0
    widening: tuple[float, float] | None = None
    chance_widening: tuple[float, float] | None = None
    fpu: Literal["first", "parent"] | float = "first"
    value_range: tuple[float, float] | None = None
    evaluation: Evaluation = "forced"
    solver: bool = False
    transpositions: bool = False
    early_stop: bool = False
    memory_limit_mb: float | None = None
    batch_size: int = 1
    virtual_loss: int = 1
    chance: Chance = "expected"
    prior_mix: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        check_int("simulations", self.simulations, 1, MAX_COUNT)
        check_int("max_depth", self.max_depth, 1, MAX_COUNT)
        check_int("seed", self.seed, 0, MAX_SEED)
        check_int("considered_actions", self.considered_actions, 1, MAX_COUNT)
        check_int("batch_size", self.batch_size, 1, 65536)
        check_int("virtual_loss", self.virtual_loss, 1, 1000)
        for field in ("discount", "prior_mix", "noise_fraction"):
            check_real(field, getattr(self, field), 0.0, 1.0)
        for field in ("exploration", "gumbel_scale", "value_scale", "visit_scale", "temperature"):
            check_real(field, getattr(self, field), 0.0, math.inf)
        check_real("noise_alpha", self.noise_alpha, 0.0, math.inf, open_low=True)
        for field in ("time_limit_ms", "exploration_base", "memory_limit_mb"):
            if getattr(self, field) is not None:
                check_real(field, getattr(self, field), 0.0, math.inf, open_low=True)
        check_choice("evaluation", self.evaluation, get_args(Evaluation))
        check_choice("normalisation", self.normalisation, get_args(Normalisation))
        check_choice("root", self.root, get_args(Root))
        check_choice("chance", self.chance, get_args(Chance))
        for field in ("solver", "mixed_value", "rescale_values", "transpositions", "early_stop"):
            if not isinstance(getattr(self, field), bool):
                raise ConfigError(field, getattr(self, field), "True or False")
        if isinstance(self.fpu, str):
            check_choice("fpu", self.fpu, ("first", "parent", "a number"))
        else:
            check_real("fpu", self.fpu, -math.inf, math.inf)
        _check_selection(self.selection)
        _check_range("value_range", self.value_range)
        _check_widening("widening", self.widening)
        _check_widening("chance_widening", self.chance_widening)
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
    # Not math.isfinite, which raises for an int beyond every float.
    number = isinstance(got, (int, float)) and not isinstance(got, bool)
    good = number and abs(got) <= sys.float_info.max  # type: ignore[arg-type]
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


def _check_selection(got: object) -> None:
    """A known rule, or what reads as an import path; whether it is one, the search sees."""
    if got in RULES:
        return
    module, colon, attribute = got.partition(":") if isinstance(got, str) else ("", "", "")
    names = [*module.split("."), attribute]
    if not colon or not all(name.isidentifier() for name in names):
        wanted = "one of " + ", ".join(RULES) + ', or "package.module:attribute"'
        raise ConfigError("selection", got, wanted)


def _check_widening(field: str, got: object) -> None:
    if got is None:
        return
    if not isinstance(got, tuple) or len(got) != 2:
        raise ConfigError(field, got, "None or a pair (k, alpha)")
    check_real(f"{field}[0]", got[0], 0.0, math.inf, open_low=True)
    check_real(f"{field}[1]", got[1], 0.0, 1.0)
