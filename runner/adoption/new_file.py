"""Writes files into a user's work tree: completely or not at all, and never through a link that leads out of it."""

import os
from contextlib import suppress
from pathlib import Path

from runner.errors import FaultwatchError
from runner.system.durable_files import rename_durably
from runner.system.processes import read_own_name
from runner.system.real_path import resolve_links


def has_other_content(top: Path, name: str, text: str) -> bool:
    """Return whether a file exists that is not known to have this content: a link, or one that cannot be read, may not.

    Raises
    ------
    FaultwatchError
        Its folder leads out of the work tree.
    """
    file = _resolve_path_inside(top, name)
    if not os.path.lexists(file):
        return False
    try:
        return file.is_symlink() or file.read_text(encoding="utf-8") != text
    except (OSError, UnicodeDecodeError):
        return True


def write_file(top: Path, name: str, text: str, *, executable: bool = False) -> None:
    """Write a file atomically, or replace one.

    Raises
    ------
    FaultwatchError
        Its folder leads out of the work tree, or cannot be written.
    """
    file = _resolve_path_inside(top, name)
    temporary_file = file.with_name(f".{file.name}.{read_own_name()}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        temporary_file.write_text(text, encoding="utf-8")
        temporary_file.chmod(0o755 if executable else 0o644)
        rename_durably(temporary_file, file)
    except OSError as error:
        raise FaultwatchError(
            f"{file} cannot be written: {error.strerror}", "make its folder writable, or free some space"
        ) from None
    finally:
        with suppress(OSError):  # usually it is gone, because it was renamed
            temporary_file.unlink()


def _resolve_path_inside(top: Path, name: str) -> Path:
    """Return the path of a new file; raise if it would be outside of the repository."""
    file = top / name
    if not resolve_links(file.parent).is_relative_to(resolve_links(top)):
        raise FaultwatchError(f"{file.parent} points outside {top}", "remove the link")
    return file
