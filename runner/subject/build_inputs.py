"""Finds the files of a checkout on which a build depends, from the file lookups that were traced while it ran.

A build depends on each file that it opened, looked up or executed, under any name, and on each file that it moved or
removed. A revision that changes only other files need not be built, because its build would be the same. As a check,
one such revision in twenty is built nevertheless. A build that could not be traced, for example because it communicates
with a server, is never reused for another revision.
"""

import os
from collections.abc import Container, Iterable
from contextlib import suppress
from pathlib import Path

from runner.dependencies.recorded_lookups import Lookups
from runner.subject.hardened_git import GitError
from runner.subject.repository import Repository
from runner.system.tree_walk import walk_tree

_NAMES_FILE = "asked"
"""The file beside a tree with the paths that its build looked up and changed."""
_END_MARK = "."
"""The end of this file, which is no path in a tree. After a power cut, the file may be empty or cut off."""
_FILES_READ_BY_GIT = frozenset({".gitattributes", ".gitmodules"})
"""Files that affect how git checks out other files."""


def write_inputs(tree: Path, lookups: Lookups) -> None:
    """Write the list of the files that a build looked up, beside its tree; write none if the lookups are incomplete."""
    file = tree.parent / _NAMES_FILE
    file.unlink(missing_ok=True)
    if lookups.untraced_reason:
        return
    paths = {path for _, path in lookups.entries} | lookups.made_paths
    rows = [*_select_paths_below(tree, paths), "", *_select_paths_below(tree, lookups.changed_paths), _END_MARK]
    file.write_bytes(b"\0".join(map(os.fsencode, rows)))


def _select_paths_below(tree: Path, paths: Iterable[str]) -> list[str]:
    """Return the paths that are in a tree, relative to the tree."""
    prefix = f"{tree}/"
    return sorted(
        {os.path.normpath(path)[len(prefix) :] for path in paths if os.path.normpath(path).startswith(prefix)}
    )


class Inputs:
    """The files of the checkout that a build looked up; all files if its lookups are unknown."""

    def __init__(self, build_folder: Path) -> None:
        """Read the lists that were kept with a build: paths, an empty path, further paths, and the end mark."""
        self._looked_up_files: frozenset[str] | None = None
        """The files that the build looked up; None if they are unknown."""
        self._changed_paths: frozenset[str] = frozenset()
        """The files and folders that the build moved or removed."""
        with suppress(OSError, ValueError):  # There may be no list, or no empty path in it.
            *rows, end = map(os.fsdecode, (build_folder / _NAMES_FILE).read_bytes().split(b"\0"))
            middle = rows.index("")
            if end == _END_MARK:
                self._looked_up_files = frozenset(rows[:middle])
                self._changed_paths = frozenset(rows[middle + 1 :])

    def may_depend_on(self, name: str) -> bool:
        """Return whether the build may depend on a file of the checkout."""
        if self._looked_up_files is None or name in self._looked_up_files:
            return True
        # If the build moved a parent folder of the file, it may have read the file under another name.
        return not self._changed_paths.isdisjoint((name, *map(str, Path(name).parents)))


def find_changed_files(repository: Repository, before: str, after: str) -> frozenset[str] | None:
    """Return the files whose content differs between two commits; None if the commits differ in other ways as well."""
    options = ("-r", "-z", "--raw", "--no-renames", "--ignore-submodules=none")
    try:
        return parse_changes(repository.git("diff-tree", *options, before, after, decode_paths=True))
    except GitError:  # A commit is damaged; the checkout will report how.
        return None


def parse_changes(text: str) -> frozenset[str] | None:
    """Return the result of :func:`find_changed_files` from the output of ``git diff-tree --raw -z``."""
    fields = text.split("\0")
    names: set[str] = set()
    for change, name in zip(fields[::2], fields[1::2], strict=False):
        old_mode, new_mode, *_, status = change.removeprefix(":").split(" ")
        is_regular_file = old_mode == new_mode and old_mode.startswith("100")
        has_only_other_content = status == "M" and is_regular_file
        if not has_only_other_content or name.rpartition("/")[2] in _FILES_READ_BY_GIT:
            return None
        names.add(name)
    return frozenset(names)


def measure_file_sizes(tree: Path, ignored: Container[str]) -> dict[str, int]:
    """Return the size in bytes of each regular file in a tree, by relative path, without the ignored paths.

    Raises
    ------
    TreeTooLarge
        As :func:`~runner.system.tree_walk.walk_tree` does.
    """
    sizes_by_path = {}
    for entry in walk_tree(tree):
        name = os.path.relpath(entry.path, tree)
        if entry.is_file(follow_symlinks=False) and name not in ignored:
            sizes_by_path[name] = entry.stat(follow_symlinks=False).st_size
    return sizes_by_path
