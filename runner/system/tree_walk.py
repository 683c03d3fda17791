"""Walks and removes trees that untrusted programs made: as deep as the kernel allows, without following a link."""

import errno
import hashlib
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

MAX_ENTRIES = 1_000_000
_DEPTH_PROBLEM = "has folders so deep that their paths are too long"


class TreeTooLarge(Exception):
    """A tree has too many entries, or paths that are too long for the kernel; the message says which."""


def walk_tree(tree: Path) -> Iterator[os.DirEntry[str]]:
    """Yield every entry below a folder, each folder before its content; leave out what vanishes meanwhile.

    Raises
    ------
    TreeTooLarge
        The tree cannot be walked.
    """
    queue = [os.fspath(tree)]
    entry_count = 0
    while queue:
        try:
            entries = os.scandir(queue.pop())
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
                    queue.append(entry.path)


def explain_unusable_tree(tree: Path) -> str:
    """Return why a tree cannot be used, as the second half of a sentence; empty if it can."""
    try:
        for entry in walk_tree(tree):
            entry.stat(follow_symlinks=False)
    except TreeTooLarge as error:
        return str(error)
    except OSError as error:
        return _DEPTH_PROBLEM if error.errno == errno.ENAMETOOLONG else f"cannot be inspected: {error.strerror}"
    return ""


def compute_fingerprint(tree: Path, ignored: str | None = None) -> str:
    """Return a hash of a tree that changes with any of its files.

    It includes the times of change, which only the kernel sets, so a program cannot hide its changes.

    Parameters
    ----------
    ignored
        Path in the tree of a file that may change.
    """
    lines = []
    for entry in walk_tree(tree):
        name = os.path.relpath(entry.path, tree)
        if name == ignored:
            continue
        state = entry.stat(follow_symlinks=False)
        # The times of a folder are left out: they change with its files, which are listed themselves.
        content_state: tuple[int, ...] = ()
        if not stat.S_ISDIR(state.st_mode):
            content_state = (state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns)
        lines.append(repr((name, state.st_mode, state.st_uid, *content_state)))
    return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()


def remove_tree(tree: Path) -> None:
    """Remove a tree, however deep it is; ``shutil.rmtree`` takes a thousand levels at most.

    A program may have left folders that their owner cannot write, so their modes are set first.
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
