"""Replaces ``~`` in paths that a user has written."""

from pathlib import Path

from runner.errors import FaultwatchError


def expand_home(path: str | Path) -> Path:
    """Return a path in which ``~`` or ``~USER`` at the beginning is replaced by the home folder of that user.

    Raises
    ------
    FaultwatchError
        There is no such user.
    """
    try:
        return Path(path).expanduser()
    except RuntimeError:
        raise FaultwatchError(f"{path}: there is no such user", "write the path without ~") from None
