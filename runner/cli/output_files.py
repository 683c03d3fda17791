"""Writes the files that options name: checked before anything is measured, and each whole or not at all."""

import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from runner.errors import FaultwatchError
from runner.log_commands import break_commands


def require_writable(files: Mapping[str, Path | None]) -> None:
    """Refuse files that cannot be written, before anything is measured.

    Parameters
    ----------
    files
        By the name of the option.

    Raises
    ------
    FaultwatchError
        One cannot be, or two are the same.
    """
    seen: dict[Path, str] = {}
    for name, file in files.items():
        if file is None:
            continue
        option = f"--{name.replace('_', '-')}"
        if (other := seen.setdefault(file.resolve(), option)) != option:
            raise FaultwatchError(f"{other} and {option} use the same file, {file}", "choose two different files")
        if _is_special(file):
            continue
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=file.parent):
                pass
        except OSError as error:
            raise _describe_unwritable(option, file, error) from None


def write_output_file(file: Path, text: str, option: str) -> None:
    """Write a file that an option names.

    Raises
    ------
    FaultwatchError
        It cannot be written.
    """
    partial = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        if _is_special(file):
            file.write_text(break_commands(text), encoding="utf-8")  # It may be the log of a CI system.
            return
        partial.write_text(text, encoding="utf-8")
        partial.replace(file)
    except OSError as error:
        raise _describe_unwritable(option, file, error) from None
    finally:
        with suppress(OSError):
            partial.unlink()


def _is_special(file: Path) -> bool:
    """Return whether there is a pipe or a device, such as /dev/stdout, which cannot be replaced.

    A link elsewhere than in /dev and /proc is replaced: the checkout of a stranger may have one to the host's disk.
    """
    links = file.is_symlink() and file.parent.resolve().parts[:2] not in {("/", "dev"), ("/", "proc")}
    return file.exists() and not links and not file.is_file() and not file.is_dir()


def _describe_unwritable(option: str, file: Path, error: OSError) -> FaultwatchError:
    return FaultwatchError(f"{file} cannot be written: {error.strerror}", f"choose another file with {option}")
