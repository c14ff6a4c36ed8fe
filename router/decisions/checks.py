"""Checks of fields, and reading of JSON objects that somebody else may have written."""

import math
from collections.abc import Mapping
from typing import Any

from router.decisions.errors import RecordFieldError

__all__ = ["Fields", "check_name", "check_share", "in_range"]


def in_range(got: object, most: float = math.inf) -> bool:
    """Whether ``got`` is a finite number (not a bool) from 0 to ``most``."""
    return _is_finite(got) and 0 <= got <= most  # type: ignore[operator]


def check_share(field: str, got: object) -> None:
    """Raise ``RecordFieldError`` unless ``got`` is a number from 0 to 1."""
    if not in_range(got, 1.0):
        raise RecordFieldError(field, got, "a number from 0 to 1")


def check_name(field: str, got: object) -> None:
    """Raise ``RecordFieldError`` unless ``got`` is a text of 1 to 256 characters, not blank."""
    if not isinstance(got, str) or not got.strip() or len(got) > 256:
        raise RecordFieldError(field, got, "a text of 1 to 256 characters that is not blank")


class Fields:
    """The fields of one JSON object; each is taken once, and none may be left.

    Args:
        given: what should be an object.
        where: its name, for messages.

    Raises:
        RecordFieldError: by every method: a field is missing, or is something else.
    """

    def __init__(self, given: object, where: str) -> None:
        if not isinstance(given, dict):
            raise RecordFieldError(where, given, "an object")
        self._left = dict(given)
        self._where = where

    def any(self, name: str) -> Any:
        """The field, whatever it is; None if it is not there."""
        return self._left.pop(name, None)

    def text(self, name: str) -> str:
        """A text."""
        got = self.any(name)
        if not isinstance(got, str):
            raise RecordFieldError(f"{self._where}.{name}", got, "a text")
        return got

    def maybe_text(self, name: str) -> str | None:
        """A text or null."""
        return None if self._left.get(name) is None and self.any(name) is None else self.text(name)

    def number(self, name: str) -> float:
        """A finite number."""
        got = self.any(name)
        if not _is_finite(got):
            raise RecordFieldError(f"{self._where}.{name}", got, "a finite number")
        return float(got)

    def maybe_number(self, name: str) -> float | None:
        """A finite number or null."""
        got = self._left.get(name)
        return None if got is None and self.any(name) is None else self.number(name)

    def maybe_count(self, name: str) -> int | None:
        """An integer or null."""
        got = self.any(name)
        if got is not None and type(got) is not int:
            raise RecordFieldError(f"{self._where}.{name}", got, "an integer or null")
        return got

    def flag(self, name: str) -> bool:
        """True or false."""
        got = self.any(name)
        if not isinstance(got, bool):
            raise RecordFieldError(f"{self._where}.{name}", got, "true or false")
        return got

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts."""
        got = self.any(name)
        if not isinstance(got, list) or not all(isinstance(text, str) for text in got):
            raise RecordFieldError(f"{self._where}.{name}", got, "a list of texts")
        return tuple(got)

    def list(self, name: str) -> list[Any]:
        """A list."""
        got = self.any(name)
        if not isinstance(got, list):
            raise RecordFieldError(f"{self._where}.{name}", got, "a list")
        return got

    def shares(self, name: str) -> Mapping[str, float]:
        """An object of finite numbers."""
        got = self.any(name)
        inner = Fields(got, f"{self._where}.{name}")
        return {label: inner.number(label) for label in got}

    def end(self) -> None:
        """Nothing may be left: an unknown field is not dropped silently."""
        for name, got in self._left.items():
            raise RecordFieldError(f"{self._where}.{name}", got, "no such field")


def _is_finite(got: object) -> bool:
    if isinstance(got, bool) or not isinstance(got, (int, float)):
        return False
    return math.isfinite(got) if isinstance(got, float) else abs(got) < 2**63
