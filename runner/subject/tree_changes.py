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
_MAX_NAMED = 3
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

    def is_changed_to(self, other: "FileState") -> bool:
        """Return whether another state is that of a changed file; the time of a folder changes with its files."""
        return (self.mode, self.size) != (other.mode, other.size) or (
            not self.is_folder and self.modified != other.modified
        )


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


def find_changes(tree: Path, built: Mapping[str, FileState], rules: KeepRules) -> list[Change]:
    """Return what differs in a tree from its built state, each folder before its content.

    The content of a new folder is not looked at unless something in it may have to stay, so that it may be as large and
    as deep as a program likes.

    Raises
    ------
    TreeTooLarge
        If there are too many files.
    """
    root = read_state(tree)
    changes = [Change("", "modified", root)] if built[""].is_changed_to(root) else []
    present, listed = {""}, set()
    waiting, number = [""], 0
    while waiting:
        folder = waiting.pop()
        try:
            entries = os.scandir(tree / folder)
        except OSError:
            continue
        listed.add(folder)
        with entries:
            for entry in entries:
                number += 1
                if number > MAX_ENTRIES:
                    raise TreeTooLarge(f"has more than {MAX_ENTRIES:,} files")
                path = f"{folder}/{entry.name}" if folder else entry.name
                state, before = read_state(entry), built.get(path)
                if before is None:
                    changes.extend(_find_new_files(tree, path, state, rules))
                    continue
                present.add(path)
                if before.is_folder and state.is_folder:
                    waiting.append(path)
                if before.is_changed_to(state) and not rules.keeps(path):
                    changes.append(Change(path, "modified", state))
    gone = (path for path in built if path not in present and path.rpartition("/")[0] in listed)
    return [*changes, *(Change(path, "removed", None) for path in gone if not rules.keeps(path))]


def _find_new_files(tree: Path, path: str, state: FileState, rules: KeepRules) -> Iterator[Change]:
    """Yield the changes of a new file or folder: itself, or what is in the folder if some of that stays."""
    if rules.keeps(path):
        return
    if state.is_folder and rules.may_keep_in_new_folder:
        below = [(os.path.relpath(entry.path, tree), read_state(entry)) for entry in walk_tree(tree / path)]
        kept_names = {name for name, _ in below if rules.keeps(name)}
        if kept_names:
            yield from (Change(name, "new", own) for name, own in below if name not in kept_names and not own.is_folder)
            return
    yield Change(path, "new", state)


def describe_changes(changes: Sequence[Change], missed: Collection[str] = ()) -> str:
    """Return a remark about what an execution changes; empty if it changes nothing.

    Parameters
    ----------
    missed
        Paths in the tree that the execution tried to read when they were not there.
    """
    if not changes:
        return ""
    ordered = sorted(changes, key=lambda change: (_KINDS.index(change.kind), change.path not in missed))
    named_changes = ordered[:_MAX_NAMED]
    more = len(changes) - len(named_changes)
    groups = {
        kind: [_make_printable(change.path or ".") for change in group]
        for kind, group in groupby(named_changes, key=lambda change: change.kind)
    }
    if more:
        groups[named_changes[-1].kind].append("one more file" if more == 1 else f"{more:,} more files")
    description = _join_words([f"{_VERBS[kind]} {_join_words(names)}" for kind, names in groups.items()])
    read = ", which the next execution reads" if any(change.path in missed for change in changes) else ""
    if {change.kind for change in changes} == {"new"}:
        undone = "it is removed" if len(changes) == 1 else "they are removed"
    else:
        undone = "that is undone"
    first = ordered[0]
    kept_words = "it" if len(changes) == 1 else "that file"
    option = f'[run] keep = ["{_make_pattern(first.path)}"]'
    return f"an execution {description} in its folder{read}; {undone} before the next ({option} keeps {kept_words})"


def _join_words(words: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def _make_pattern(path: str) -> str:
    """Return a pattern in TOML that matches a path; a question mark for what cannot be printed."""
    pattern = "".join(letter if letter.isprintable() and letter not in '"\\' else "?" for letter in escape(path))
    return pattern or "*"


def _make_printable(path: str) -> str:
    """Return a name that a program has chosen as text on one line, of limited length."""
    text = "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in path)
    return text if len(text) <= _MAX_NAME_CHARACTERS else f"{text[:_MAX_NAME_CHARACTERS]}…"
