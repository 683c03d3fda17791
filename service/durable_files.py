"""Makes renames and new files survive a power cut."""

import os
from pathlib import Path


def sync_folder(folder: Path) -> None:
    """Wait until the entries of a folder are on storage (fsync)."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
