"""Restores the tree of a build to its built state, at the beginning of each session.

A later commit whose build would be the same uses the tree too: with the files that it has changed laid over.

A program may write into its tree: results, ``__pycache__``, or what is to harm the next session. The cache therefore
keeps a copy of each tree, in a folder that no sandbox shows and that only the runner's user may enter. A tree that
differs from what was built, by its files' sizes, times and inodes, is replaced by that copy.
"""

import os
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from runner.contract.report import Build
from runner.errors import FaultwatchError
from runner.execution.disk_guard import count_used_bytes
from runner.execution.process_variables import BASE_VARIABLES
from runner.subject.build_record import BuildRecord, DamagedBuild, read_record, write_record
from runner.system.regular_file import open_regular
from runner.system.tree_walk import TreeTooLarge, compute_fingerprint, remove_tree, walk_tree


class UnreadableTree(Exception):
    """A build left files that the runner must not read; the message says which."""


TREE_FOLDER = "tree"
COPY_FOLDER = "built"
_LATER_FILES_FOLDER = "later"
_MAX_MESSAGE_CHARACTERS = 300
"""Characters of the error of ``cp`` that are quoted."""


class KeptCopy(Struct, frozen=True):
    """The copy of a built tree, from which changed files are put back.

    Attributes
    ----------
    folder
        The copy.
    later_files
        The files of a later commit that replace those of the copy; None if there are none.
    record
        The record of the build; None while it is not written, so that nothing is known about the tree.
    """

    folder: Path
    later_files: Path | None = None
    record: BuildRecord | None = None

    def is_unchanged(self, tree: Path) -> bool:
        """Return whether a tree is as it was built, or was last restored."""
        return self.record is not None and _find_fingerprint(tree, self.record.ignored) == self.record.tree

    def require_undamaged(self) -> None:
        """Check that nothing has changed the copy.

        Raises
        ------
        DamagedBuild
            If it was changed.
        """
        if self.record and _find_fingerprint(self.folder, None) != self.record.copy_of_tree:
            raise DamagedBuild("the copy of its tree is damaged")


def find_kept_copy(tree: Path) -> KeptCopy | None:
    """Return the copy of a tree; None for a tree outside of the cache.

    Raises
    ------
    DamagedBuild
        If the record of the build cannot be read.
    """
    folder = tree.parent / COPY_FOLDER / TREE_FOLDER
    if tree.name != TREE_FOLDER or not folder.is_dir():
        return None
    record = read_record(tree.parent)
    return KeptCopy(folder, tree.parent / _LATER_FILES_FOLDER if record and record.later_commit else None, record)


def keep_copy(build_folder: Path, build: Build, output_file: str | None, began: int = 0) -> BuildRecord:
    """Keep a copy of a tree that was just built; return the record of the build, which is not written yet.

    Parameters
    ----------
    build_folder
        The folder with the tree.
    output_file
        Path of the result file in the tree, which each execution creates again.
    began
        When the making of the tree began, in nanoseconds since the epoch.

    Raises
    ------
    UnreadableTree
        If the build left files that the runner must not read.
    FaultwatchError
        If the tree cannot be copied.
    """
    tree = build_folder / TREE_FOLDER
    (build_folder / COPY_FOLDER).mkdir(mode=0o700)
    _copy_tree(tree, build_folder / COPY_FOLDER / TREE_FOLDER)
    _flush_to_storage(tree)
    return BuildRecord(
        build=build,
        began=began,
        tree=compute_fingerprint(tree, output_file),
        copy_of_tree=compute_fingerprint(build_folder / COPY_FOLDER / TREE_FOLDER),
        ignored=output_file,
        bytes=2 * (count_used_bytes(tree) or 0),  # the tree and its copy
    )


def read_build_start(tree: Path) -> int:
    """Return the time at which a build began, in nanoseconds since the epoch; 0 for a tree outside of the cache."""
    try:
        record = read_record(tree.parent) if tree.name == TREE_FOLDER else None
    except DamagedBuild:
        return 0
    return record.began if record else 0


def overlay_files(tree: Path, checkout: Path, names: Iterable[str], commit: str) -> None:
    """Overlay files of a later commit in the sessions of a build.

    Parameters
    ----------
    checkout
        The files of the commit, on the same file system; those that are used are moved away.
    names
        The files to use, as paths in both trees.
    """
    build_folder, later_folder = tree.parent, tree.with_name(_LATER_FILES_FOLDER)
    record = _remove_later_files(build_folder)
    for name in names:
        (later_folder / name).parent.mkdir(parents=True, exist_ok=True)
        (checkout / name).rename(later_folder / name)
    later_folder.mkdir(exist_ok=True)
    files = compute_fingerprint(later_folder)
    write_record(build_folder, record.model_copy(update={"tree": "", "later_commit": commit, "later_files": files}))
    restore_tree(tree)


def restore_original_tree(tree: Path) -> None:
    """Restore a tree as it was built, without files of a later commit.

    Raises
    ------
    DamagedBuild
        If the build cannot be used.
    FaultwatchError
        If the tree cannot be put back.
    """
    record = read_record(tree.parent)
    if record and record.later_commit:
        write_record(tree.parent, _remove_later_files(tree.parent))
    restore_tree(tree)


def _remove_later_files(build_folder: Path) -> BuildRecord:
    """Remove the files of a later commit; return the record that lists them, which is not written yet."""
    record = read_record(build_folder)
    assert record is not None
    remove_tree(build_folder / _LATER_FILES_FOLDER)
    return record.model_copy(update={"tree": "", "later_commit": "", "later_files": ""})


def restore_tree(tree: Path) -> None:
    """Restore a tree as it was built, if a program has changed it; leave a tree outside of the cache.

    If a later commit uses the build, its changed files replace those of the build.

    Raises
    ------
    DamagedBuild
        If the build cannot be used: after a power cut, files can lack what was written last.
    FaultwatchError
        If the tree cannot be put back.
    """
    build_folder = tree.parent
    record = read_record(build_folder) if tree.name == TREE_FOLDER else None
    if record is None or _find_fingerprint(tree, record.ignored) == record.tree:
        return
    if _find_fingerprint(build_folder / COPY_FOLDER / TREE_FOLDER, None) != record.copy_of_tree:
        raise DamagedBuild("the copy of its tree is damaged")
    new_tree = build_folder / f"{TREE_FOLDER}.partial"
    for tree_to_remove in (new_tree, tree):
        remove_tree(tree_to_remove)
    if tree.is_symlink() or tree.exists():
        raise FaultwatchError(f"{tree} cannot be removed", "remove it by hand")
    _copy_tree(build_folder / COPY_FOLDER / TREE_FOLDER, new_tree)
    if record.later_commit:
        if _find_fingerprint(build_folder / _LATER_FILES_FOLDER, None) != record.later_files:
            raise DamagedBuild("the files of a later commit are damaged")
        _replace_files(new_tree, build_folder / _LATER_FILES_FOLDER)
    _flush_to_storage(new_tree)
    new_tree.rename(tree)
    write_record(build_folder, record.model_copy(update={"tree": compute_fingerprint(tree, record.ignored)}))


def _replace_files(tree: Path, source: Path) -> None:
    """Replace files of a tree by those of the same paths in another one; their owners stay."""
    for entry in walk_tree(source):
        if entry.is_file(follow_symlinks=False):
            target = tree / os.path.relpath(entry.path, source)
            state = target.lstat()
            target.unlink()
            shutil.copy2(entry.path, target)
            os.chown(target, state.st_uid, state.st_gid)


def _find_fingerprint(tree: Path, ignored: str | None) -> str | None:
    """Return the fingerprint of a tree; None if it cannot be read."""
    try:
        return compute_fingerprint(tree, ignored)
    except (OSError, TreeTooLarge):
        return None


def _copy_tree(source: Path, target: Path) -> None:
    """Copy a tree, sharing blocks where the file system can, and keeping holes: a sparse file must not fill the disk.

    Raises
    ------
    UnreadableTree
        The runner may not read a file of the tree.
    FaultwatchError
        The tree cannot be copied for another reason.
    """
    words = ["cp", "--archive", "--no-target-directory", "--reflink=auto", "--sparse=auto", "--"]
    result = subprocess.run(
        [*words, os.fspath(source), os.fspath(target)],
        check=False,
        capture_output=True,
        stdin=subprocess.DEVNULL,
        env=dict(BASE_VARIABLES),
    )
    if result.returncode:
        lines = result.stderr.decode(errors="replace").strip().splitlines() or [f"exit code {result.returncode}"]
        message = lines[0].removeprefix("cp: ")[:_MAX_MESSAGE_CHARACTERS]
        if "Permission denied" in message:
            raise UnreadableTree(f"has files that cannot be read: {message}")
        raise FaultwatchError(f"the built tree cannot be copied: {message}")


def _flush_to_storage(tree: Path) -> None:
    """Write a fresh tree to storage.

    While the kernel writes pages back, it locks them briefly. A fault near a locked page maps fewer neighbours than
    usual, which changes the count. Once written, the pages stay unlocked.
    """
    for entry in walk_tree(tree):
        file = Path(entry.path)
        if entry.is_file(follow_symlinks=False) and (os.access(file, os.X_OK) or ".so" in file.suffixes):
            with open_regular(file, may_be_link=False) as stream:
                os.fsync(stream.fileno())
