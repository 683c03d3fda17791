"""Restores the tree of a build to its built state at the beginning of each session.

A later commit whose build would be the same uses the tree too, overlaid with the files that it has changed.

A program may write into its tree: results, ``__pycache__``, or files that are meant to harm the next session. The cache
therefore keeps a copy of each tree, in a folder that no sandbox shows and that only the runner's user may enter. If a
tree differs from its built state in the sizes, times or inodes of files, it is replaced by this copy.
"""

import os
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from runner.contract.report import Build
from runner.errors import FaultwatchError
from runner.execution.process_variables import BASE_VARIABLES
from runner.execution.resource_guard import count_used_bytes
from runner.subject.build_record import BuildRecord, DamagedBuild, read_record, write_record
from runner.system.regular_file import open_regular
from runner.system.tree_walk import TreeTooLarge, compute_fingerprint, remove_tree, walk_tree


class UnreadableTree(Exception):
    """A build left files that the runner must not read; the message says which."""


TREE_FOLDER = "tree"
COPY_FOLDER = "built"
_LATER_FILES_FOLDER = "later"
_MAX_MESSAGE_CHARACTERS = 300
"""The largest number of characters of the error of ``cp`` that a message quotes."""


class KeptCopy(Struct, frozen=True):
    """The copy of a built tree, from which changed files are restored.

    Attributes
    ----------
    folder
        The folder of the copy.
    later_files
        The folder with the files of a later commit, which replace those of the copy; None if there are none.
    record
        The record of the build; None until it is written.
    """

    folder: Path
    later_files: Path | None = None
    record: BuildRecord | None = None

    def is_unchanged(self, tree: Path) -> bool:
        """Return whether a tree is in the state in which it was built or last restored."""
        return self.record is not None and _find_fingerprint(tree, self.record.ignored) == self.record.tree

    def require_undamaged_copy(self) -> None:
        """Check that the copy has not been changed.

        Raises
        ------
        DamagedBuild
            If it was changed.
        """
        if self.record and _find_fingerprint(self.folder, ignored=None) != self.record.copy_of_tree:
            raise DamagedBuild("the saved copy of the build tree is damaged")


def find_kept_copy(tree: Path) -> KeptCopy | None:
    """Return the kept copy of a tree; None for a tree outside of the cache.

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
    """Keep a copy of a tree that was just built; return the record of the build, which the caller has to write.

    Parameters
    ----------
    build_folder
        The folder with the tree.
    output_file
        Path of the result file in the tree, which each execution creates again.
    began
        The time at which the making of the tree began, in nanoseconds since the epoch.

    Raises
    ------
    UnreadableTree
        If the build left files that the runner must not read.
    FaultwatchError
        If the tree cannot be copied.
    """
    tree = build_folder / TREE_FOLDER
    ignored = os.path.normpath(output_file) if output_file else None
    (build_folder / COPY_FOLDER).mkdir(mode=0o700)
    copy_tree(tree, build_folder / COPY_FOLDER / TREE_FOLDER)
    _flush_to_storage(tree)
    return BuildRecord(
        build=build,
        began=began,
        tree=compute_fingerprint(tree, ignored),
        copy_of_tree=compute_fingerprint(build_folder / COPY_FOLDER / TREE_FOLDER),
        ignored=ignored,
        bytes=2 * (count_used_bytes(tree) or 0),  # For the tree and its copy.
    )


def read_build_start(tree: Path) -> int:
    """Return the time at which a build began, in nanoseconds since the epoch.

    It is 0 for a tree outside of the cache, and if the record of the build is damaged.
    """
    try:
        record = read_record(tree.parent) if tree.name == TREE_FOLDER else None
    except DamagedBuild:
        return 0
    return record.began if record else 0


def overlay_files(tree: Path, checkout: Path, names: Iterable[str], commit: str) -> None:
    """Overlay a build with files of a later commit, for the following sessions.

    Parameters
    ----------
    checkout
        The folder with the files of the commit, on the same file system; the used files are moved out of it.
    names
        The paths of the files to use, relative to both trees.
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
    """Restore a tree to its built state, without files of a later commit.

    Raises
    ------
    DamagedBuild
        If the build cannot be used.
    FaultwatchError
        If the tree cannot be restored.
    """
    record = read_record(tree.parent)
    if record and record.later_commit:
        write_record(tree.parent, _remove_later_files(tree.parent))
    restore_tree(tree)


def _remove_later_files(build_folder: Path) -> BuildRecord:
    """Remove the files of a later commit; return the record without this commit, which the caller has to write."""
    record = read_record(build_folder)
    assert record is not None
    remove_tree(build_folder / _LATER_FILES_FOLDER)
    return record.model_copy(update={"tree": "", "later_commit": "", "later_files": ""})


def restore_tree(tree: Path) -> None:
    """Restore a tree to its built state if a program has changed it; do nothing outside of the cache.

    If a later commit uses the build, its changed files replace those of the build.

    Raises
    ------
    DamagedBuild
        If the build cannot be used, for example because a power cut has damaged files.
    FaultwatchError
        If the tree cannot be restored.
    """
    build_folder = tree.parent
    record = read_record(build_folder) if tree.name == TREE_FOLDER else None
    if record is None or _find_fingerprint(tree, record.ignored) == record.tree:
        return
    if _find_fingerprint(build_folder / COPY_FOLDER / TREE_FOLDER, ignored=None) != record.copy_of_tree:
        raise DamagedBuild("the saved copy of the build tree is damaged")
    new_tree = build_folder / f"{TREE_FOLDER}.partial"
    for tree_to_remove in (new_tree, tree):
        remove_tree(tree_to_remove)
    if tree.is_symlink() or tree.exists():
        raise FaultwatchError(f"{tree} cannot be removed", "remove it by hand")
    copy_tree(build_folder / COPY_FOLDER / TREE_FOLDER, new_tree)
    if record.later_commit:
        if _find_fingerprint(build_folder / _LATER_FILES_FOLDER, ignored=None) != record.later_files:
            raise DamagedBuild("the files of a later commit are damaged")
        _replace_files(new_tree, build_folder / _LATER_FILES_FOLDER)
    _flush_to_storage(new_tree)
    new_tree.rename(tree)
    write_record(build_folder, record.model_copy(update={"tree": compute_fingerprint(tree, record.ignored)}))


def _replace_files(tree: Path, source: Path) -> None:
    """Replace files of a tree by those at the same paths in ``source``; keep their owners."""
    for entry in walk_tree(source):
        if entry.is_file(follow_symlinks=False):
            target = tree / os.path.relpath(entry.path, source)
            status = target.lstat()
            target.unlink()
            shutil.copy2(entry.path, target)
            os.chown(target, status.st_uid, status.st_gid)


def _find_fingerprint(tree: Path, ignored: str | None) -> str | None:
    """Return the fingerprint of a tree; None if it cannot be read."""
    try:
        return compute_fingerprint(tree, ignored)
    except (OSError, TreeTooLarge):
        return None


def copy_tree(source: Path, target: Path) -> None:
    """Copy a tree. Share blocks if the file system can, and keep holes, so that a sparse file does not fill the disk.

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
        if lines[0].endswith("Permission denied"):  # The path before it may be as long as the message.
            raise UnreadableTree(f"has files that cannot be read: {message}")
        raise FaultwatchError(
            f"the built tree cannot be copied to {target}: {message}",
            "check that this folder is writable and its disk has free space",
        )


def _flush_to_storage(tree: Path) -> None:
    """Write the programs and libraries of a new tree to storage.

    While the kernel writes pages back, it locks them briefly. A fault near a locked page maps fewer neighbours than
    usual, which changes the count. Pages that are written already are not locked any more.
    """
    for entry in walk_tree(tree):
        file = Path(entry.path)
        if entry.is_file(follow_symlinks=False) and (os.access(file, os.X_OK) or ".so" in file.suffixes):
            with open_regular(file, may_be_link=False) as stream:
                os.fsync(stream.fileno())
