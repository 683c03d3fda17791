"""Undoes the changes of an execution in the tree before the next one, so that all executions begin with the same files.

Only changed files are restored, from the copy that the cache keeps of each tree. All other files keep their inodes,
because their pages were prepared. If a program changes nothing, its tree is examined only once in a session.
"""

import os
import shutil
import stat
import subprocess
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from runner.errors import FaultwatchError
from runner.execution.process_variables import BASE_VARIABLES
from runner.subject.kept_files import KeepRules
from runner.subject.session_tree_restorer import KeptCopy, find_kept_copy
from runner.subject.tree_changes import Change, FileState, describe_changes, find_changes, list_states
from runner.system.tree_walk import TreeTooLarge, remove_tree

_FILES_PER_COPY = 200
"""The number of files that one command copies: their paths must fit into its arguments."""
_MAX_ROUNDS = 20
"""How many times a tree is compared. The files in an unreadable folder are seen only after its mode is restored, so one
more round is needed for each unreadable folder within another."""
_KEEP_HINT = "let the program write elsewhere, or name the files that may stay changed: [run] keep"
_PERMISSION_BITS = 0o7777
"""The bits of a file's mode without those of its type."""


class TreeRestorer:
    """Restores the tree of a trial to its built state before each execution.

    Attributes
    ----------
    changes
        What the first execution that changed anything has changed.
    """

    def __init__(self, tree: Path, rules: KeepRules) -> None:
        """Begin a session in which nothing has been executed yet; ``rules`` say which changes stay."""
        self.changes: Sequence[Change] = ()
        self._tree = tree
        self._keep_rules = rules
        self._kept_copy: KeptCopy | None = None
        self._built_states: dict[str, FileState] = {}
        """The built state of each file; empty until an execution has changed something."""
        self._is_executed = False
        """Whether an execution of this session has begun."""
        self._was_executed_before = False
        """Whether an execution of an earlier session has begun, and may have left changes."""
        self._is_settled = rules.keeps_everything
        """Whether nothing has to be undone in the rest of this session."""
        self._is_too_large = False

    def begin_session(self) -> None:
        """Begin a session: whether its first execution changes anything decides if changes have to be undone."""
        self._was_executed_before = self._was_executed_before or self._is_executed
        self._is_executed = False
        self._is_settled = self._keep_rules.keeps_everything

    def restore(self) -> list[Path]:
        """Undo the changes of the last execution, and return the restored files. Must be called before each execution.

        Raises
        ------
        FaultwatchError
            A change cannot be undone.
        """
        is_first, self._is_executed = not self._is_executed, True
        if self._is_settled:
            return []
        if is_first and not self._built_states and not self._was_executed_before:
            return []  # Before the first execution of all, nothing has to be undone.
        if not self._built_states and not self._read_states_if_changed():
            # If one execution changes nothing, assume the same of the others, but not of those of another session.
            self._is_settled = not is_first
            return []
        try:
            restored_paths = self._undo_all_changes()
            self._is_settled = self._is_settled and not is_first
            return restored_paths
        except TreeTooLarge:  # :meth:`describe` reports this.
            self._is_settled = self._is_too_large = True
            return []
        except OSError as error:
            raise FaultwatchError(
                f"the changes that an execution made in {self._tree} cannot be undone: {error.strerror}", _KEEP_HINT
            ) from None

    def describe(self, missed_paths: Iterable[str] = ()) -> str:
        """Return a remark about what an execution changes, or that this is too much to undo; empty without changes.

        Parameters
        ----------
        missed_paths
            Absolute paths that an execution tried to read although they did not exist.
        """
        if self._is_too_large:
            return (
                "an execution leaves too many files or too deeply nested folders, so changes are no longer undone "
                "between executions"
            )
        prefix = f"{os.path.realpath(self._tree)}/"
        return describe_changes(
            self.changes, {path.removeprefix(prefix) for path in missed_paths if path.startswith(prefix)}
        )

    def _read_states_if_changed(self) -> bool:
        """Return whether the first execution changed anything; read the built state if it did.

        Without a kept copy nothing can be restored, so nothing counts as changed.
        """
        self._kept_copy = find_kept_copy(self._tree)
        if self._kept_copy is None or self._kept_copy.is_unchanged(self._tree):
            return False
        self._built_states = list_states(self._kept_copy.folder)
        if self._kept_copy.later_files:
            later_states = list_states(self._kept_copy.later_files)
            self._built_states |= {path: state for path, state in later_states.items() if not state.is_folder}
        return True

    def _undo_all_changes(self) -> list[Path]:
        """Undo changes until there are none, and return the paths of the restored files.

        Raises
        ------
        FaultwatchError
            Changes remain after several rounds.
        """
        restored_paths: list[Path] = []
        for _ in range(_MAX_ROUNDS):
            changes = find_changes(self._tree, self._built_states, self._keep_rules)
            self.changes = self.changes or tuple(changes)
            if not changes:
                break
            restored_paths.extend(self._undo_changes(changes))
        else:
            raise FaultwatchError(f"the changes that an execution made in {self._tree} cannot be undone", _KEEP_HINT)
        if not self.changes:  # Only files that may stay have changed.
            self._is_settled = True
            self._built_states = {}
        return restored_paths

    def _undo_changes(self, changes: Sequence[Change]) -> list[Path]:
        """Undo these changes, and return the paths of the restored files."""
        for change in changes:
            if change.state and change.state.is_folder and change.kind == "modified" and self._is_built_folder(change):
                # Users other than root need write permission to change the content of the folder.
                built_mode = self._built_states[change.path].mode
                (self._tree / change.path).chmod(built_mode & _PERMISSION_BITS | stat.S_IRWXU, follow_symlinks=False)
        # Remove what differs, and note what has to be copied back. A file keeps its inode if only its mode differs.
        missing_paths: list[str] = []
        for change in changes:
            built_state = self._built_states.get(change.path)
            if built_state and change.state and _differ_in_mode_alone(built_state, change.state):
                (self._tree / change.path).chmod(built_state.mode & _PERMISSION_BITS)
                continue
            if change.state:
                _remove_entry(self._tree / change.path, is_folder=change.state.is_folder)
            if built_state:
                missing_paths.append(change.path)
        folders = {change.path.rpartition("/")[0] for change in changes if change.path}
        return self._put_files_back(missing_paths, folders)

    def _is_built_folder(self, change: Change) -> bool:
        return self._built_states[change.path].is_folder

    def _put_files_back(self, missing_paths: Sequence[str], folders: set[str]) -> list[Path]:
        """Restore files and whole folders; then restore the times of their parent folders."""
        assert self._kept_copy is not None
        if missing_paths:
            self._kept_copy.require_undamaged_copy()
        paths = missing_paths
        if any(self._built_states[path].is_folder for path in missing_paths):
            paths = _add_paths_below(missing_paths, self._built_states)
        new_folders = [path for path in paths if self._built_states[path].is_folder]
        for path in sorted(new_folders):
            (self._tree / path).mkdir(mode=0o700)
        files = [path for path in paths if not self._built_states[path].is_folder]
        for start in range(0, len(files), _FILES_PER_COPY):
            _copy_files(self._kept_copy.folder, self._tree, files[start : start + _FILES_PER_COPY])
        self._replace_by_later_files(files)
        # Inner folders come first, because the permissions of a parent may forbid access to them.
        for path in sorted({*folders, *new_folders}, reverse=True):
            if path in self._built_states:
                self._put_folder_state_back(path, has_new_owner=path in new_folders)
        return [self._tree / path for path in files]

    def _replace_by_later_files(self, files: Iterable[str]) -> None:
        """Replace files by those of a later commit that uses the tree; keep their owners."""
        later_folder = self._kept_copy.later_files if self._kept_copy else None
        if later_folder is None:
            return
        for path in files:
            source, target = later_folder / path, self._tree / path
            if os.path.lexists(source):
                status = target.lstat()
                target.unlink()
                shutil.copy2(source, target, follow_symlinks=False)
                os.chown(target, status.st_uid, status.st_gid, follow_symlinks=False)

    def _put_folder_state_back(self, path: str, *, has_new_owner: bool) -> None:
        """Give a folder the permissions and times of its kept copy and, with ``has_new_owner``, its owner."""
        assert self._kept_copy is not None
        folder, status = self._tree / path, (self._kept_copy.folder / path).lstat()
        if has_new_owner:
            with suppress(PermissionError):
                os.chown(folder, status.st_uid, status.st_gid, follow_symlinks=False)
        folder.chmod(status.st_mode & _PERMISSION_BITS)
        os.utime(folder, ns=(status.st_atime_ns, status.st_mtime_ns), follow_symlinks=False)


def _differ_in_mode_alone(built_state: FileState, state: FileState) -> bool:
    """Return whether only the permissions of a file or folder have changed, so that its inode can be kept."""
    has_same_type = built_state.mode & ~_PERMISSION_BITS == state.mode & ~_PERMISSION_BITS
    has_same_content = (built_state.size, built_state.modified) == (state.size, state.modified)
    return has_same_type and (built_state.is_folder or has_same_content)


def _add_paths_below(paths: Sequence[str], built_paths: Iterable[str]) -> list[str]:
    """Return the paths and all built paths below them."""
    selected_paths = set(paths)
    for path in sorted(built_paths):  # In this order, a folder precedes its content.
        if path and path.rpartition("/")[0] in selected_paths:  # The empty path is the tree itself.
            selected_paths.add(path)
    return sorted(selected_paths)


def _remove_entry(file: Path, *, is_folder: bool) -> None:
    """Remove a file, or a folder with all its content.

    Raises
    ------
    FaultwatchError, OSError
        It cannot be removed.
    """
    if not is_folder:
        file.unlink()
        return
    remove_tree(file)
    if os.path.lexists(file):
        raise FaultwatchError(f"{file} cannot be removed", "remove it by hand")


def _copy_files(source: Path, target: Path, paths: Collection[str]) -> None:
    """Copy files with their owners, modes and times, and keep holes and hard links among them.

    Raises
    ------
    FaultwatchError
        A file cannot be copied.
    """
    words = ["cp", "--archive", "--parents", "--reflink=auto", "--sparse=auto"]
    result = subprocess.run(
        [*words, f"--target-directory={target.absolute()}", "--", *paths],
        check=False,
        capture_output=True,
        stdin=subprocess.DEVNULL,
        env=dict(BASE_VARIABLES),
        cwd=source,
    )
    if result.returncode:
        # The message of cp is not quoted, because it contains names that a program has chosen.
        raise FaultwatchError(
            f"files that an execution has changed cannot be restored in {target}",
            "check that this folder is writable and its disk has free space",
        )
