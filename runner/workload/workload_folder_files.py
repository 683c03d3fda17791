"""Lists the files of a workload's own folder; both the hash and the copy of the folder use the same list.

The folder may be part of an untrusted checkout. Links to files within the same work tree are followed, because shipped
workloads share headers. All other links, pipes, sockets and devices are rejected at any depth.
"""

import fnmatch
import hashlib
import os
import shutil
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from runner.errors import FaultwatchError
from runner.system.regular_file import open_regular

_IGNORED_FOLDERS = (".git", "__pycache__")
_MAX_LEVELS, _MAX_FILES, _MAX_BYTES = 64, 100_000, 4 << 30
"""The largest depth, number of files and size of a workload's folder."""


class SourceFile(Struct, frozen=True):
    """One file of a workload's folder.

    Attributes
    ----------
    name
        The path in the folder.
    file
        The file to read; for a link, its target.
    """

    name: str
    file: Path


def list_source_files(folder: Path) -> list[SourceFile]:
    """Return the files of a workload's folder, sorted by name.

    Raises
    ------
    FaultwatchError
        A file must not be copied, which the message names; or the folder is too large, too deep, or has too many files.
    """
    boundary = _find_work_tree(folder)
    source_files: list[SourceFile] = []
    total_bytes = 0
    for path in _walk_folder(folder):
        file = _follow_link(path, boundary) if path.is_symlink() else path
        status = file.lstat()
        if not stat.S_ISREG(status.st_mode):
            raise FaultwatchError(f"{path} is not a regular file", "move it out of the workload's folder")
        total_bytes += status.st_size
        source_files.append(SourceFile(str(path.relative_to(folder)), file))
        if len(source_files) > _MAX_FILES or total_bytes > _MAX_BYTES:
            raise FaultwatchError(
                f"{folder} contains more than {_MAX_FILES:,} files or {_MAX_BYTES >> 30} GiB",
                "move the workload to a separate folder",
            )
    return sorted(source_files, key=lambda source_file: source_file.name)


def select_build_files(files: Sequence[SourceFile]) -> list[SourceFile]:
    """Return the files that a build gets: all except the leftovers of an earlier build in the folder."""
    return [file for file in files if not fnmatch.fnmatch(file.name, "*.o")]


def copy_sources(files: Sequence[SourceFile], target: Path) -> None:
    """Copy files into a new folder, with their times and permissions."""
    target.mkdir(parents=True)
    for file in files:
        destination = target / file.name
        destination.parent.mkdir(parents=True, exist_ok=True)
        with open_regular(file.file) as source, destination.open("xb") as copy:
            shutil.copyfileobj(source, copy)
            status = os.fstat(source.fileno())
        destination.chmod(stat.S_IMODE(status.st_mode) & 0o777)  # Without the set-user-ID and set-group-ID bits.
        os.utime(destination, ns=(status.st_atime_ns, status.st_mtime_ns))


def compute_digest(file: SourceFile) -> str:
    """Return the SHA-256 of a file's content in hex digits."""
    with open_regular(file.file) as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def compute_tree_digest(files: Sequence[SourceFile]) -> str:
    """Return a single SHA-256 of the names, the permissions and the contents of files."""
    tree_hash = hashlib.sha256()
    for file in files:
        is_executable = bool(file.file.stat().st_mode & stat.S_IXUSR)
        tree_hash.update(f"{file.name}\0{is_executable}\0{compute_digest(file)}\0".encode(errors="surrogateescape"))
    return tree_hash.hexdigest()


def _walk_folder(folder: Path) -> Iterator[Path]:
    """Yield all entries below a folder that are not folders themselves, without following links."""
    pending_folders = [(folder, 0)]
    while pending_folders:
        folder_path, level = pending_folders.pop()
        if level > _MAX_LEVELS:
            raise FaultwatchError(
                f"folders in {folder} are nested more than {_MAX_LEVELS} levels deep", "use fewer levels of folders"
            )
        with os.scandir(folder_path) as entries:
            for entry in entries:
                if entry.name in _IGNORED_FOLDERS:
                    continue
                if entry.is_dir(follow_symlinks=False):
                    pending_folders.append((Path(entry.path), level + 1))
                else:
                    yield Path(entry.path)


def _follow_link(link: Path, boundary: Path) -> Path:
    """Return the file to which a link points; raise if it is missing, not regular, or outside of ``boundary``."""
    try:
        file = link.resolve(strict=True)
    except (OSError, RuntimeError):  # RuntimeError: links that point to each other
        raise FaultwatchError(
            f"{link} points to a missing file", "remove the link from the workload's folder"
        ) from None
    parts_below = file.relative_to(boundary).parts if file.is_relative_to(boundary) else None
    if parts_below is None or ".git" in parts_below:
        raise FaultwatchError(f"{link} points outside {boundary}", "copy its target into the workload's folder")
    if not file.is_file():
        raise FaultwatchError(f"{link} does not point to a regular file", "copy its target into the workload's folder")
    return file


def _find_work_tree(folder: Path) -> Path:
    """Return the work tree that contains a folder; if there is none, return the folder's parent."""
    ancestors = (folder, *folder.parents)
    return next((ancestor for ancestor in ancestors if (ancestor / ".git").exists()), folder.parent)
