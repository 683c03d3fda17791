"""Keeps the files of SQLite readable by their owner alone: they hold what everybody else reads by a token."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

_BESIDE = ("", "-wal", "-shm", "-journal")
"""What SQLite adds to the name of a database for the files beside it. It gives new ones the mode of the database."""
_OTHERS = 0o077


def make_private(file: Path) -> None:
    """Create a database's file, if it is not there, so that only its owner reads it; correct what is there already."""
    with suppress(OSError):  # SQLite says better why it cannot be created.
        os.close(os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    correct_modes(file)


def correct_modes(file: Path) -> None:
    """Take from everybody but the owner the rights to a database's files, such as restored ones."""
    for suffix in _BESIDE:
        place = file.with_name(f"{file.name}{suffix}")
        with suppress(OSError):  # It is not there, or another user's.
            mode = place.stat().st_mode
            if mode & _OTHERS:
                place.chmod(mode & 0o700)
