"""Writes files so that a power cut leaves the old one, the new one, or none: never half of one."""

import os
from pathlib import Path


def rename_durably(complete: Path, target: Path) -> None:
    """Put a complete file in the place of another one, after its content has reached the storage."""
    descriptor = os.open(complete, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    complete.replace(target)
    sync_folder(target.parent)


def sync_folder(folder: Path) -> None:
    """Wait until the names in a folder have reached the storage."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
