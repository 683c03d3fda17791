"""Writes files into a user's work tree: completely or not at all, and never through a link that leads out of it."""

import os
from pathlib import Path

from runner.errors import FaultwatchError
from runner.system.durable_files import rename_durably
from runner.system.processes import read_own_name


def has_other_content(top: Path, name: str, text: str) -> bool:
    """Return whether a file exists with a different content."""
    place = _resolve_inside(top, name)
    if not os.path.lexists(place):
        return False
    try:
        return place.is_symlink() or place.read_text(encoding="utf-8") != text
    except (OSError, UnicodeDecodeError):
        return True


def write_file(top: Path, name: str, text: str, *, executable: bool = False) -> None:
    """Write a file, or replace one.

    Raises
    ------
    FaultwatchError
        Its folder leads out of the work tree, or cannot be written.
    """
    place = _resolve_inside(top, name)
    part = place.with_name(f".{place.name}.{read_own_name()}")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(text, encoding="utf-8")
        part.chmod(0o755 if executable else 0o644)
        rename_durably(part, place)
    except OSError as error:
        raise FaultwatchError(f"{place} cannot be written: {error.strerror}", "check the permissions") from None
    finally:
        part.unlink(missing_ok=True)


def _resolve_inside(top: Path, name: str) -> Path:
    place = top / name
    if not place.parent.resolve().is_relative_to(top.resolve()):
        raise FaultwatchError(f"{place.parent} points outside {top}", "remove the link")
    return place
