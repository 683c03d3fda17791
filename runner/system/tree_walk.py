"""Walks and removes trees that untrusted programs have made: they can be very deep, and links are not followed."""

import errno
import hashlib
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

MAX_ENTRIES = 1_000_000
_DEPTH_PROBLEM = "has folders that are nested so deeply that their paths are too long"


class TreeTooLarge(Exception):
    """A tree has too many entries, or paths that are too long for the kernel; the message says which of these."""


def walk_tree(tree: Path) -> Iterator[os.DirEntry[str]]:
    """Yield every entry below a folder, each folder before its content.

    Entries that vanish meanwhile are left out, and so is the content of folders that this process may not read.

    Raises
    ------
    TreeTooLarge
        The tree cannot be walked.
    """
    pending_folders = [os.fspath(tree)]
    entry_count = 0
    while pending_folders:
        try:
            entries = os.scandir(pending_folders.pop())
        except OSError as error:
            if error.errno == errno.ENAMETOOLONG:
                raise TreeTooLarge(_DEPTH_PROBLEM) from None
            continue
        with entries:
            for entry in entries:
                entry_count += 1
                if entry_count > MAX_ENTRIES:
                    raise TreeTooLarge(f"has more than {MAX_ENTRIES:,} files")
                yield entry
                if entry.is_dir(follow_symlinks=False):
                    pending_folders.append(entry.path)


def inspect_entry(entry: os.DirEntry[str]) -> os.stat_result:
    """Return the status of an entry itself, not of what it links to.

    Raises
    ------
    OSError
        It cannot be inspected, for example because it has vanished, or it is a folder that this process may not read.
    """
    status = entry.stat(follow_symlinks=False)
    if stat.S_ISDIR(status.st_mode) and not os.access(entry.path, os.R_OK | os.X_OK, effective_ids=True):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), entry.path)
    return status


def explain_unusable_tree(tree: Path) -> str:
    """Return why a tree cannot be used, as the predicate of a sentence; empty if it can be used."""
    try:
        for entry in walk_tree(tree):
            inspect_entry(entry)
    except TreeTooLarge as error:
        return str(error)
    except OSError as error:
        return _DEPTH_PROBLEM if error.errno == errno.ENAMETOOLONG else f"cannot be inspected: {error.strerror}"
    return ""


def compute_fingerprint(tree: Path, ignored: str | None = None) -> str:
    """Return a hash that changes if any file of a tree changes.

    It includes the change times (ctime), which only the kernel can set, so a program cannot hide its changes.

    Parameters
    ----------
    ignored
        The path in the tree of a file whose changes are ignored.

    Raises
    ------
    TreeTooLarge
        The tree cannot be walked.
    OSError
        A file cannot be inspected, for example because it has vanished, or a folder may not be read.
    """
    lines = []
    for entry in walk_tree(tree):
        name = os.path.relpath(entry.path, tree)
        if name == ignored:
            continue
        status = inspect_entry(entry)
        # Leave out the times of a folder: they change with its entries, which are included themselves.
        content_state: tuple[int, ...] = ()
        if not stat.S_ISDIR(status.st_mode):
            content_state = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
        lines.append(repr((name, status.st_mode, status.st_uid, *content_state)))
    return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()


def remove_tree(tree: Path) -> None:
    """Remove a tree of any depth; ``shutil.rmtree`` can remove only a thousand levels.

    A program may have left folders to which their owner cannot write. If the tree cannot be removed at once, their
    modes are changed. If it can never be removed, a line on standard error says so.
    """
    command = ["rm", "-rf", "--one-file-system", "--", os.fspath(tree)]
    subprocess.run(command, check=False, stdin=subprocess.DEVNULL, capture_output=True)
    if os.path.lexists(tree):
        modes = ["chmod", "-R", "--silent", "u+rwx", "--", os.fspath(tree)]
        subprocess.run(modes, check=False, stdin=subprocess.DEVNULL, capture_output=True)
        subprocess.run(command, check=False, stdin=subprocess.DEVNULL, capture_output=True)
    if os.path.lexists(tree):
        # The message of rm is not quoted, because it contains names that a program has chosen.
        print(f"{tree} cannot be removed", file=sys.stderr)
