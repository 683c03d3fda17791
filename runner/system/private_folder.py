"""Folders that only their owner may enter."""

from contextlib import suppress
from pathlib import Path

_OTHERS_MODE = 0o077


def make_private_folder(folder: Path) -> Path:
    """Return a folder that only its owner may enter: create it if necessary, and correct its mode.

    Raises
    ------
    OSError
        The folder cannot be created.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with suppress(OSError):  # If the folder belongs to another user, that user shares it on purpose.
        mode = folder.stat().st_mode
        if mode & _OTHERS_MODE:
            folder.chmod(mode & 0o700)
    return folder
