"""One HTTP exchange with a decision service: what came back, as an answer or as an error of ours.

Nothing here raises what the HTTP client raises: its exceptions hold the request, and the request
holds the key.
"""

import email.utils
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import httpx

from router.errors import (
    ProviderError,
    ProviderErrorKind,
    ProviderKeyError,
    ProviderResponseError,
    ProviderTimeoutError,
    ProviderUnavailableError,
)
from router.models import ChoiceDecision
from router.providers.answers import check_choice
from router.providers.dialects import STATUS_KINDS, Dialect, error_message, parse_json
from router.providers.keys import redacted, scrubbed

__all__ = ["Outcome", "Request", "exchange", "failure"]

LARGEST_ANSWER: Final = 1 << 20
"""Bytes of a body that are read: 255 options with their labels are far below."""

CLASSES: Final[Mapping[ProviderErrorKind, type[ProviderError]]] = {
    "no_key": ProviderKeyError,
    "key_refused": ProviderKeyError,
    "timeout": ProviderTimeoutError,
    "rate_limited": ProviderUnavailableError,
    "overloaded": ProviderUnavailableError,
    "server_error": ProviderUnavailableError,
    "connection": ProviderUnavailableError,
    "circuit_open": ProviderUnavailableError,
    "saturated": ProviderUnavailableError,
    "invalid_response": ProviderResponseError,
}


@dataclass(frozen=True, slots=True)
class Request:
    """What is sent, and what the answer is checked against.

    Tools that report errors show the local variables of a traceback: the key is not in ``repr``.
    """

    dialect: Dialect
    url: str
    headers: Mapping[str, str] = field(repr=False)
    content: bytes = field(repr=False)
    criteria: Mapping[str, str | None] = field(repr=False)
    key: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Outcome:
    """An answer or an error.

    Attributes:
        answer, error: one of them is None.
        retry_after: seconds after which a retry may help, or None.
        verdict: does it say something about the service? Not if nothing was sent.
    """

    answer: ChoiceDecision | None = None
    error: ProviderError | None = None
    retry_after: float | None = None
    verdict: bool = True


def failure(
    kind: ProviderErrorKind,
    message: str,
    provider: str,
    *,
    status: int | None = None,
    request_id: str | None = None,
    retry_after: float | None = None,
) -> ProviderError:
    """An error of the class that goes with ``kind``."""
    return CLASSES.get(kind, ProviderError)(
        f"{provider}: {message}",
        kind=kind,
        provider=provider,
        status=status,
        request_id=request_id,
        retry_after=retry_after,
    )


async def exchange(client: httpx.AsyncClient, request: Request) -> Outcome:
    """Send ``request`` once; takes as long as it takes."""
    name = request.dialect.name
    status = None
    try:
        async with client.stream(
            "POST", request.url, content=request.content, headers=request.headers
        ) as response:
            status, headers = response.status_code, response.headers
            content = await _read(response)
    except httpx.ConnectError as error:
        return Outcome(error=failure("connection", f"no connection ({_name(error)})", name))
    except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, OSError) as error:
        if status is not None:  # it was answered, so it may have been paid for: not asked again
            message = f"the answer was cut off ({_name(error)})"
            return Outcome(error=failure("invalid_response", message, name, status=status))
        # Most often a kept connection that the other side had closed: one more try is cheap.
        lost = failure("connection", f"the connection was lost ({_name(error)})", name)
        return Outcome(error=lost, retry_after=0.0)
    if content is None:
        message = f"the answer is longer than {LARGEST_ANSWER} bytes"
        return Outcome(error=failure("invalid_response", message, name, status=status))
    return _outcome(request, status, headers, scrubbed(content, request.key))


async def _read(response: httpx.Response) -> bytes | None:
    """The body, or None if it is too long. Not unpacked: a small one may unpack to gigabytes, and
    none was asked for.
    """
    parts, size = [], 0
    async for part in response.aiter_raw():
        size += len(part)
        if size > LARGEST_ANSWER:
            return None
        parts.append(part)
    return b"".join(parts)


def _outcome(request: Request, status: int, headers: Mapping[str, str], content: bytes) -> Outcome:
    name = request.dialect.name
    body: Any = None
    try:
        body = parse_json(content)
    except ValueError:  # UnicodeDecodeError is one
        if 200 <= status < 300:
            message = f"got {len(content)} bytes that are no JSON, wanted an answer"
            return Outcome(error=failure("invalid_response", message, name, status=status))
    refused = isinstance(body, dict) and body.get("error") is not None
    if not 200 <= status < 300 or refused:
        return _refusal(request, status, headers, body)
    try:
        answer = check_choice(request.dialect.answer(body, headers), request.criteria, name)
    except ProviderResponseError as error:
        return Outcome(error=error.with_traceback(None))
    return Outcome(answer=answer)


def _refusal(request: Request, status: int, headers: Mapping[str, str], body: Any) -> Outcome:
    dialect = request.dialect
    code = body["error"].get("code") if _has_code(body) else None
    kind = _kind(code if 200 <= status < 300 and code is not None else status)
    said = redacted(error_message(body), (request.key,))
    wait = retry_after(headers)
    error = failure(
        kind,
        f"HTTP {status}{': ' + said if said else ''}",
        dialect.name,
        status=status,
        request_id=dialect.id_of(body, headers),
        retry_after=wait,
    )
    again = kind in ("rate_limited", "overloaded") and (wait is not None or kind == "overloaded")
    return Outcome(error=error, retry_after=(wait or 0.0) if again else None)


def _has_code(body: Any) -> bool:
    error = body.get("error") if isinstance(body, dict) else None
    return isinstance(error, dict) and isinstance(error.get("code"), int)


def _kind(status: int) -> ProviderErrorKind:
    if status in STATUS_KINDS:
        return STATUS_KINDS[status]
    if 300 <= status < 400:
        return "not_found"  # moved: the key is not carried to another address
    if 400 <= status < 500:
        return "bad_request"
    return "server_error" if status >= 500 else "invalid_response"


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait by `retry-after-ms` or `retry-after` (seconds or a date), >= 0, or None."""
    try:
        if "retry-after-ms" in headers:
            wait = float(headers["retry-after-ms"]) / 1e3
        elif "retry-after" in headers:
            wait = _seconds(headers["retry-after"])
        else:
            return None
    except (ValueError, TypeError, OverflowError):
        return None
    return max(wait, 0.0) if wait < float("inf") else None


def _seconds(value: str) -> float:
    try:
        return float(value)
    except ValueError:
        return email.utils.parsedate_to_datetime(value).timestamp() - time.time()


def _name(error: Exception) -> str:
    return type(error).__name__
