"""Keeps the files of SQLite readable by their owner only, because everybody else needs a token to read the data."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

_FILE_SUFFIXES = ("", "-wal", "-shm", "-journal")
"""Suffixes of the files that SQLite creates next to a database, with the mode of the database."""
_RIGHTS_OF_OTHERS = 0o077


def make_file_private(file: Path) -> None:
    """Create a database's file so that only its owner can read it; if it exists, correct its mode."""
    with suppress(OSError):  # SQLite's own error explains better why the file cannot be created
        os.close(os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    correct_modes(file)


def correct_modes(file: Path) -> None:
    """Remove everybody's permissions to a database's files except the owner's, for example after a restore."""
    for suffix in _FILE_SUFFIXES:
        path = file.with_name(f"{file.name}{suffix}")
        with suppress(OSError):  # The file does not exist, or belongs to another user.
            mode = path.stat().st_mode
            if mode & _RIGHTS_OF_OTHERS:
                path.chmod(mode & 0o700)
