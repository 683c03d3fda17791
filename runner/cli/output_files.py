"""Writes the files that options name: they are checked before measuring, and written atomically."""

import os
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from runner.commands_in_ci_logs import break_commands
from runner.errors import FaultwatchError
from runner.system.real_path import resolve_links


def require_writable(files: Mapping[str, Path | None]) -> None:
    """Refuse files that cannot be written, before anything is measured.

    Parameters
    ----------
    files
        The path of each file, by the name of its option; None for an option that was left out.

    Raises
    ------
    FaultwatchError
        A file cannot be written, or two options name the same file.
    """
    options_by_file: dict[Path, str] = {}
    for name, file in files.items():
        if file is None:
            continue
        option = f"--{name.replace('_', '-')}"
        other_option = options_by_file.setdefault(resolve_links(file), option)
        if other_option != option:
            raise FaultwatchError(
                f"{other_option} and {option} use the same file, {file}", "choose two different files"
            )
        if _must_write_in_place(file):
            continue
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=file.parent):
                pass  # creating the file is the check
        except OSError as error:
            raise make_unwritable_error(option, file, error) from None


def write_output_file(file: Path, text: str, option: str) -> None:
    """Write a file that an option names.

    Raises
    ------
    FaultwatchError
        The file cannot be written.
    """
    temporary_file = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        if _must_write_in_place(file):
            _write_file_in_place(file, break_commands(text))  # The file may be the log of a CI job.
            return
        temporary_file.unlink(missing_ok=True)
        # An untrusted checkout may contain a link for each process id: this mode does not follow one.
        with temporary_file.open("x", encoding="utf-8") as stream:
            stream.write(text)
        temporary_file.replace(file)
    except OSError as error:
        raise make_unwritable_error(option, file, error) from None
    finally:
        with suppress(OSError):  # usually it is gone, because it was renamed
            temporary_file.unlink()


def _must_write_in_place(file: Path) -> bool:
    """Return whether a file must not be replaced: a pipe, a device, or a link of the system, such as /dev/stdout.

    A link of the system is kept even if it leads to a regular file, as /dev/stdout does under ``> FILE``. Any other
    link is replaced, because an untrusted checkout may contain a link to a device of the host.
    """
    if not file.exists() or file.is_dir():
        return False
    if file.is_symlink():
        folder = file.parent.resolve()
        return folder == Path("/dev") or folder.is_relative_to("/proc")
    return not file.is_file()


def _write_file_in_place(file: Path, text: str) -> None:
    """Write to an existing file; if it is one of the command's output streams, write through the stream.

    The stream keeps its position. Opening the file separately would truncate it, and later output would overwrite the
    text.
    """
    status = file.stat()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # The stream is closed, or is not a file.
            if os.path.samestat(os.fstat(stream.fileno()), status):
                stream.flush()
                with os.fdopen(os.dup(stream.fileno()), "w", encoding="utf-8") as copy:
                    copy.write(text)
                return
    file.write_text(text, encoding="utf-8")


def make_unwritable_error(option: str, file: Path, error: OSError) -> FaultwatchError:
    """Return the error that a file which an option names cannot be written."""
    return FaultwatchError(f"{file} cannot be written: {error.strerror}", f"choose another file with {option}")
