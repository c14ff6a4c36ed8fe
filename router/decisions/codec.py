"""The parts of a record as JSON objects, and back: for the file of records and for JSONL."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final

from router.decisions.checks import Fields
from router.decisions.options import OptionSet
from router.decisions.outcome import Outcome
from router.decisions.record import DecisionRecord, Fallback, Thresholds
from router.models import ActionSummary, ChoiceDecision, HarnessState, RouteDecision, Usage

__all__ = [
    "answer_from_json",
    "answer_to_json",
    "dumps",
    "outcome_from_json",
    "outcome_to_json",
    "record_from_json",
    "record_to_json",
    "state_from_json",
    "state_to_json",
    "thresholds_from_json",
    "thresholds_to_json",
]

VERSION: Final = 1
"""Of the JSON form of a record."""


def state_to_json(state: HarnessState) -> dict[str, Any]:
    """The whole state."""
    return {
        "goal": state.goal,
        "observation": state.observation,
        "last_action": state.last_action,
        "recent_actions": [[a.tool, a.outcome, a.arguments_hash] for a in state.recent_actions],
        "constraints": list(state.constraints),
    }


def state_from_json(given: object) -> HarnessState:
    """What ``state_to_json`` made; raises ``RecordFieldError`` on anything else."""
    fields = Fields(given, "state")
    state = HarnessState(
        fields.text("goal"),
        fields.maybe_text("observation"),
        fields.maybe_text("last_action"),
        [_action(i, action) for i, action in enumerate(fields.list("recent_actions"))],
        fields.texts("constraints"),
    )
    fields.end()
    return state


def _action(i: int, given: object) -> ActionSummary:
    where = f"state.recent_actions[{i}]"
    names = ("tool", "outcome", "arguments_hash")
    whole = isinstance(given, list) and len(given) == len(names)
    fields = Fields(dict(zip(names, given, strict=True)) if whole else given, where)  # type: ignore[call-overload]
    return ActionSummary(
        fields.text("tool"), fields.text("outcome"), fields.maybe_text("arguments_hash")
    )


def answer_to_json(answer: ChoiceDecision) -> dict[str, Any]:
    """The provider's answer, probabilities as it rounded them."""
    usage = answer.usage
    return {
        "choice": answer.choice,
        "probabilities": dict(answer.probabilities),
        "confidence": answer.confidence,
        "model": answer.model,
        "request_id": answer.request_id,
        "usage": [usage.input_tokens, usage.output_tokens, usage.cost],
        "latency_ms": answer.latency_ms,
    }


def answer_from_json(given: object) -> ChoiceDecision:
    """What ``answer_to_json`` made; raises ``RecordFieldError`` on anything else."""
    fields = Fields(given, "answer")
    answer = ChoiceDecision(
        choice=fields.text("choice"),
        probabilities=fields.shares("probabilities"),
        confidence=fields.maybe_number("confidence"),
        model=fields.maybe_text("model"),
        request_id=fields.maybe_text("request_id"),
        usage=_usage(fields.list("usage")),
        latency_ms=fields.maybe_number("latency_ms"),
    )
    fields.end()
    return answer


def _usage(given: Sequence[object]) -> Usage:
    names = ("input_tokens", "output_tokens", "cost")
    whole = len(given) == len(names)
    fields = Fields(dict(zip(names, given, strict=True)) if whole else given, "answer.usage")
    return Usage(
        fields.maybe_count(names[0]), fields.maybe_count(names[1]), fields.maybe_number("cost")
    )


def thresholds_to_json(thresholds: Thresholds) -> dict[str, Any]:
    """Values, mode and certificate."""
    return {
        "values": dict(thresholds.values),
        "mode": thresholds.mode,
        "certificate": thresholds.certificate,
    }


def thresholds_from_json(given: object) -> Thresholds:
    """What ``thresholds_to_json`` made; raises ``RecordFieldError`` on anything else."""
    fields = Fields(given, "thresholds")
    thresholds = Thresholds(
        fields.shares("values"), fields.maybe_text("mode"), fields.maybe_text("certificate")
    )
    fields.end()
    return thresholds


def outcome_to_json(outcome: Outcome) -> dict[str, Any]:
    """All fields."""
    right = None if outcome.right is None else list(outcome.right)
    return {**asdict(outcome), "right": right}


def outcome_from_json(given: object) -> Outcome:
    """What ``outcome_to_json`` made; raises ``RecordFieldError`` on anything else."""
    fields = Fields(given, "outcome")
    right = fields.any("right")
    outcome = Outcome(
        result=fields.any("result"),
        right=None if right is None else Fields({"right": right}, "outcome").texts("right"),
        duration_ms=fields.maybe_number("duration_ms"),
        retries=fields.maybe_count("retries"),
        by=fields.text("by"),
        time=fields.number("time"),
    )
    fields.end()
    return outcome


def record_to_json(record: DecisionRecord) -> dict[str, Any]:
    """A record without its options, of which it gives the key; its outcome is left out too.

    ``time`` is there for the reader: it follows from the id.
    """
    decision = record.decision
    fallback = record.fallback
    return {
        "v": VERSION,
        "id": record.id,
        "time": record.time,
        "point": record.point,
        "options": record.options.key.hex(),
        "tool": decision.tool,
        "category": decision.category,
        "confidence": decision.confidence,
        "probabilities": dict(decision.probabilities),
        "none_fits": decision.none_fits,
        "abstained": decision.fallback,
        "reason": decision.fallback_reason,
        "source": decision.source,
        "provider_error": decision.provider_error,
        "version": decision.version,
        "answer": None if decision.answer is None else answer_to_json(decision.answer),
        "latency_ms": decision.latency_ms,
        "why": list(decision.why),
        "text": record.text,
        "state": None if record.state is None else state_to_json(record.state),
        "redacted": record.redacted,
        "session": record.session,
        "validation": record.validation,
        "fallback": None if fallback is None else {"to": fallback.to, "reason": fallback.reason},
        "thresholds": None if record.thresholds is None else thresholds_to_json(record.thresholds),
        "prompt_hash": record.prompt_hash,
    }


def record_from_json(given: object, options: OptionSet) -> DecisionRecord:
    """What ``record_to_json`` made; raises ``RecordFieldError`` on anything else."""
    fields = Fields(given, "record")
    for known in ("v", "time", "options"):
        fields.any(known)
    state, thresholds = fields.any("state"), fields.any("thresholds")
    record = DecisionRecord(
        id=fields.text("id"),
        point=fields.text("point"),
        options=options,
        decision=_decision(fields),
        text=fields.any("text"),
        state=None if state is None else state_from_json(state),
        redacted=fields.flag("redacted"),
        session=fields.maybe_text("session"),
        validation=fields.any("validation"),
        fallback=_fallback(fields.any("fallback")),
        thresholds=None if thresholds is None else thresholds_from_json(thresholds),
        prompt_hash=fields.maybe_text("prompt_hash"),
    )
    fields.end()
    return record


def _decision(fields: Fields) -> RouteDecision:
    answer = fields.any("answer")
    return RouteDecision(
        tool=fields.maybe_text("tool"),
        category=fields.maybe_text("category"),
        confidence=fields.number("confidence"),
        probabilities=fields.shares("probabilities"),
        fallback=fields.flag("abstained"),
        fallback_reason=fields.maybe_text("reason"),
        source=fields.text("source"),  # type: ignore[arg-type]  # checked by the record
        none_fits=fields.maybe_number("none_fits"),
        provider_error=fields.maybe_text("provider_error"),
        version=fields.maybe_text("version"),
        answer=None if answer is None else answer_from_json(answer),
        latency_ms=fields.maybe_number("latency_ms"),
        why=fields.texts("why"),
    )


def _fallback(given: object) -> Fallback | None:
    if given is None:
        return None
    fields = Fields(given, "fallback")
    fallback = Fallback(fields.text("to"), fields.text("reason"))
    fields.end()
    return fallback


_ENCODER: Final = json.JSONEncoder(
    ensure_ascii=False, separators=(",", ":"), allow_nan=False, check_circular=False
)
_ESCAPING: Final = json.JSONEncoder(separators=(",", ":"), allow_nan=False)


def dumps(given: object) -> str:
    """JSON text in one line; what UTF-8 cannot say (half of a surrogate pair) is escaped."""
    text = _ENCODER.encode(given)
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            return _ESCAPING.encode(given)
    return text
