"""Knows which files of a checkout its build did not read, by their access times.

A revision that changes only such files need not be built: its build would be the same. The kernel notes each read of a
file whose access time is older than its last change, also on file systems mounted with ``relatime``. What only names,
lists or looks for files sees no difference either, because the names are the same.

Two things are not seen: a build that depends on nothing but the size of a file, and one that opens files with
``O_NOATIME`` or sets their times back. One such revision in twenty is built all the same.
"""

import os
import stat
import tempfile
from collections.abc import Container, Mapping
from contextlib import suppress
from fcntl import ioctl
from pathlib import Path

from runner.subject.hardened_git import GitError
from runner.subject.repository import Repository
from runner.system.tree_walk import TreeTooLarge, walk

NEVER = 1
"""The access time, in seconds since 1970, of a file that nobody has read."""
_NAMES = "unread"
_CLONE = 0x40049409
"""FICLONE, of linux/fs.h."""
_READ_BY_GIT = frozenset({".gitattributes", ".gitmodules"})
"""Files that decide how others are checked out."""


def are_reads_noted(folder: Path) -> bool:
    """Return whether the access time of a file in a folder tells that it was read or copied.

    Not on file systems mounted with ``noatime``, and not where files share their blocks: a copy is then no read.
    """
    with tempfile.TemporaryDirectory(dir=folder) as name:
        source, copy = Path(name, "source"), Path(name, "copy")
        source.write_bytes(b"read")
        os.utime(source, (NEVER, source.stat().st_mtime))
        with source.open("rb") as reader, copy.open("wb") as writer:
            with suppress(OSError):
                ioctl(writer, _CLONE, reader.fileno())
                return False
            with suppress(OSError):
                os.copy_file_range(reader.fileno(), writer.fileno(), 4)
                if not _was_read(source.stat()):
                    return False
        os.utime(source, (NEVER, source.stat().st_mtime))
        source.read_bytes()
        return _was_read(source.stat())


def unread_states(tree: Path) -> Mapping[str, object]:
    """Return the states of the files of a tree that nobody has read or changed, by path; none where that is unknown."""
    return _unread_now(tree) if are_reads_noted(tree.parent) else {}


def _unread_now(tree: Path) -> dict[str, object]:
    found: dict[str, object] = {}
    with suppress(TreeTooLarge):
        for entry in walk(tree):
            state = entry.stat(follow_symlinks=False)
            # A file with a further hard link, which the build has made, would not be the only one to change.
            if stat.S_ISREG(state.st_mode) and state.st_nlink == 1 and not _was_read(state):
                found[os.path.relpath(entry.path, tree)] = (state.st_ino, state.st_size, state.st_mtime_ns)
    return found


def note_unread(tree: Path, checkout: Mapping[str, object]) -> None:
    """Write beside a tree that was just built which files of the checkout its build did not read.

    Parameters
    ----------
    checkout
        The unread files before the build; others come from moving and copying.
    """
    names = [name for name, state in _unread_now(tree).items() if checkout.get(name) == state] if checkout else []
    (tree.parent / _NAMES).write_bytes(b"".join(os.fsencode(name) + b"\0" for name in sorted(names)))


def unread_files(place: Path) -> frozenset[str]:
    """Return the files that a build did not read, as far as is known, as paths in its tree."""
    try:
        return frozenset(map(os.fsdecode, (place / _NAMES).read_bytes().split(b"\0")[:-1]))
    except OSError:
        return frozenset()


def changed_files(repository: Repository, before: str, after: str) -> frozenset[str] | None:
    """Return the files whose content two commits differ in; None if they differ in more than that."""
    options = ("-r", "-z", "--raw", "--no-renames", "--ignore-submodules=none")
    try:
        return parse_changes(repository.git("diff-tree", *options, before, after))
    except GitError:  # a damaged commit, of which the checkout says more
        return None


def parse_changes(text: str) -> frozenset[str] | None:
    """Return what :func:`changed_files` returns, from the output of ``git diff-tree --raw -z``."""
    fields = text.split("\0")
    names: set[str] = set()
    for change, name in zip(fields[::2], fields[1::2], strict=False):
        old_mode, new_mode, *_, status = change.removeprefix(":").split(" ")
        is_same_kind = status == "M" and old_mode == new_mode and old_mode.startswith("100")
        if not is_same_kind or name.rpartition("/")[2] in _READ_BY_GIT:
            return None
        names.add(name)
    return frozenset(names)


def sizes(tree: Path, ignored: Container[str]) -> dict[str, int]:
    """Return the size of each file in a tree, by its path."""
    found = {}
    for entry in walk(tree):
        name = os.path.relpath(entry.path, tree)
        if entry.is_file(follow_symlinks=False) and name not in ignored:
            found[name] = entry.stat(follow_symlinks=False).st_size
    return found


def _was_read(state: os.stat_result) -> bool:
    return state.st_atime_ns != NEVER * 10**9
