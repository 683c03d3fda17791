"""Finds a program of this host, and identifies its version without reading or executing it."""

import os
import shutil
from datetime import UTC, datetime
from pathlib import Path

from runner.system.valid_text import make_valid_text


def find_program(name: str, path: str) -> Path | None:
    """Return the file of a program; None if it is not found.

    Relative folders in ``path`` are ignored: they could lead to the checkout.
    """
    absolute_path = os.pathsep.join(folder for folder in path.split(os.pathsep) if folder.startswith("/"))
    program = shutil.which(name, path=absolute_path) if absolute_path and "/" not in name else None
    return Path(program) if program else None


def identify_program(file: Path) -> str | None:
    """Return the path, size and time of a program: they identify its version, and the file need not be read.

    None if there is no such file.
    """
    try:
        target = file.resolve(strict=True)
        status = target.stat()
    except (OSError, RuntimeError):  # RuntimeError: links that point to each other
        return None
    modified = datetime.fromtimestamp(int(status.st_mtime), UTC)
    return f"{make_valid_text(str(target))}, {status.st_size} bytes of {modified:%Y-%m-%d %H:%M:%S}"
