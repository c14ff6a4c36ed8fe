"""Keys: read late, never repeated, never sent inside a payload."""

import os
from collections.abc import Iterable
from typing import Final

from router.errors import ProviderKeyError, ProviderUnavailableError

__all__ = ["KEY_VARIABLES", "read_key", "redacted", "refuse_secrets"]

KEY_VARIABLES: Final = (
    "OPENROUTER_API_KEY",
    "TYPESAFE_API_KEY",
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "DEEPSEEK_API_KEY",
    "MISTRAL_API_KEY",
    "GROQ_API_KEY",
    "GITHUB_TOKEN",
    "GH_TOKEN",
    "HF_TOKEN",
    "AWS_SECRET_ACCESS_KEY",
)
"""Variables whose values must never leave the machine inside a state or a tool's text."""

SHORTEST: Final = 8
"""A shorter value of such a variable is a placeholder, and would stand in any text."""

MESSAGE_CHARACTERS: Final = 200


def read_key(variable: str, provider: str) -> str:
    """The key that the environment variable holds now.

    Raises:
        ProviderKeyError: none is set, or it holds blanks or other than printable ASCII.
    """
    key = os.environ.get(variable, "").strip()
    if not key:
        message = f"{provider}: no key: the environment variable {variable} is not set"
        raise ProviderKeyError(message, kind="no_key", provider=provider)
    if not all("!" <= character <= "~" for character in key):
        message = f"{provider}: {variable}: wanted printable ASCII without blanks"
        raise ProviderKeyError(message, kind="key_refused", provider=provider)
    return key


def refuse_secrets(payload: bytes, key: str, provider: str) -> None:
    """Raise ``ProviderUnavailableError`` if a key stands in what is about to be sent."""
    for name, value in (("the provider's key", key), *_known()):
        if len(value) >= SHORTEST and value.encode("utf-8", "surrogateescape") in payload:
            message = f"{provider}: not sent: {name} stands in the state or in a tool's text"
            raise ProviderUnavailableError(message, kind="secret_in_payload", provider=provider)


def redacted(text: str, secrets: Iterable[str]) -> str:
    """``text`` in one line, cut, without keys."""
    for secret in (*secrets, *(value for _, value in _known())):
        if len(secret) >= SHORTEST:
            text = text.replace(secret, "[key]")
    text = " ".join(text.split())
    return text if len(text) <= MESSAGE_CHARACTERS else f"{text[:MESSAGE_CHARACTERS]}..."


def _known() -> list[tuple[str, str]]:
    return [(name, os.environ.get(name, "").strip()) for name in KEY_VARIABLES]
