"""The router's errors, one tree.

RouterError
├── ToolListError (also ValueError)     the tools offered are not usable; names the place
├── SettingsError (also ValueError)     a settings file or variable is not usable; names the field
├── EmbeddingsError                     the `embeddings` extra is missing, or altered
└── ProviderError                       a decision provider gave no usable answer; says which kind
    ├── ProviderKeyError                no key, or the key was refused
    ├── ProviderTimeoutError            no answer within the deadline
    ├── ProviderUnavailableError        overloaded, down, or skipped by its circuit breaker
    └── ProviderResponseError           an answer that breaks the contract

An error never holds a request, a header, a key or a chained exception of the HTTP client.
"""

from typing import Literal, get_args

__all__ = [
    "EmbeddingsError",
    "ProviderError",
    "ProviderErrorKind",
    "ProviderKeyError",
    "ProviderResponseError",
    "ProviderTimeoutError",
    "ProviderUnavailableError",
    "RouterError",
    "SettingsError",
    "ToolListError",
]

ProviderErrorKind = Literal[
    "no_key",  # none is set
    "key_refused",  # 401, 403: the provider is off until it is configured anew
    "no_credit",  # 402: likewise
    "not_found",  # 404: model, address or privacy setting: likewise
    "bad_request",  # 400, 413, 422: our fault; not retried, not counted by the circuit
    "rate_limited",  # 429
    "overloaded",  # 502, 503, 529
    "server_error",  # any other 5xx
    "connection",  # refused, reset, no such host, broken TLS
    "timeout",  # the deadline passed, or 408, 524
    "invalid_response",  # not JSON, cut off, an option never offered, bad probabilities
    "circuit_open",  # skipped: too many failures in a row
    "saturated",  # skipped: too many calls wait already
    "secret_in_payload",  # not sent: a key stood in the text
]


class RouterError(Exception):
    """Any error raised by ``router``."""


class ToolListError(RouterError, ValueError):
    """The tools offered are not usable: a blank or repeated name."""


class SettingsError(RouterError, ValueError):
    """A setting is not usable; the message names the field and where it was set."""


class EmbeddingsError(RouterError):
    """The ``embeddings`` extra is not installed, or a file of it is not the one that we know."""


class ProviderError(RouterError):
    """A decision provider gave no usable answer.

    Attributes:
        kind: a stable name of what went wrong, see ``ProviderErrorKind``; "invalid_response" for
            an unknown kind.
        provider: name of the provider.
        status: HTTP status, or None if there was none.
        request_id: the provider's id of the request, or None.
        retry_after: seconds after which the provider said to come back, or None.
    """

    def __init__(
        self,
        message: str,
        *,
        kind: ProviderErrorKind,
        provider: str = "",
        status: int | None = None,
        request_id: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        assert kind in get_args(ProviderErrorKind), kind
        super().__init__(message)
        self.kind = kind
        self.provider = provider
        self.status = status
        self.request_id = request_id
        self.retry_after = retry_after


class ProviderKeyError(ProviderError):
    """No key is set, or it was refused."""


class ProviderTimeoutError(ProviderError):
    """No answer within the deadline."""


class ProviderUnavailableError(ProviderError):
    """Overloaded, down, unreachable, or skipped by the circuit breaker."""


class ProviderResponseError(ProviderError):
    """The provider answered, but not what the contract allows."""
