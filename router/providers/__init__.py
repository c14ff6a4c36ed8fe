"""Decision providers: remote models that answer one choice among named options.

The clients load httpx and asyncio, so they are imported when they are first named.
"""

import importlib
from typing import TYPE_CHECKING, Any

from router.providers.base import DecisionProvider, LateAnswer
from router.providers.mock import MockProvider, MockQuestion, sure_of

if TYPE_CHECKING:
    from router.providers.client import JevProvider, OpenRouterJevProvider, TypeSafeJevProvider

__all__ = [
    "DecisionProvider",
    "JevProvider",
    "LateAnswer",
    "MockProvider",
    "MockQuestion",
    "OpenRouterJevProvider",
    "TypeSafeJevProvider",
    "sure_of",
]


def __getattr__(name: str) -> Any:
    if name in ("JevProvider", "OpenRouterJevProvider", "TypeSafeJevProvider"):
        return getattr(importlib.import_module("router.providers.client"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
