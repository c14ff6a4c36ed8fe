"""Wire dialects as data: what differs between the services that answer decisions.

Facts of these interfaces: OpenRouter's Decisions API (alpha path), TypeSafe's own, and OpenRouter's
pass-through of the latter. They share `state`, `questions` and `answers`.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from mcts_core.errors import ConfigError
from router.errors import ProviderErrorKind, ProviderResponseError
from router.models import ChoiceDecision, Usage
from router.providers.answers import shown
from router.providers.keys import printable

__all__ = ["DIALECTS", "Dialect", "dialect_named", "error_message", "parse_json"]

QUESTION: Final = "next"
"""Our name of the one question; the model does not see it."""

LARGEST_AMOUNT: Final = 10**12
"""Of tokens and of dollars: more is no bill."""

Path = tuple[str | int, ...]

STATUS_KINDS: Final[Mapping[int, ProviderErrorKind]] = {
    400: "bad_request",
    401: "key_refused",
    402: "no_credit",
    403: "key_refused",
    404: "not_found",
    408: "timeout",
    413: "bad_request",
    422: "bad_request",
    429: "rate_limited",
    502: "overloaded",
    503: "overloaded",
    524: "timeout",
    529: "overloaded",
}
ERROR_PATHS: Final[tuple[Path, ...]] = (
    ("error", "message"),
    ("error",),
    ("message",),
    ("detail", "message"),
    ("detail", 0, "msg"),
    ("detail",),
)


@dataclass(frozen=True, slots=True)
class Dialect:
    """One wire shape.

    Attributes:
        name: as in ``ProviderConfig.dialect``.
        request_id: where the id of an answer stands: a path into the body, or a header's name.
        app_url_header, app_title_header: optional headers that name an application, or None.
        cost: path of the cost in US dollars in the body, or None.
    """

    name: str
    request_id: Path | str
    app_url_header: str | None = None
    app_title_header: str | None = None
    cost: Path | None = None

    def body(
        self,
        model: str,
        state: str | Mapping[str, Any],
        instructions: str,
        criteria: Mapping[str, str | None],
    ) -> bytes:
        """The request: one choice question.

        Raises:
            TypeError, ValueError: ``state`` is not JSON (NaN is not).
        """
        question = {"type": "choice", "instructions": instructions, "criteria": dict(criteria)}
        whole = {"model": model, "state": state, "questions": {QUESTION: question}}
        text = json.dumps(whole, ensure_ascii=False, allow_nan=False, default=_plain)
        return text.encode("utf-8", "replace")

    def headers(self, key: str, app_url: str | None, app_title: str | None) -> dict[str, str]:
        """The headers of a request."""
        found = {
            "Authorization": f"Bearer {key}",
            "Content-Type": "application/json",
            "Accept": "application/json",
            "Accept-Encoding": "identity",
        }
        if self.app_url_header and app_url:
            found[self.app_url_header] = app_url
        if self.app_title_header and app_title:
            found[self.app_title_header] = app_title
        return found

    def id_of(self, body: Any, headers: Mapping[str, str]) -> str | None:
        """The id of an answer, or None."""
        found = (
            headers.get(self.request_id)
            if isinstance(self.request_id, str)
            else at(body, self.request_id)
        )
        return printable(found[:128]) if isinstance(found, str) else None

    def answer(self, body: Any, headers: Mapping[str, str]) -> ChoiceDecision:
        """The answer to our question; its numbers are not checked yet.

        Raises:
            ProviderResponseError: there is none, or its fields have the wrong types.
        """
        answer = at(body, ("answers", QUESTION))
        request_id = self.id_of(body, headers)
        if not isinstance(answer, dict) or answer.get("type") != "choice":
            found = answer.get("type") if isinstance(answer, dict) else answer
            raise _invalid(f"answer: got {shown(found)}, wanted a choice", self.name, request_id)
        choice, given = answer.get("choice"), answer.get("probabilities")
        if not isinstance(choice, str):
            raise _invalid(f"choice: got {shown(choice)}, wanted a text", self.name, request_id)
        if given is not None and (not isinstance(given, dict) or not given):
            raise _invalid(
                f"probabilities: got {shown(given)}, wanted one for each option",
                self.name,
                request_id,
            )
        model = at(body, ("model",))
        return ChoiceDecision(
            choice=choice,
            probabilities=given or {},
            confidence=answer.get("confidence"),
            model=printable(model[:128]) if isinstance(model, str) else None,
            request_id=request_id,
            usage=self._usage(body),
        )

    def _usage(self, body: Any) -> Usage:
        cost = _amount(at(body, self.cost)) if self.cost else None
        return Usage(
            _count(at(body, ("usage", "input_tokens"))),
            _count(at(body, ("usage", "output_tokens"))),
            None if cost is None else float(cost),
        )


DIALECTS: Final = {
    dialect.name: dialect
    for dialect in (
        Dialect(
            "openrouter", ("id",), "HTTP-Referer", "X-OpenRouter-Title", cost=("usage", "cost")
        ),
        Dialect(
            "openrouter_systemone", ("id",), "HTTP-Referer", "X-OpenRouter-Title", ("usage", "cost")
        ),
        Dialect("typesafe", "x-typesafe-request-id"),
    )
}


def dialect_named(name: str) -> Dialect:
    """The dialect of this name. Raises ``ConfigError`` if there is none."""
    if name not in DIALECTS:
        raise ConfigError("dialect", name, "one of " + ", ".join(DIALECTS))
    return DIALECTS[name]


def parse_json(content: bytes) -> Any:
    """JSON as the standard has it. Raises ``ValueError``, also for NaN, Infinity and depth."""
    try:
        return json.loads(content, parse_constant=_refuse)
    except RecursionError:
        message = "nested too deeply"
    raise ValueError(message)


def error_message(body: Any) -> str:
    """What an error body says, in the first place where a text stands; may be empty."""
    found = (at(body, path) for path in ERROR_PATHS)
    return next((text for text in found if isinstance(text, str) and text), "")


def at(body: Any, path: Path) -> Any:
    """What stands at ``path`` of a JSON value, or None."""
    for step in path:
        if isinstance(step, str) and isinstance(body, dict):
            body = body.get(step)
        elif isinstance(step, int) and isinstance(body, list) and step < len(body):
            body = body[step]
        else:
            return None
    return body


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


def _plain(value: Any) -> dict[Any, Any]:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is not JSON")


def _amount(value: Any) -> int | float | None:
    """``value`` if it can be an amount, else None: an odd bill does not spoil the answer."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return value if number and 0 <= value <= LARGEST_AMOUNT else None


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and _amount(value) is not None else None


def _invalid(message: str, provider: str, request_id: str | None) -> ProviderResponseError:
    return ProviderResponseError(
        f"{provider}: {message}",
        kind="invalid_response",
        provider=provider,
        request_id=request_id,
    )
