"""The record of a decision: what was offered, what was decided and how it ended."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, get_args

from router.config import RoutingConfig
from router.decisions.checks import check_name, check_share
from router.decisions.errors import RecordFieldError
from router.decisions.ids import check_id, id_time, new_id
from router.decisions.options import OptionSet, option_set
from router.decisions.outcome import Outcome
from router.decisions.privacy import Privacy, TextMode, check_mode
from router.models import (
    DecisionSource,
    HarnessState,
    RiskLevel,
    RouteDecision,
    Selection,
    ToolDescriptor,
    Usage,
)

__all__ = [
    "DecisionRecord",
    "Fallback",
    "Thresholds",
    "Validation",
]

Validation = Literal["accepted", "rejected_out_of_set", "rejected_stale", "none"]
"""What a re-check of the pick against the options found: it stands; it was never offered; it is
not on offer any more; or there was no pick to check."""

NO_USAGE: Final = Usage(0, 0, 0.0)
NOT_SENT: Final = (None, "no_key", "circuit_open", "saturated", "secret_in_payload")
"""Why a provider was not even asked."""


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The thresholds in force when a decision was made.

    Attributes:
        values: name -> least confidence, 0 to 1.
        mode: of the router (a value of ``RoutingMode``), or None.
        certificate: id of what certifies them, or None: the defaults, nobody certified them.
    """

    values: Mapping[str, float]
    mode: str | None = None
    certificate: str | None = None

    def __post_init__(self) -> None:
        for name, value in self.values.items():
            check_share(f"thresholds.{name}", value)

    @classmethod
    def of(cls, config: RoutingConfig, certificate: str | None = None) -> "Thresholds":
        """Those of a router's settings, under the names that they have there."""
        names = ("direct_execution_threshold", "fallback_threshold")
        return cls({n: float(getattr(config, n)) for n in names}, config.mode.value, certificate)


@dataclass(frozen=True, slots=True)
class Fallback:
    """Something other than the first choice stood in.

    Attributes:
        to: what stood in: "planner" (the host goes on by itself), "local" (the local selector
            instead of the provider), "host" (the host's own default), or the caller's own word.
        reason: a short stable name.
    """

    to: str
    reason: str

    def __post_init__(self) -> None:
        check_name("fallback.to", self.to)
        check_name("fallback.reason", self.reason)


@dataclass(frozen=True, slots=True)
class DecisionRecord:
    """The receipt of one decision.

    Attributes:
        id: 32 hexadecimal digits; ids sort by time.
        point: the decision point: "tool", "route", "focus", or a name of one's own.
        options: what was offered, exactly.
        decision: what was decided: pick or abstention, probabilities, source, selector version,
            the provider's answer with its build and usage, latency. ``why`` is kept only where
            ``text`` is "full", since it may quote the state.
        text: how ``state`` is kept: "full", "hashed" (names of options stay, other texts are keyed
            hashes) or "none".
        state: what the decision looked at, or None.
        redacted: whether a secret was taken out of a text: a replay sees another text then.
        session: keyed hash of the session's id, or None.
        validation: see ``Validation``.
        fallback: what stood in for the first choice, or None.
        thresholds: in force, or None where none were.
        prompt_hash: digest of the words of the question, or None where no prompt was used.
        outcome: what is known of how it ended, or None.
    """

    id: str
    point: str
    options: OptionSet
    decision: RouteDecision
    text: TextMode = "none"
    state: HarnessState | None = None
    redacted: bool = False
    session: str | None = None
    validation: Validation = "none"
    fallback: Fallback | None = None
    thresholds: Thresholds | None = None
    prompt_hash: str | None = None
    outcome: Outcome | None = None

    def __post_init__(self) -> None:
        check_id(self.id)
        check_name("point", self.point)
        check_mode(self.text)
        if (self.state is None) != (self.text == "none"):
            got = "none" if self.state is None else "one"
            raise RecordFieldError("state", got, f"what fits text {self.text!r}")
        if self.validation not in get_args(Validation):
            raise RecordFieldError(
                "validation", self.validation, "one of " + ", ".join(get_args(Validation))
            )
        decision = self.decision
        if decision.source not in get_args(DecisionSource):
            raise RecordFieldError(
                "source", decision.source, "one of " + ", ".join(get_args(DecisionSource))
            )
        check_share("confidence", decision.confidence)
        if decision.none_fits is not None:
            check_share("none_fits", decision.none_fits)
        shares = decision.probabilities.values()
        if shares and not (math.isfinite(sum(shares)) and min(shares) >= 0 and max(shares) <= 1):
            raise RecordFieldError("probabilities", dict(decision.probabilities), "each in 0 to 1")

    @classmethod
    def from_decision(
        cls,
        point: str,
        state: HarnessState,
        tools: Sequence[ToolDescriptor] | OptionSet,
        decision: RouteDecision,
        privacy: Privacy,
        *,
        session: str | None = None,
        validation: Validation | None = None,
        fallback: Fallback | None = None,
        thresholds: Thresholds | None = None,
        prompt_hash: str | None = None,
        record_id: str | None = None,
    ) -> "DecisionRecord":
        """The record of a decision just made.

        Args:
            point: the decision point.
            state: what the decision looked at.
            tools: on offer, in their order; an ``OptionSet`` is taken as it is.
            decision: as the router gave it.
            privacy: the rule for texts.
            session: id of the session; kept as a hash.
            validation: None: "accepted" if the pick is among the options, else
                "rejected_out_of_set"; "none" if it abstains.
            fallback: None: told by the decision, see ``fallback_of``.
            thresholds: in force.
            prompt_hash: digest of the question's words.
            record_id: from ``new_id``; None: one of now.

        Raises:
            RecordFieldError: a field is not usable, or a secret stands where it cannot be redacted.
        """
        options = tools
        if not isinstance(options, OptionSet):
            privacy.look()
            options = option_set(privacy.options(options))
        if validation is None:
            validation = _validation(decision, options)
        kept, text, redacted = privacy.state(state, options.known)
        why = tuple(map(privacy.scrub, decision.why)) if text == "full" else ()
        if text != "full" or decision.why != why:  # (making reasons costs time)
            decision = replace(decision, why=why)
        return cls(
            id=record_id or new_id(),
            point=point,
            options=options,
            decision=decision,
            text=text,
            state=kept,
            redacted=redacted,
            session=None if session is None else privacy.hash(session),
            validation=validation,
            fallback=fallback or fallback_of(decision, validation),
            thresholds=thresholds,
            prompt_hash=prompt_hash,
        )

    @property
    def time(self) -> float:
        """Unix seconds at which the decision was recorded."""
        return id_time(self.id)

    @property
    def model(self) -> str | None:
        """The exact build that answered, or None."""
        return self.decision.answer.model if self.decision.answer else None

    @property
    def risk(self) -> RiskLevel | None:
        """Of the pick, or of the best option where it abstains; None if there is no best."""
        shares = self.decision.probabilities
        best = self.options.get(
            self.decision.tool or max(shares, key=shares.__getitem__, default=None)
        )
        return best.risk if best else None

    @property
    def usage(self) -> Usage:
        """What this decision took: nothing where the answer came from the cache or from here, and
        None for what is not known.
        """
        decision = self.decision
        if decision.source == "cache":
            return NO_USAGE
        if decision.answer is not None:
            return decision.answer.usage
        asked = decision.source in ("jev", "mcts") or decision.provider_error not in NOT_SENT
        return Usage() if asked else NO_USAGE

    @property
    def won(self) -> bool:
        """Whether the first choice itself ran and went well; never True of a fallback."""
        accepted = self.decision.tool is not None and self.validation == "accepted"
        succeeded = self.outcome is not None and self.outcome.result == "success"
        return accepted and self.fallback is None and succeeded

    @property
    def pick_was_right(self) -> bool | None:
        """Whether the pick is among the options said to be right; of an abstention, whether none
        of them was. Where nobody said, a pick that ran counts as its result; else None.
        """
        outcome, tool = self.outcome, self.decision.tool
        if outcome is None:
            return None
        if outcome.right is not None:
            return tool in outcome.right if tool is not None else not outcome.right
        stood = tool is not None and self.validation == "accepted"
        replaced = self.fallback is not None and self.fallback.to != "local"
        if not stood or replaced or outcome.result in (None, "abandoned"):
            return None
        return outcome.result == "success"

    @property
    def replayable(self) -> bool:
        """Whether a selector would see today exactly what it saw then."""
        return self.text == "full" and not self.redacted

    def selection(self) -> Selection | None:
        """What the gate was given, so that it can be passed again under other thresholds; None
        where no selector was asked: one obvious tool, a search, a provider that failed alone.
        """
        decision = self.decision
        if decision.version is None or decision.source not in ("jev", "local", "cache"):
            return None
        return Selection(
            tool=_selected(decision),
            probabilities=decision.probabilities,
            none_fits=decision.none_fits,
            source="local" if decision.source == "local" else "jev",
            version=decision.version,
            answer=decision.answer,
            why=decision.why,
        )


def fallback_of(decision: RouteDecision, validation: Validation) -> Fallback | None:
    """What stood in according to the decision itself.

    A rejected pick: the host's own default. An abstention: the planner. A pick of the local
    selector because the provider failed: the local selector; where no key is set the local selector
    is the first choice.
    """
    if validation.startswith("rejected"):
        return Fallback("host", validation)
    if decision.fallback:
        return Fallback("planner", decision.fallback_reason or "unknown")
    failed = decision.provider_error
    if failed not in (None, "no_key") and decision.source == "local":
        return Fallback("local", str(failed))
    return None


def _validation(decision: RouteDecision, options: OptionSet) -> Validation:
    if decision.tool is None:
        return "none"
    return "accepted" if decision.tool in options.known else "rejected_out_of_set"


def _selected(decision: RouteDecision) -> str | None:
    """The tool that the selector named before the gate."""
    if decision.tool is not None:
        return decision.tool
    shares, answer = decision.probabilities, decision.answer
    if decision.fallback_reason == "no_matching_tool":
        return None
    if not shares:
        return None if answer is None else answer.choice
    best = max(shares, key=shares.__getitem__)
    # Where rounding made a tie the provider's own choice was taken, so ask for that first.
    if answer is not None and shares.get(answer.choice) == decision.confidence:
        best = answer.choice
    masked = decision.fallback_reason == "provider_error" and decision.none_fits is not None
    return None if masked and decision.none_fits > shares[best] else best  # type: ignore[operator]
