"""The router's errors, one tree.

RouterError
└── ToolListError (also ValueError)     the tools offered are not usable; names the place
"""

__all__ = ["RouterError", "ToolListError"]


class RouterError(Exception):
    """Any error raised by ``router``."""


class ToolListError(RouterError, ValueError):
    """The tools offered are not usable: a blank or repeated name."""
