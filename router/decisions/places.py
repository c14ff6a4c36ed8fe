"""Where records lie: the project's folder or the user's, and nobody else's."""

import os
from pathlib import Path
from typing import Final

from router.decisions.errors import StoreError

__all__ = ["FILE_NAME", "FOLDER_NAME", "default_path", "prepare", "project_path", "user_path"]

VARIABLE: Final = "HARNESS_ROUTER_RECORDS"
FOLDER_NAME: Final = ".harness-router"
FILE_NAME: Final = "records.db"
OURS: Final = (FOLDER_NAME, "harness-router")


def default_path(start: Path | None = None) -> Path:
    """The file of records for work in ``start`` (default: the current folder).

    What the variable HARNESS_ROUTER_RECORDS names; else the ``.harness-router`` folder of
    ``start`` or of the nearest folder above it that has one which belongs to this user; else the
    user's state folder.
    """
    named = os.environ.get(VARIABLE)
    if named:
        return Path(named).expanduser()
    start = (start or Path.cwd()).absolute()
    for folder in (start, *start.parents):
        if _is_ours(folder / FOLDER_NAME):
            return folder / FOLDER_NAME / FILE_NAME
    return user_path()


def project_path(root: Path) -> Path:
    """The file of records of the project in ``root``."""
    return root / FOLDER_NAME / FILE_NAME


def user_path() -> Path:
    """The file of records in the user's state folder (XDG Base Directory: $XDG_STATE_HOME)."""
    state = Path(os.environ.get("XDG_STATE_HOME") or "")
    if not state.is_absolute():
        state = Path.home() / ".local" / "state"
    return state / "harness-router" / FILE_NAME


def prepare(path: Path) -> None:
    """Make folder (mode 0700) and file (0600) if they are not there, and close them to others.

    In a ``.harness-router`` folder a ``.gitignore`` keeps all of it out of the repository. A folder
    of another name that was there before keeps its mode.

    Raises:
        StoreError: "foreign": the file is a symbolic link or no file.
        OSError: the file system refuses.
    """
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise StoreError("foreign", "the file of records is a link or no file: not used")
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if path.parent.name in OURS:
        _close_to_others(path.parent, 0o700)
    if path.parent.name == FOLDER_NAME:
        _ignore(path.parent / ".gitignore")
    if not path.exists():
        # Never opened and closed once it is in use: that would end SQLite's locks on it.
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_NOFOLLOW", 0)
        try:
            os.close(os.open(path, flags, 0o600))
        except FileExistsError:
            return
    _close_to_others(path, 0o600)


def _ignore(path: Path) -> None:
    try:
        with path.open("x") as file:
            file.write("*\n")
    except FileExistsError:
        return


def _close_to_others(path: Path, mode: int) -> None:
    found = path.stat()
    if found.st_mode & 0o777 & ~mode and found.st_uid == os.geteuid():
        path.chmod(mode)


def _is_ours(folder: Path) -> bool:
    """Whether it is a folder of this user: one that somebody put above it is not trusted."""
    try:
        return folder.is_dir() and folder.stat().st_uid == os.geteuid()
    except OSError:
        return False
