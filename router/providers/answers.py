"""Checks of a provider's answer: what the contract allows, and nothing else."""

import math
from collections.abc import Mapping
from typing import Any, Final

from router.errors import ProviderResponseError
from router.models import ChoiceDecision

__all__ = ["check_choice", "shown"]

ROUNDING: Final = 0.005
"""Probabilities are rounded to two decimals: each may be off by this much."""

SHOWN_CHARACTERS: Final = 80
SHOWN_LABELS: Final = 3


def check_choice(
    answer: ChoiceDecision, criteria: Mapping[str, str | None], provider: str
) -> ChoiceDecision:
    """``answer`` itself, if it is one to a question with the options ``criteria``.

    The choice is one of the options. Probabilities are given for all of them or for none, each is
    a finite number in 0..1, they sum to 1 within 0.005 per option + 0.01, and no option is above
    the choice by more than rounding. A confidence is a finite number in 0..1 or None.

    Raises:
        ProviderResponseError: what was got and what was wanted.
    """
    fault = _fault(answer, criteria)
    if fault is not None:
        raise ProviderResponseError(
            f"{provider}: {fault}",
            kind="invalid_response",
            provider=provider,
            request_id=answer.request_id,
        )
    return answer


def _fault(answer: ChoiceDecision, criteria: Mapping[str, str | None]) -> str | None:
    if answer.choice not in criteria:
        return f"choice: got {shown(answer.choice)}, wanted one of the {len(criteria)} options"
    if answer.confidence is not None and not _is_share(answer.confidence):
        return f"confidence: got {shown(answer.confidence)}, wanted a number from 0 to 1"
    given = answer.probabilities
    return _fault_of_probabilities(given, answer.choice, criteria) if given else None


def _fault_of_probabilities(
    given: Mapping[str, float], choice: str, criteria: Mapping[str, str | None]
) -> str | None:
    if given.keys() != criteria.keys():
        odd = [label for label in given if label not in criteria]
        missing = sum(label not in given for label in criteria)
        names = ", ".join(map(shown, odd[:SHOWN_LABELS])) or "none"
        more = f" and {len(odd) - SHOWN_LABELS} more" if len(odd) > SHOWN_LABELS else ""
        return f"probabilities: {missing} options missing, never offered: {names}{more}"
    for label, p in given.items():
        if not _is_share(p):
            return f"probabilities of {shown(label)}: got {shown(p)}, wanted a number from 0 to 1"
    total = math.fsum(given.values())
    # With 198 options and more the tolerance alone would let all zeros pass.
    if not total or abs(total - 1.0) > ROUNDING * len(given) + 0.01:
        return f"probabilities: got a sum of {total:.4f}, wanted 1"
    if max(given.values()) - given[choice] > 2 * ROUNDING + 1e-9:
        return f"choice: got {shown(choice)}, which is not the most probable option"
    return None


def _is_share(p: Any) -> bool:
    # NaN and infinity are not in the range, and neither is an int too large for a float.
    return isinstance(p, (int, float)) and not isinstance(p, bool) and 0 <= p <= 1


def shown(value: object) -> str:
    """``value`` as it may stand in a message: quoted and cut."""
    text = repr(value)
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}..."
