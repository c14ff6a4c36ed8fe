"""The circuit breaker: after failures in a row a provider is left alone for a while."""

import logging
import time
from collections.abc import Callable
from typing import Final

from router.errors import ProviderErrorKind, ProviderUnavailableError

__all__ = ["CircuitBreaker"]

log = logging.getLogger("harness_router.providers")

# Nothing but another configuration helps: the provider is off until it is made anew.
DISABLING: frozenset[ProviderErrorKind] = frozenset({"key_refused", "no_credit", "not_found"})
# Not the provider's fault.
UNCOUNTED: frozenset[ProviderErrorKind] = frozenset(
    {"bad_request", "no_key", "saturated", "secret_in_payload"}
)

LONGEST_SECONDS: Final = 3600.0
"""A provider that asks to be left alone for longer is tried again after this."""


class CircuitBreaker:
    """Closed, open after ``failures`` in a row, half open after ``cooldown_seconds``.

    Half open lets one trial call through; its success closes the circuit, its failure opens it
    again. A refused key, missing credit and an unknown model or address switch the provider off.

    Args:
        provider: name for messages.
        failures: >= 1.
        cooldown_seconds: > 0.
        clock: seconds that only grow.
    """

    def __init__(
        self,
        provider: str,
        failures: int,
        cooldown_seconds: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._provider = provider
        self._limit = failures
        self._cooldown = cooldown_seconds
        self._clock = clock
        self._failures = 0
        self._closed_until_tried = True
        self._open_until = 0.0
        self._trying = False
        self._disabled: ProviderErrorKind | None = None

    @property
    def is_open(self) -> bool:
        """Would a call be skipped now?"""
        if self._disabled is not None:
            return True
        if self._closed_until_tried:
            return False
        return self._trying or self._clock() < self._open_until

    def enter(self) -> bool:
        """Before each call: is it the trial call?

        Raises:
            ProviderUnavailableError: it is to be skipped.
        """
        self.check()
        if not self._closed_until_tried:
            self._trying = True
        return self._trying

    def check(self) -> None:
        """Raise ``ProviderUnavailableError`` if a call is to be skipped now."""
        if self.is_open:
            why = f"off since: {self._disabled}" if self._disabled else "too many failures in a row"
            message = f"{self._provider}: skipped: {why}"
            raise ProviderUnavailableError(message, kind="circuit_open", provider=self._provider)

    def succeed(self) -> None:
        """After a call that was answered."""
        self._failures = 0
        self._closed_until_tried = True
        self._trying = False

    def fail(
        self, kind: ProviderErrorKind, *, open_for: float | None = None, trial: bool = False
    ) -> None:
        """After a call that failed.

        Args:
            kind: how; see ``ProviderErrorKind``.
            open_for: seconds for which the provider asked to be left alone, or None.
            trial: what ``enter`` said of this call: older ones do not end the trial.
        """
        self.leave(trial=trial)
        if kind in DISABLING and self._disabled is None:
            self._disabled = kind
            log.warning("%s is off until it is configured anew: %s", self._provider, kind)
        if kind in UNCOUNTED:
            return
        self._failures += 1
        if trial or self._failures >= self._limit:
            self._open(self._cooldown)
        if open_for is not None:
            self._open(min(open_for, LONGEST_SECONDS))

    def leave(self, *, trial: bool) -> None:
        """After a call that ended without a verdict: it was cancelled, or never sent."""
        if trial:
            self._trying = False

    def _open(self, seconds: float) -> None:
        self._closed_until_tried = False
        self._open_until = max(self._open_until, self._clock() + seconds)
