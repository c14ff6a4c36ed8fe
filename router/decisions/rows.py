"""A record as a row of the file, and back. Shares of all options are packed as doubles."""

import json
import sys
from array import array
from collections.abc import Mapping, Sequence
from typing import Any, Final

from router.decisions.codec import (
    answer_from_json,
    answer_to_json,
    dumps,
    outcome_from_json,
    outcome_to_json,
    state_from_json,
    state_to_json,
    thresholds_from_json,
    thresholds_to_json,
)
from router.decisions.errors import RecordFieldError
from router.decisions.options import OptionSet
from router.decisions.outcome import Outcome
from router.decisions.record import DecisionRecord, Fallback
from router.models import ChoiceDecision, RouteDecision

__all__ = ["COLUMNS", "outcome_of", "outcome_text", "record_of", "row_of"]

COLUMNS: Final = (
    "id",
    "point",
    "session",
    "options",
    "tool",
    "category",
    "confidence",
    "probabilities",
    "none_fits",
    "abstained",
    "reason",
    "source",
    "provider_error",
    "version",
    "model",
    "answer",
    "latency_ms",
    "why",
    "text",
    "state",
    "redacted",
    "validation",
    "fallback_to",
    "fallback_reason",
    "thresholds",
    "prompt_hash",
)

_LITTLE: Final = sys.byteorder == "little"


def row_of(record: DecisionRecord) -> tuple[Any, ...]:
    """The values of ``COLUMNS``."""
    decision, fallback = record.decision, record.fallback
    names = record.options.names
    answer = decision.answer
    return (
        bytes.fromhex(record.id),
        record.point,
        record.session,
        record.options.key,
        decision.tool,
        decision.category,
        decision.confidence,
        _packed_shares(decision.probabilities, names),
        decision.none_fits,
        decision.fallback,
        decision.fallback_reason,
        decision.source,
        decision.provider_error,
        decision.version,
        None if answer is None else answer.model,
        None if answer is None else dumps(_packed_answer(answer, names)),
        decision.latency_ms,
        dumps(list(decision.why)) if decision.why else None,
        record.text,
        None if record.state is None else dumps(state_to_json(record.state)),
        record.redacted,
        record.validation,
        None if fallback is None else fallback.to,
        None if fallback is None else fallback.reason,
        None if record.thresholds is None else dumps(thresholds_to_json(record.thresholds)),
        record.prompt_hash,
    )


def record_of(row: Sequence[Any], options: OptionSet, outcome: Outcome | None) -> DecisionRecord:
    """The record of a row.

    Raises:
        RecordFieldError: a field is not what ``row_of`` writes: the file was changed by hand.
    """
    got = dict(zip(COLUMNS, row, strict=True))
    try:
        decision = RouteDecision(
            tool=got["tool"],
            category=got["category"],
            confidence=got["confidence"],
            probabilities=_shares(got["probabilities"], options.names),
            fallback=bool(got["abstained"]),
            fallback_reason=got["reason"],
            source=got["source"],
            none_fits=got["none_fits"],
            provider_error=got["provider_error"],
            version=got["version"],
            answer=None if got["answer"] is None else _answer(got["answer"], options.names),
            latency_ms=got["latency_ms"],
            why=() if got["why"] is None else tuple(json.loads(got["why"])),
        )
        state, thresholds = got["state"], got["thresholds"]
        return DecisionRecord(
            id=got["id"].hex(),
            point=got["point"],
            options=options,
            decision=decision,
            text=got["text"],
            state=None if state is None else state_from_json(json.loads(state)),
            redacted=bool(got["redacted"]),
            session=got["session"],
            validation=got["validation"],
            fallback=None
            if got["fallback_to"] is None
            else Fallback(got["fallback_to"], got["fallback_reason"]),
            thresholds=None if thresholds is None else thresholds_from_json(json.loads(thresholds)),
            prompt_hash=got["prompt_hash"],
            outcome=outcome,
        )
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        if isinstance(error, RecordFieldError):
            raise
        raise RecordFieldError("row", type(error).__name__, "a row of this version") from None


def outcome_text(outcome: Outcome) -> str:
    """An outcome as JSON text."""
    return dumps(outcome_to_json(outcome))


def outcome_of(text: str | None) -> Outcome | None:
    """What ``outcome_text`` made; None of None."""
    return None if text is None else outcome_from_json(json.loads(text))


def _packed_shares(shares: Mapping[str, float], names: Sequence[str]) -> bytes | str | None:
    """Little-endian doubles if there is one share per option in their order, else JSON."""
    if not shares:
        return None
    if tuple(shares) != names:
        return dumps(dict(shares))
    values = array("d", shares.values())
    if not _LITTLE:
        values.byteswap()
    return values.tobytes()


def _shares(packed: bytes | str | None, names: Sequence[str]) -> dict[str, float]:
    if packed is None:
        return {}
    if isinstance(packed, str):
        loaded: dict[str, float] = json.loads(packed)
        return loaded
    values = array("d")
    values.frombytes(packed)
    if not _LITTLE:
        values.byteswap()
    return dict(zip(names, values, strict=True))


def _packed_answer(answer: ChoiceDecision, names: Sequence[str]) -> dict[str, Any]:
    """The names of options are left out where the answer has all of them, in whatever order."""
    packed = answer_to_json(answer)
    stated = answer.probabilities
    more = stated.keys() - set(names)
    if len(stated) == len(names) + len(more) and len(more) <= 1:
        packed["probabilities"] = [[*more], [*map(stated.__getitem__, (*names, *more))]]
    return packed


def _answer(text: str, names: Sequence[str]) -> ChoiceDecision:
    packed = json.loads(text)
    if isinstance(packed["probabilities"], list):
        more, stated = packed["probabilities"]
        packed["probabilities"] = dict(zip((*names, *more), stated, strict=True))
    return answer_from_json(packed)
