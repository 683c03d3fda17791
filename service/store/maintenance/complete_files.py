"""Writes files atomically and durably."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from service.durable_files import sync_folder
from service.errors import ServiceError


@contextmanager
def write_completely(file: Path) -> Iterator[Path]:
    """Yield a temporary path for the caller to write to; rename it to ``file`` once it is complete and on disk.

    Raises
    ------
    ServiceError
        If the folder does not exist, the name is that of a folder, a device or a pipe, or the file cannot be written.
    """
    part_file = file.with_name(f".{file.name}.{os.getpid()}.part")
    with explain_write_errors(file):
        if file.is_dir():
            raise IsADirectoryError(None, "Is a directory", str(file))
        if file.exists() and not file.is_file():  # a device or a pipe, which would become a file
            raise OSError(None, "it is not a regular file", str(file))
        try:
            os.close(os.open(part_file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600))
            yield part_file
            with part_file.open("rb") as stream:
                os.fsync(stream.fileno())
            part_file.replace(file)
            sync_folder(file.parent)
        finally:
            part_file.unlink(missing_ok=True)


@contextmanager
def explain_write_errors(target: Path) -> Iterator[None]:
    """Turn the system's errors into errors that name the file or folder that should have been written."""
    try:
        yield
    except OSError as error:
        raise ServiceError(
            "The file cannot be written", f"{target} ({error.strerror or error})", "Check its folder, and the disk."
        ) from error
