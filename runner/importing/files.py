"""Reads the files to import: one file, or all files below a folder."""

import gzip
import io
import os
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import NoReturn

from msgspec import Struct

from runner.errors import FaultwatchError
from runner.importing.imported_run import ImportDefaults, ImportedRun
from runner.importing.registry import find_format, make_unknown_format_error, read_source
from runner.importing.source import Source
from runner.system.regular_file import read_regular

_GZIP_MAGIC = b"\x1f\x8b"
MAX_FILE_BYTES = 64 << 20
"""The largest size of a file, compressed or not: a compressed file of a few bytes can hold gigabytes."""
MAX_FILES = 100_000
"""The largest number of files below one folder."""
MAX_RUNS = 500_000
"""The largest number of runs of one import. All of them are in memory at once, to be checked before any is stored."""
_MAX_NAMED_FOLDERS = 3
"""How many of the folders above a file are searched for a revision or a time in their names."""


class FolderRuns(Struct, frozen=True):
    """The runs of a folder, and the paths in the folder of the files that no format recognises."""

    runs: list[ImportedRun]
    left_out: list[str]


def read_file(file: Path, defaults: ImportDefaults) -> list[ImportedRun]:
    """Read the runs of a file of any supported format.

    Raises
    ------
    FaultwatchError
        The file cannot be read completely, or contains too many runs. Nothing of it is imported then.
    """
    source = _make_source(file, _decode_text(file), file.name)
    file_format = find_format(source, defaults)
    if file_format is None:
        raise make_unknown_format_error(source)
    runs = read_source(file_format, source, defaults)
    refuse_too_many_runs(len(runs), str(file))
    return runs


def read_folder(folder: Path, defaults: ImportDefaults) -> FolderRuns:
    """Read the runs of all files below a folder, in the order of their paths.

    Raises
    ------
    FaultwatchError
        A file of a known format cannot be read completely, a folder cannot be listed, no file has a known format, or
        there are too many files or runs.
    """
    runs: list[ImportedRun] = []
    omitted_names: list[str] = []
    has_known_format = False
    for file in _walk_files(folder):
        name = str(file.relative_to(folder))
        try:
            source = _make_source(file, _decode_text(file), name)
        except FaultwatchError:  # It is not text.
            omitted_names.append(name)
            continue
        file_format = find_format(source, defaults)
        # If the user chose the format, some files may not have it.
        if file_format is None or not file_format.recognises(source):
            omitted_names.append(name)
            continue
        has_known_format = True
        runs += read_source(file_format, source, defaults)
        refuse_too_many_runs(len(runs), str(folder))
    if not has_known_format:
        if defaults.format:
            raise FaultwatchError(f"{folder}: no file in the folder has the format {defaults.format}", "omit --format")
        raise FaultwatchError(
            f"{folder}: no file in the folder has a format that can be imported",
            "`faultwatch import -h` names the formats",
        )
    return FolderRuns(runs, omitted_names)


def refuse_too_many_runs(n_runs: int, location: str) -> None:
    """Check the number of runs of one import.

    Raises
    ------
    FaultwatchError
        There are too many; the message begins with the location.
    """
    if n_runs > MAX_RUNS:
        raise FaultwatchError(f"{location}: more than {MAX_RUNS:,} runs in one import", "import fewer runs at a time")


def _walk_files(folder: Path) -> Iterator[Path]:
    """Yield all files below a folder in order of name, except those of git.

    Raises
    ------
    FaultwatchError
        There are too many files, or a folder cannot be listed.
    """

    def refuse_folder(error: OSError) -> NoReturn:
        raise FaultwatchError(
            f"{error.filename} cannot be read: {error.strerror}", "make it readable by this user"
        ) from None

    n_files = 0
    for root, folders, files in os.walk(folder, onerror=refuse_folder):
        folders[:] = sorted(name for name in folders if name != ".git")
        for name in sorted(files):
            n_files += 1
            if n_files > MAX_FILES:
                raise FaultwatchError(f"{folder} contains more than {MAX_FILES:,} files", "import its parts one by one")
            yield Path(root, name)


def _make_source(file: Path, text: str, name: str) -> Source:
    """Return a file to import with its text, its time, and access to the files beside it."""

    def read_neighbour(path: str) -> str | None:
        neighbour = file.parent / path
        return _decode_text(neighbour) if neighbour.is_file() else None

    def list_sibling_folders() -> tuple[str, ...]:
        try:
            return tuple(entry.name for entry in file.absolute().parent.parent.iterdir() if entry.is_dir())
        except OSError:
            return ()

    folder_names = [parent.name for parent in file.absolute().parents][:_MAX_NAMED_FOLDERS]
    modified = datetime.fromtimestamp(int(file.stat().st_mtime), UTC)
    return Source(
        text,
        name,
        modified_at=modified,
        folders=tuple(folder_names),
        list_sibling_folders=list_sibling_folders,
        read_neighbour=read_neighbour,
    )


def _decode_text(file: Path) -> str:
    """Return the text of a file, which may be compressed.

    Raises
    ------
    FaultwatchError
        The file cannot be read, is damaged, too large or not text.
    """
    try:
        data = read_regular(file, MAX_FILE_BYTES)
        return (_decompress(data, file) if data.startswith(_GZIP_MAGIC) else data).decode("utf-8-sig")
    except (gzip.BadGzipFile, zlib.error, EOFError, UnicodeDecodeError) as error:
        raise FaultwatchError(
            f"{file} is damaged or not text: {error}", "pass a text file in UTF-8, or one that gzip compressed"
        ) from None
    except OSError as error:
        raise FaultwatchError(
            f"{file} cannot be read: {error.strerror or error}", "pass a file that this user can read"
        ) from None


def _decompress(data: bytes, file: Path) -> bytes:
    """Return the content of a gzip file; refuse a file that grows too large."""
    with gzip.GzipFile(fileobj=io.BytesIO(data)) as stream:
        text = stream.read(MAX_FILE_BYTES + 1)
    if len(text) > MAX_FILE_BYTES:
        raise FaultwatchError(f"{file} is larger than {MAX_FILE_BYTES >> 20} MiB when decompressed", "split it")
    return text
