"""What of a text enters a record: all of it, a keyed hash, or nothing; secrets never do."""

import hashlib
import os
import re
import secrets
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Final, Literal

from router.decisions.errors import RecordFieldError, StoreError
from router.models import ActionSummary, HarnessState, ToolDescriptor

__all__ = ["Privacy", "TextMode", "load_key"]

TextMode = Literal["full", "hashed", "none"]

KEY_BYTES: Final = 32
MOST_TEXT: Final = 1_000_000
"""Characters of a state; the texts of a longer one are hashed also where the mode is "full"."""
SHORT: Final = 64
"""Characters of a text, such as "success", that is likely to come again."""
REDACTED: Final = "[redacted]"
REFRESH_SECONDS: Final = 5.0

KEY_VARIABLES: Final = (
    "OPENROUTER_API_KEY",
    "TYPESAFE_API_KEY",
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
)
"""Looked at for every record; variables that are only named like secrets every five seconds."""

_SECRET_NAME: Final = re.compile(
    r"(?i)(?:^|_)(?:(?:api|access|secret|private)_?key|secret|token|passw(?:or)?d|credentials?)$"
)
_LEAST_KNOWN: Final = 8
_LEAST_GUESSED: Final = 12
"""A shorter value is likely to be a word that also stands in harmless text."""

_MARKS: Final = ("sk-", "ghp_", "gho_", "github_pat_", "AKIA", "xox", "PRIVATE KEY-----", "Bearer ")
_SHAPES: Final = re.compile(
    r"\bsk-[A-Za-z0-9_-]{20,}"
    r"|\bgh[po]_[A-Za-z0-9]{20,}|\bgithub_pat_[A-Za-z0-9_]{20,}"
    r"|\bAKIA[A-Z0-9]{16}\b"
    r"|\bxox[abprs]-[A-Za-z0-9-]{10,}"
    r"|(?<=Bearer )(?=[^\d\s]*\d)[A-Za-z0-9._~+/-]{16,}=*"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----(?:.*?-----END [A-Z ]*PRIVATE KEY-----|.*)",
    re.S,
)


class Privacy:
    """The rule by which texts enter records.

    Args:
        mode: "full": as they are; "hashed": names of options stay, every other text becomes a
            keyed hash, so that equal texts are recognised and none can be looked up; "none": no
            state at all.
        key: 32 random bytes that belong to the store; ``load_key``.
        variables: environment variables, beside the known ones, that hold secrets.

    Raises:
        RecordFieldError: ``mode`` or ``key`` is not usable.
    """

    def __init__(self, mode: TextMode, key: bytes, variables: Sequence[str] = ()) -> None:
        check_mode(mode)
        if len(key) != KEY_BYTES:
            raise RecordFieldError("key", f"{len(key)} bytes", f"{KEY_BYTES} bytes")
        self.mode = mode
        self._key = key
        self._variables = [os.fsencode(name) for name in (*KEY_VARIABLES, *variables)]
        self._raw: list[bytes | None] = []
        self._secrets: tuple[str, ...] = ()
        self._guessed: tuple[str, ...] = ()
        self._look_again = 0.0
        # What was seen before is likely to come again, the actions of the last steps above all.
        self._hash_again = lru_cache(maxsize=2048)(self._hash)
        self._hash_action = lru_cache(maxsize=512)(self._hashed_action)
        self.look()

    def hash(self, text: str) -> str:
        """A keyed hash (BLAKE2b, RFC 7693) of ``text``: "h:" and 24 hexadecimal digits."""
        return self._hash_again(text) if len(text) <= SHORT else self._hash(text)

    def _hash(self, text: str) -> str:
        data = text.encode("utf-8", "surrogatepass")
        return "h:" + hashlib.blake2b(data, key=self._key, digest_size=12).hexdigest()

    def look(self) -> bool:
        """Look at the environment for secrets; whether they changed since the last look."""
        # As bytes: this is asked for every record, and decoding takes most of the time.
        raw = [os.environb.get(name) for name in self._variables]
        now = time.monotonic()
        if raw == self._raw and now < self._look_again:
            return False
        self._raw = raw
        secrets_before = self._secrets
        known = (os.fsdecode(value) for value in raw if value is not None)
        if now >= self._look_again:
            self._look_again = now + REFRESH_SECONDS
            named = (value for name, value in os.environ.items() if _SECRET_NAME.search(name))
            self._guessed = tuple(_long(named, _LEAST_GUESSED))
        self._secrets = (*_long(known, _LEAST_KNOWN), *self._guessed)
        return self._secrets != secrets_before

    def scrub(self, text: str) -> str:
        """``text`` with every secret replaced by "[redacted]"."""
        for secret in self._secrets_in(text):
            text = text.replace(secret, REDACTED)
        for mark in _MARKS:
            if mark in text:
                return _SHAPES.sub(REDACTED, text)
        return text

    def options(self, tools: Sequence[ToolDescriptor]) -> list[ToolDescriptor]:
        """``tools`` with secrets taken out of their descriptions.

        Raises:
            RecordFieldError: the value of a secret variable stands in a name, a category or a
                schema, which cannot be changed without changing the decision: refused.
        """
        clean = []
        for i, tool in enumerate(tools):
            for what, text in (
                ("name", tool.name),
                ("category", tool.category or ""),
                ("schema", repr(tool.schema) if tool.schema else ""),
            ):
                if self._secrets_in(text):
                    raise RecordFieldError(f"options[{i}].{what}", REDACTED, "no secret")
            told = self.scrub(tool.description)
            clean.append(tool if told is tool.description else replace(tool, description=told))
        return clean

    def _secrets_in(self, text: str) -> list[str]:
        return [secret for secret in self._secrets if secret in text]

    def state(
        self, state: HarnessState, names: Collection[str]
    ) -> tuple[HarnessState | None, TextMode, bool]:
        """What is kept of ``state``, under which mode, and whether a secret was taken out.

        Args:
            state: as the decision saw it.
            names: of the options on offer; a set is fastest.
        """
        if self.mode == "none":
            return None, "none", False
        texts = "\n".join(_texts(state))
        redacted = self.scrub(texts) != texts
        clean = _mapped(state, self.scrub) if redacted else state
        if self.mode == "full" and len(texts) <= MOST_TEXT:
            return clean, "full", redacted
        return self._hashed(clean, names), "hashed", redacted

    def _hashed(self, state: HarnessState, names: Collection[str]) -> HarnessState:
        def change(text: str | None) -> str | None:
            return text if text is None or text in names else self.hash(text)

        return HarnessState(
            change(state.goal) or "",
            change(state.observation),
            change(state.last_action),
            [self._hash_action(action, action.tool in names) for action in state.recent_actions],
            [change(text) or "" for text in state.constraints],
        )

    def _hashed_action(self, action: ActionSummary, named: bool) -> ActionSummary:
        arguments = action.arguments_hash
        return ActionSummary(
            action.tool if named else self.hash(action.tool),
            self.hash(action.outcome),
            None if arguments is None else self.hash(arguments),
        )


def check_mode(mode: object) -> None:
    """Raise ``RecordFieldError`` unless ``mode`` is a ``TextMode``."""
    if mode not in ("full", "hashed", "none"):
        raise RecordFieldError("text", mode, "one of full, hashed, none")


def load_key(path: Path) -> bytes:
    """The key in ``path``; made (32 random bytes, mode 0600) if it is not there.

    A file of another size is moved aside: hashes made with it stay, new ones differ from them.

    Raises:
        StoreError: it can be neither read nor made.
    """
    try:
        if not path.exists():
            _make_key(path)
        key = path.read_bytes()
        if len(key) != KEY_BYTES:
            path.replace(path.with_name(f"{path.name}.bad-{secrets.token_hex(4)}"))
            _make_key(path)
            key = path.read_bytes()
        return key
    except OSError as error:
        raise StoreError("io", f"the key of the records: {error.strerror}") from None


def _make_key(path: Path) -> None:
    """Whole or not at all, and the first of several processes wins."""
    partial = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(secrets.token_bytes(KEY_BYTES))
        try:
            path.hardlink_to(partial)
        except FileExistsError:
            return
        except OSError:  # a file system without links
            partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def _long(values: Iterable[str], least: int) -> Iterator[str]:
    stripped = (value.strip() for value in values)
    return (value for value in stripped if len(value) >= least)


def _texts(state: HarnessState) -> Iterator[str]:
    yield state.goal
    yield state.observation or ""
    yield state.last_action or ""
    for action in state.recent_actions:
        yield action.tool
        yield action.outcome
        yield action.arguments_hash or ""
    yield from state.constraints


def _mapped(state: HarnessState, change: Callable[[str], str]) -> HarnessState:
    """``state`` with every text changed."""

    def maybe(text: str | None) -> str | None:
        return None if text is None else change(text)

    return HarnessState(
        change(state.goal),
        maybe(state.observation),
        maybe(state.last_action),
        tuple(
            ActionSummary(change(a.tool), change(a.outcome), maybe(a.arguments_hash))
            for a in state.recent_actions
        ),
        tuple(map(change, state.constraints)),
    )
