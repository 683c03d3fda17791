"""Finds out what an execution has changed in its tree, compared with the built tree, and describes it in a sentence."""

import os
import stat
from collections.abc import Collection, Iterator, Mapping, Sequence
from glob import escape
from itertools import groupby
from pathlib import Path
from typing import Literal

from msgspec import Struct

from runner.contract.word_list import join_words
from runner.subject.kept_files import KeepRules
from runner.system.tree_walk import MAX_ENTRIES, TreeTooLarge, walk_tree

_MAX_NAMED_FILES = 3
"""The largest number of changed files that the sentence names."""
_MAX_NAME_CHARACTERS = 100
_VERBS = {"new": "leaves", "modified": "changes", "removed": "removes"}
_KINDS = list(_VERBS)


class FileState(Struct, frozen=True):
    """The state of a file, from which a change is noticed.

    Attributes
    ----------
    mode
        The type and the permissions.
    size
        The size in bytes; 0 for a folder.
    modified
        The time of the last modification, in nanoseconds since the epoch.
    """

    mode: int
    size: int
    modified: int

    @property
    def is_folder(self) -> bool:
        """Whether this is a folder itself, not a link to one."""
        return stat.S_ISDIR(self.mode)

    def is_changed_to(self, new_state: "FileState") -> bool:
        """Return whether a file with the new state was changed; the time of a folder is ignored: files change it."""
        if (self.mode, self.size) != (new_state.mode, new_state.size):
            return True
        return not self.is_folder and self.modified != new_state.modified


class Change(Struct, frozen=True):
    """A file or folder that differs from the built tree. For a new or removed folder, the files in it are not listed.

    Attributes
    ----------
    path
        The path in the tree; empty for the tree itself.
    kind
        How the file differs.
    state
        The present state; None if the file was removed.
    """

    path: str
    kind: Literal["new", "modified", "removed"]
    state: FileState | None


def read_state(file: os.DirEntry[str] | Path) -> FileState:
    """Return the state of a file; for a link, that of the link itself."""
    status = file.lstat() if isinstance(file, Path) else file.stat(follow_symlinks=False)
    size = 0 if stat.S_ISDIR(status.st_mode) else status.st_size
    return FileState(status.st_mode, size, status.st_mtime_ns)


def list_states(tree: Path) -> dict[str, FileState]:
    """Return the state of every file and folder of a tree by path; the path of the tree itself is empty."""
    states = {"": read_state(tree)}
    for entry in walk_tree(tree):
        states[os.path.relpath(entry.path, tree)] = read_state(entry)
    return states


def find_changes(tree: Path, built_states: Mapping[str, FileState], rules: KeepRules) -> list[Change]:
    """Return the changes of a tree compared with its built state; a folder precedes its content.

    The content of a new folder is not examined unless some of it may have to stay, so a program can make the folder
    arbitrarily large and deep.

    Raises
    ------
    TreeTooLarge
        If there are too many files.
    """
    root = read_state(tree)
    changes = [Change("", "modified", root)] if built_states[""].is_changed_to(root) else []
    present_paths, listed_folders = {""}, set()
    pending_folders, n_entries = [""], 0
    while pending_folders:
        folder = pending_folders.pop()
        try:
            entries = os.scandir(tree / folder)
        except OSError:
            continue  # The content of an unreadable folder is seen after its mode is restored.
        listed_folders.add(folder)
        with entries:
            for entry in entries:
                n_entries += 1
                if n_entries > MAX_ENTRIES:
                    raise TreeTooLarge(f"has more than {MAX_ENTRIES:,} files")
                path = f"{folder}/{entry.name}" if folder else entry.name
                state, built_state = read_state(entry), built_states.get(path)
                if built_state is None:
                    changes.extend(_find_new_files(tree, path, state, rules))
                    continue
                present_paths.add(path)
                if built_state.is_folder and state.is_folder:
                    pending_folders.append(path)
                if built_state.is_changed_to(state) and not rules.keeps(path):
                    changes.append(Change(path, "modified", state))
    for path in built_states:
        is_removed = path not in present_paths and path.rpartition("/")[0] in listed_folders
        if is_removed and not rules.keeps(path):
            changes.append(Change(path, "removed", state=None))
    return changes


def _find_new_files(tree: Path, path: str, state: FileState, rules: KeepRules) -> Iterator[Change]:
    """Yield the change of a new file or folder, or the changes in the folder if some of its content stays."""
    if rules.keeps(path):
        return
    if state.is_folder and rules.may_keep_in_new_folder:
        states_below = [(os.path.relpath(entry.path, tree), read_state(entry)) for entry in walk_tree(tree / path)]
        kept_names = {name for name, _ in states_below if rules.keeps(name)}
        if kept_names:
            yield from (
                Change(name, "new", own_state)
                for name, own_state in states_below
                if name not in kept_names and not own_state.is_folder
            )
            return
    yield Change(path, "new", state)


def describe_changes(changes: Sequence[Change], missed_paths: Collection[str] = ()) -> str:
    """Return a remark about what an execution changes; empty if it changes nothing.

    Parameters
    ----------
    missed_paths
        Paths in the tree that the execution tried to read although they did not exist.
    """
    if not changes:
        return ""
    sorted_changes = sorted(changes, key=lambda change: (_KINDS.index(change.kind), change.path not in missed_paths))
    named_changes, unnamed_changes = sorted_changes[:_MAX_NAMED_FILES], sorted_changes[_MAX_NAMED_FILES:]
    n_unnamed = len(unnamed_changes)
    groups = {
        kind: [_make_path_printable(change.path or ".") for change in group]
        for kind, group in groupby(named_changes, key=lambda change: change.kind)
    }
    last_kind = named_changes[-1].kind
    is_one_kind = all(change.kind == last_kind for change in unnamed_changes)
    if n_unnamed and is_one_kind:
        groups[last_kind].append("one more file" if n_unnamed == 1 else f"{n_unnamed:,} more files")
    clauses = [f"{_VERBS[kind]} {join_words(names)}" for kind, names in groups.items()]
    if not is_one_kind:
        clauses.append("makes one more change" if n_unnamed == 1 else f"makes {n_unnamed:,} more changes")
    description = join_words(clauses)
    reading_clause = (
        ", and the next execution would read this" if any(change.path in missed_paths for change in changes) else ""
    )
    if {change.kind for change in changes} == {"new"}:
        undo_clause = "it is removed" if len(changes) == 1 else "they are removed"
    else:
        undo_clause = "that is undone"
    first_change = sorted_changes[0]
    kept_object = "it" if len(changes) == 1 else "that file"
    option = f'[run] keep = ["{_make_pattern(first_change.path)}"]'
    hint = f"{option} keeps {kept_object}"
    return f"an execution {description} in its folder{reading_clause}; {undo_clause} before the next execution ({hint})"


def _make_pattern(path: str) -> str:
    """Return a pattern for TOML that matches a path; a question mark stands for each unprintable character."""
    pattern = "".join(char if char.isprintable() and char not in '"\\' else "?" for char in escape(path))
    return pattern or "*"


def _make_path_printable(path: str) -> str:
    """Return a path, which a program has chosen, as text on one line and of limited length."""
    text = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in path)
    return text if len(text) <= _MAX_NAME_CHARACTERS else f"{text[:_MAX_NAME_CHARACTERS]}…"
