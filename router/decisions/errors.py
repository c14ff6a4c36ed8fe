"""Errors of records, one branch of the router's tree.

RouterError
└── RecordError
    ├── RecordFieldError (also ValueError)      a field of a record is not usable; names the field
    ├── UnknownRecordError (also LookupError)   no record has this id, or several have this prefix
    ├── RecordConflictError                     something else was said of this record before
    └── StoreError                              the file cannot be used now; says which kind

A message never holds a text of a state, a key, or a path of this machine.
"""

from typing import Literal

from router.errors import RouterError

__all__ = [
    "RecordConflictError",
    "RecordError",
    "RecordFieldError",
    "StoreError",
    "StoreTrouble",
    "UnknownRecordError",
]

StoreTrouble = Literal[
    "busy",  # another process held the file for longer than we wait
    "full",  # no space, or a limit on the size of files
    "read_only",  # the file or its folder may not be written
    "missing",  # not there, or not to be reached
    "corrupt",  # damaged, or no SQLite file
    "foreign",  # an SQLite file that is not ours, a symbolic link, no WAL
    "newer",  # written by a later version of this package
    "io",  # anything else that the file system or SQLite reports
]


class RecordError(RouterError):
    """Any error raised by ``router.decisions``."""


class RecordFieldError(RecordError, ValueError):
    """A field of a record, an outcome or a filter is not usable.

    Attributes:
        field: its name.
    """

    def __init__(self, field: str, got: object, wanted: str) -> None:
        shown = repr(got)
        super().__init__(
            f"{field}: got {shown if len(shown) <= 80 else shown[:77] + '...'}, wanted {wanted}"
        )
        self.field = field


class UnknownRecordError(RecordError, LookupError):
    """No record has this id, or several records begin with it."""


class RecordConflictError(RecordError):
    """Something else was said of this record before; nothing was changed."""


class StoreError(RecordError):
    """The file of records cannot be used now.

    Attributes:
        kind: a stable name of what is wrong, see ``StoreTrouble``.
    """

    def __init__(self, kind: StoreTrouble, message: str) -> None:
        super().__init__(message)
        self.kind = kind
