"""Reads files of a built tree, which a program may have removed or replaced by anything."""

from pathlib import Path

from runner.system.regular_file import read_regular

_MAX_INPUT_BYTES = 64 << 20
"""A larger input is not compared with what a program prints."""


def get_size(file: Path) -> int:
    """Return the size of a file in bytes; 0 if there is none."""
    try:
        return file.lstat().st_size
    except OSError:
        return 0


def read_bytes(file: Path) -> bytes:
    """Return the content of a file; empty if it is no regular file, as a link to a device, or cannot be read."""
    try:
        return read_regular(file, _MAX_INPUT_BYTES)
    except OSError:
        return b""


def read_text(file: Path) -> str:
    """Return the text of an input; empty if it is no regular file, as a link to a device, or cannot be read."""
    return read_bytes(file).decode(errors="replace")
