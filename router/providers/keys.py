"""Keys: read late, never repeated, never sent inside a payload."""

import json
import os
from collections.abc import Iterable
from typing import Final

from router.errors import ProviderKeyError, ProviderUnavailableError

__all__ = ["KEY_VARIABLES", "printable", "read_key", "redacted", "refuse_secrets", "scrubbed"]

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

PART: Final = 24
"""So many characters of a long key's beginning or end tell it: a text may have been cut there."""

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
        if len(value) >= SHORTEST and any(part in payload for part in _traces(value)):
            message = f"{provider}: not sent: {name} stands in the state or in a tool's text"
            raise ProviderUnavailableError(message, kind="secret_in_payload", provider=provider)


def redacted(text: str, secrets: Iterable[str]) -> str:
    """``text`` in one line, cut, without keys."""
    for secret in (*secrets, *(value for _, value in _known())):
        if len(secret) >= SHORTEST:
            text = text.replace(secret, "[key]")
    text = printable(" ".join(text.split()))
    return text if len(text) <= MESSAGE_CHARACTERS else f"{text[:MESSAGE_CHARACTERS]}..."


def scrubbed(content: bytes, key: str) -> bytes:
    """What a service said, without the key that it may repeat."""
    return content.replace(key.encode(), b"[key]") if len(key) >= SHORTEST else content


def printable(text: str) -> str:
    """``text`` with "?" for what would steer a terminal or cannot be written (lone surrogates)."""
    return text if text.isprintable() else "".join(c if c.isprintable() else "?" for c in text)


def _traces(value: str) -> list[bytes]:
    """What of a key would stand in a JSON payload that holds it, or holds it cut in two."""
    parts = [json.dumps(value, ensure_ascii=False)[1:-1]]
    if len(value) >= 2 * PART:
        parts.append(value[-PART:])
        if not value.startswith("eyJ"):  # all JSON web tokens begin alike
            parts.append(value[:PART])
    return [part.encode("utf-8", "surrogateescape") for part in parts]


def _known() -> list[tuple[str, str]]:
    return [(name, os.environ.get(name, "").strip()) for name in KEY_VARIABLES]
