"""Finds what an execution has changed in its tree, compared with the built tree, and says it in a sentence."""

import os
import stat
from collections.abc import Collection, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from glob import escape
from itertools import accumulate, groupby
from pathlib import Path
from typing import Literal

from msgspec import Struct

from runner.system.tree_walk import MAX_ENTRIES, TreeTooLarge, walk_tree

_BYTECODE_FOLDER, _BYTECODE_SUFFIX = "__pycache__", ".pyc"
"""What Python leaves for its next start, which is part of a warm start."""
_MAX_NAMED_FILES = 3
"""Changed files that a sentence names."""
_MAX_NAME_CHARACTERS = 100
_VERBS = {"new": "leaves", "modified": "changes", "removed": "removes"}
_KINDS = list(_VERBS)


class FileState(Struct, frozen=True):
    """The state of a file, by which a change of it is noticed. A folder has a size of 0."""

    mode: int
    size: int
    modified: int

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder, and no link to one."""
        return stat.S_ISDIR(self.mode)

    def is_changed_to(self, new_state: "FileState") -> bool:
        """Return whether another state is that of a changed file; the time of a folder changes with its files."""
        if (self.mode, self.size) != (new_state.mode, new_state.size):
            return True
        return not self.is_folder and self.modified != new_state.modified


class Change(Struct, frozen=True):
    """A file that differs from the built tree. Of a new or removed folder, the files in it are no changes of their own.

    Attributes
    ----------
    path
        Path in the tree; empty for the tree itself.
    kind
        In which way it differs.
    state
        Its state now; None if it was removed.
    """

    path: str
    kind: Literal["new", "modified", "removed"]
    state: FileState | None


class KeepRules(Struct, frozen=True):
    """Which changes stay from one execution to the next.

    Attributes
    ----------
    patterns
        As ``[run] keep`` takes them.
    result
        Path of the result file, which is removed anyway; empty for none.
    """

    patterns: tuple[str, ...] = ()
    result: str = ""

    @property
    def keeps_everything(self) -> bool:
        """Whether no change is undone."""
        return "*" in self.patterns

    @property
    def may_keep_in_new_folder(self) -> bool:
        """Whether anything in a new folder may have to stay."""
        return bool(self.patterns or "/" in self.result)

    def keeps(self, path: str) -> bool:
        """Return whether a file stays as an execution left it: itself, or a folder around it, is named."""
        names = path.split("/")
        if path == self.result or names[-1].endswith(_BYTECODE_SUFFIX) or _BYTECODE_FOLDER in names:
            return True
        return any(self._matches(pattern, names) for pattern in self.patterns)

    @staticmethod
    def _matches(pattern: str, names: Sequence[str]) -> bool:
        """Return whether a pattern matches a path or a folder around it; without a slash, at any depth."""
        pattern = pattern.removeprefix("./")
        is_path = "/" in pattern.rstrip("/")
        # Of a/b/c: a, a/b and a/b/c; or without a slash in the pattern: a, b and c.
        candidates = accumulate(names, "{}/{}".format) if is_path else names
        return any(fnmatchcase(candidate, pattern.strip("/")) for candidate in candidates)


def read_state(file: os.DirEntry[str] | Path) -> FileState:
    """Return the state of a file, not of what a link leads to."""
    state = file.lstat() if isinstance(file, Path) else file.stat(follow_symlinks=False)
    size = 0 if stat.S_ISDIR(state.st_mode) else state.st_size
    return FileState(state.st_mode, size, state.st_mtime_ns)


def list_states(tree: Path) -> dict[str, FileState]:
    """Return the state of every file of a tree by its path, that of the tree itself under an empty path."""
    states = {"": read_state(tree)}
    for entry in walk_tree(tree):
        states[os.path.relpath(entry.path, tree)] = read_state(entry)
    return states


def find_changes(tree: Path, built_states: Mapping[str, FileState], rules: KeepRules) -> list[Change]:
    """Return what differs in a tree from its built state, each folder before its content.

    The content of a new folder is not looked at unless something in it may have to stay, so that it may be as large and
    as deep as a program likes.

    Raises
    ------
    TreeTooLarge
        If there are too many files.
    """
    root = read_state(tree)
    changes = [Change("", "modified", root)] if built_states[""].is_changed_to(root) else []
    present_paths, listed_folders = {""}, set()
    queue, entry_count = [""], 0
    while queue:
        folder = queue.pop()
        try:
            entries = os.scandir(tree / folder)
        except OSError:
            continue  # what is in a folder that cannot be read shows once its mode is put back
        listed_folders.add(folder)
        with entries:
            for entry in entries:
                entry_count += 1
                if entry_count > MAX_ENTRIES:
                    raise TreeTooLarge(f"has more than {MAX_ENTRIES:,} files")
                path = f"{folder}/{entry.name}" if folder else entry.name
                state, built_state = read_state(entry), built_states.get(path)
                if built_state is None:
                    changes.extend(_find_new_files(tree, path, state, rules))
                    continue
                present_paths.add(path)
                if built_state.is_folder and state.is_folder:
                    queue.append(path)
                if built_state.is_changed_to(state) and not rules.keeps(path):
                    changes.append(Change(path, "modified", state))
    for path in built_states:
        is_removed = path not in present_paths and path.rpartition("/")[0] in listed_folders
        if is_removed and not rules.keeps(path):
            changes.append(Change(path, "removed", None))
    return changes


def _find_new_files(tree: Path, path: str, state: FileState, rules: KeepRules) -> Iterator[Change]:
    """Yield the changes of a new file or folder: itself, or what is in the folder if some of that stays."""
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
        Paths in the tree that the execution tried to read when they were not there.
    """
    if not changes:
        return ""
    sorted_changes = sorted(changes, key=lambda change: (_KINDS.index(change.kind), change.path not in missed_paths))
    named_changes = sorted_changes[:_MAX_NAMED_FILES]
    unnamed_count = len(changes) - len(named_changes)
    groups = {
        kind: [_make_printable(change.path or ".") for change in group]
        for kind, group in groupby(named_changes, key=lambda change: change.kind)
    }
    if unnamed_count:
        groups[named_changes[-1].kind].append(
            "one more file" if unnamed_count == 1 else f"{unnamed_count:,} more files"
        )
    description = _join_words([f"{_VERBS[kind]} {_join_words(names)}" for kind, names in groups.items()])
    reading_clause = (
        ", which the next execution reads" if any(change.path in missed_paths for change in changes) else ""
    )
    if {change.kind for change in changes} == {"new"}:
        undo_clause = "it is removed" if len(changes) == 1 else "they are removed"
    else:
        undo_clause = "that is undone"
    first_change = sorted_changes[0]
    kept_object = "it" if len(changes) == 1 else "that file"
    option = f'[run] keep = ["{_make_pattern(first_change.path)}"]'
    hint = f"{option} keeps {kept_object}"
    return f"an execution {description} in its folder{reading_clause}; {undo_clause} before the next ({hint})"


def _join_words(words: Sequence[str]) -> str:
    """Return some words as a part of a sentence: ``a, b and c``."""
    if len(words) == 1:
        return words[0]
    return f"{', '.join(words[:-1])} and {words[-1]}"


def _make_pattern(path: str) -> str:
    """Return a pattern in TOML that matches a path; a question mark for what cannot be printed."""
    pattern = "".join(char if char.isprintable() and char not in '"\\' else "?" for char in escape(path))
    return pattern or "*"


def _make_printable(path: str) -> str:
    """Return a name that a program has chosen as text on one line, of limited length."""
    text = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in path)
    return text if len(text) <= _MAX_NAME_CHARACTERS else f"{text[:_MAX_NAME_CHARACTERS]}…"
