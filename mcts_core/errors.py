"""The engine's errors, one tree.

MCTSError
├── ConfigError (also ValueError)       a setting is out of its range; names the field
├── SimulatorError                      the simulator broke its contract while a search ran
│   ├── NonFiniteError                  a reward, value or prior that is NaN or infinite
│   └── SimulatorCallError              the simulator's own code raised; the cause is chained
├── ModelError (also ValueError)        an explicit model is malformed; names array and index
├── ModelTooLargeError                  exact solving would exceed its stated limit of work
└── SearchInUseError                    one search object was entered by two threads at once
"""

__all__ = [
    "ConfigError",
    "MCTSError",
    "ModelError",
    "ModelTooLargeError",
    "NonFiniteError",
    "SearchInUseError",
    "SimulatorCallError",
    "SimulatorError",
]


class MCTSError(Exception):
    """Any error raised by ``mcts_core``."""


class ConfigError(MCTSError, ValueError):
    """A setting has a value outside its range.

    Attributes:
        field: name of the setting.
        got: the refused value.
        wanted: what would have been accepted, in words.
    """

    def __init__(self, field: str, got: object, wanted: str) -> None:
        super().__init__(f"{field}: got {got!r}, wanted {wanted}")
        self.field = field
        self.got = got
        self.wanted = wanted


class SimulatorError(MCTSError):
    """The simulator broke its contract while a search ran."""


class NonFiniteError(SimulatorError):
    """A reward, value or prior is NaN or infinite; the message names the state and the action."""


class SimulatorCallError(SimulatorError):
    """The simulator's own code raised; ``__cause__`` holds the original exception."""


class ModelError(MCTSError, ValueError):
    """An explicit model is malformed; the message names the array and the index."""


class ModelTooLargeError(MCTSError):
    """Exact solving would need more work than its limit allows."""


class SearchInUseError(MCTSError, RuntimeError):
    """A search object was entered while another call on it was still running."""
