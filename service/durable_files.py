"""Makes names of files survive a power cut."""

import os
from pathlib import Path


def sync_folder(folder: Path) -> None:
    """Wait until the names in a folder have reached the storage."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
