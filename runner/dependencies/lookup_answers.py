"""The answers to a program's file lookups: about files of a built tree, and about files outside of it.

If all answers are the same in two trees, the program cannot tell the trees apart. The answers describe the tree as it
was built, without the files that the program itself made. A file outside of the tree, such as a library, is only
identified: by its place on the disk, its size and its times.

All times at which files of a tree were made count as equal, because each build has its own times. The path of the tree
is replaced in contents and links; all trees have paths of the same length.
"""

import errno
import os
import stat
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

from msgspec import Struct

from runner.contract.report import hash_document
from runner.dependencies.digests import hash_built_file
from runner.dependencies.recorded_lookups import Lookups
from runner.execution.sandbox import Sandbox
from runner.system.regular_file import identify_file, open_regular

_COMPARED_ATTRIBUTES = ("user.", "system.posix_acl_")
"""The prefixes of the extended attributes that are compared. The others are labels that the host assigns by path."""
_BLOCK_BYTES = 512
"""The unit of ``st_blocks``, independent of the file system's block size."""
_MAX_LINKS = 40
"""The largest number of symbolic links that are followed in one path, as in the kernel."""
_VISIBLE_FOLDERS = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc")
_UNKNOWN = None
"""Stands for what cannot be read. It is no text, because a link can lead to any text."""

Answer = tuple[object, ...]


class ProgramTree(Struct, frozen=True):
    """A tree in which a program runs.

    Attributes
    ----------
    tree
        The tree, without links in its path.
    began_at
        The time at which the making of the tree began, in nanoseconds since the epoch; 0 if unknown.
    sandbox
        The sandbox that confines the program; None without a sandbox.
    is_fresh
        Whether nothing has run in the tree yet, so that it does not contain files that the program makes.
    """

    tree: Path
    began_at: int = 0
    sandbox: Sandbox | None = None
    is_fresh: bool = False


class Answers(Struct, frozen=True):
    """The answers to the file lookups of a program, by kind and path.

    Attributes
    ----------
    tree_answers
        The answers about files in the tree; paths are relative to the tree.
    host_answers
        The answers about other files: their identities.
    """

    tree_answers: Mapping[tuple[str, str], Answer]
    host_answers: Mapping[tuple[str, str], Answer]

    @property
    def are_known(self) -> bool:
        """Whether all answers about the tree are known: a file may be too large to be compared, or unreadable."""
        return not any(_UNKNOWN in answer for answer in self.tree_answers.values())

    @property
    def digest(self) -> str:
        """A digest of the answers about the tree; empty if one of them is unknown."""
        if not self.tree_answers or not self.are_known:
            return ""
        # As ASCII: names of files need not be text.
        return hash_document(
            [[kind, ascii(path), ascii(answer)] for (kind, path), answer in sorted(self.tree_answers.items())]
        )


class AnsweredLookups(Struct, frozen=True):
    """The file lookups of a program in a tree, with their answers."""

    program_tree: ProgramTree
    lookups: Lookups
    answers: Answers

    def has_same_answers_in(self, tree: Path, began_at: int) -> bool:
        """Return whether the lookups have the same answers in another tree, in which nothing has run yet.

        False if an answer is unknown: it may be another one there.
        """
        if not self.answers.are_known:
            return False
        lookups = move_lookups(self.lookups, self.program_tree.tree, tree)
        return (
            answer_lookups(ProgramTree(tree, began_at, self.program_tree.sandbox, is_fresh=True), lookups)
            == self.answers
        )


def answer_lookups(program_tree: ProgramTree, lookups: Lookups) -> Answers:
    """Return the answers to lookups in the present state of a tree."""
    reader = _AnswerReader(program_tree, lookups.made_paths)
    for kind, path in lookups.entries:
        reader.record_answer(kind, path)
    return Answers(reader.tree_answers, reader.host_answers)


def move_lookups(lookups: Lookups, tree: Path, other_tree: Path) -> Lookups:
    """Return the lookups with paths in ``tree`` moved to ``other_tree``, without missed paths: they need no answer."""
    old_tree, new_tree = f"{tree}", f"{other_tree}"

    def move_path(path: str) -> str:
        return new_tree + path[len(old_tree) :] if path == old_tree or path.startswith(f"{old_tree}/") else path

    entries = frozenset((kind, move_path(path)) for kind, path in lookups.entries)
    made_paths = frozenset(map(move_path, lookups.made_paths))
    changed_paths = frozenset(map(move_path, lookups.changed_paths))
    return Lookups(entries, made_paths, changed_paths, lookups.untraced_reason)


class _AnswerReader:
    """Looks paths up as the kernel does, component by component, and records the answer for each link on the way."""

    def __init__(self, program_tree: ProgramTree, made_paths: Iterable[str]) -> None:
        """Prepare the caches.

        Parameters
        ----------
        made_paths
            Files that the program made. In a fresh tree, they do not exist yet.
        """
        self._program_tree = program_tree
        self._tree = str(program_tree.tree)
        made_paths = [os.path.normpath(path) for path in made_paths]
        self._missing_paths = frozenset(() if program_tree.is_fresh else made_paths)
        """Files that exist only because the program has made them."""
        self._made_names_by_folder: dict[str, list[str]] = {}
        for path in made_paths:
            folder, _, name = path.rpartition("/")
            self._made_names_by_folder.setdefault(folder, []).append(name)
        self._real_paths: dict[str, str | None] = {"/": "/"}
        """The real path of each folder that was looked up; None if it does not exist."""
        self._now_ns = time.time_ns()
        self.tree_answers: dict[tuple[str, str], Answer] = {}
        self.host_answers: dict[tuple[str, str], Answer] = {}

    def record_answer(self, kind: str, path: str) -> None:
        """Record the answer to a question of this kind about a path; kind ``l`` asks about a link itself.

        Nothing is recorded about a path that the program cannot see, or that leads through too many links.
        """
        real_path = self._resolve_path(path, follow=kind != "l")
        if real_path is None:
            return  # The missing file was recorded while the path was resolved.
        if self._is_own(real_path):
            self.tree_answers[kind, self._make_path_relative(real_path)] = self._read_own_answer(kind, real_path)
        elif self._is_visible(real_path):
            self.host_answers[kind, real_path] = self._read_host_answer(kind, real_path)

    def _resolve_path(self, path: str, *, follow: bool, link_count: int = 0) -> str | None:
        """Return the path without links; None if it does not exist, or the program cannot see it.

        The answers for missing files and for links on the way are recorded.

        Parameters
        ----------
        follow
            Whether to follow a link at the end of the path.
        link_count
            How many links have led to this path.
        """
        folder, _, name = path.rstrip("/").rpartition("/")
        if not name:
            return "/"
        real_folder = self._resolve_folder(folder or "/", link_count)
        if real_folder is None or name == ".":
            return real_folder
        if name == "..":
            return real_folder.rpartition("/")[0] or "/"
        real_path = f"{real_folder.rstrip('/')}/{name}"
        state = self._read_status(real_path)
        if state is None:
            self._record_absence(real_path)
            return None
        if stat.S_ISLNK(state.st_mode) and (follow or path.endswith("/")):
            return self._follow_link(real_path, link_count)
        return real_path

    def _resolve_folder(self, path: str, link_count: int) -> str | None:
        """Return the path of a folder without links, from the cache if it was asked for before.

        None if the folder does not exist, or the links to it are too many.
        """
        # The outermost folder comes first: a link can lead through thousands, too many for one call within another.
        unresolved_folders = []
        folder = path
        while folder not in self._real_paths:
            unresolved_folders.append(folder)
            folder = folder.rstrip("/").rpartition("/")[0] or "/"
        for folder in reversed(unresolved_folders):
            self._real_paths[folder] = self._resolve_path(folder, follow=True, link_count=link_count)
        return self._real_paths[path]

    def _follow_link(self, real_path: str, link_count: int) -> str | None:
        """Record that a path is a symbolic link, and return the path that it leads to.

        None after too many links, or if the link or its target does not exist.
        """
        self.record_answer("l", real_path)
        if link_count >= _MAX_LINKS:
            return None
        try:
            target = os.readlink(real_path)  # noqa: PTH115 - as text
        except OSError:
            return None
        folder = real_path.rpartition("/")[0]
        return self._resolve_path(
            target if target.startswith("/") else f"{folder}/{target}", follow=True, link_count=link_count + 1
        )

    def _read_status(self, real_path: str) -> os.stat_result | None:
        """Return the status of a file; None if it does not exist, or if the program cannot see it."""
        if real_path in self._missing_paths or not (
            self._is_own(real_path) or self._is_visible(real_path) or self._is_above(real_path)
        ):
            return None
        try:
            return os.lstat(real_path)
        except OSError:
            return None

    def _record_absence(self, real_path: str) -> None:
        """Record that a file does not exist, if the program could see it."""
        if self._is_own(real_path):
            self.tree_answers["absent", self._make_path_relative(real_path)] = ()
        elif self._is_visible(real_path):
            self.host_answers["absent", real_path] = ()

    def _is_own(self, real_path: str) -> bool:
        """Return whether a path lies in the tree of the build."""
        return real_path == self._tree or real_path.startswith(f"{self._tree}/")

    def _is_above(self, real_path: str) -> bool:
        """Return whether a path is a parent folder of the tree."""
        return self._tree.startswith(f"{real_path.rstrip('/')}/")

    def _is_visible(self, real_path: str) -> bool:
        """Return whether answers about a path outside the tree are recorded: only if the program can see it as well.

        The parent folders of the tree are no part of the answers, because in a sandbox they are not those of the host.
        """
        if self._is_above(real_path):
            return False
        sandbox = self._program_tree.sandbox
        if sandbox is None:
            return True
        visible_folders = (*_VISIBLE_FOLDERS, *sandbox.readable_folders)
        return any(real_path == folder or real_path.startswith(f"{folder}/") for folder in visible_folders)

    def _make_path_relative(self, real_path: str) -> str:
        return real_path[len(self._tree) + 1 :]

    def _read_host_answer(self, kind: str, real_path: str) -> Answer:
        """Return what identifies a file outside of the build, such as a library, without reading its content.

        A folder is identified by its place on the disk; a question about its entries (``d``) also depends on its time.
        """
        try:
            status = os.lstat(real_path)
        except OSError:
            return ("absent",)
        if stat.S_ISDIR(status.st_mode):
            return (status.st_dev, status.st_ino, status.st_mode, status.st_mtime_ns if kind == "d" else 0)
        return (status.st_mode, *identify_file(status))

    def _read_own_answer(self, kind: str, real_path: str) -> Answer:
        """Return the answer about a file of the build: its content, its link, or its state; unknown if unreadable.

        Parameters
        ----------
        kind
            A :data:`runner.dependencies.recorded_lookups.Kind`: ``c`` asks for the content, ``x`` for the extended
            attributes.
        """
        try:
            status = os.lstat(real_path)
            if kind == "x":
                return list_attributes(real_path)
            match stat.S_IFMT(status.st_mode):
                case stat.S_IFLNK:
                    return ("link", self._blank_out_tree(os.readlink(real_path)))  # noqa: PTH115 - as text
                case stat.S_IFDIR:
                    return self._answer_about_folder(kind, real_path, status)
                case stat.S_IFREG if kind == "c":
                    digest = hash_built_file(Path(real_path), self._program_tree.tree) or _UNKNOWN
                    return (status.st_mode, digest, _find_data_extents(real_path, status.st_size))
                case _:
                    return (*self._build_answer(status), list_attributes(real_path))
        except OSError:
            return (_UNKNOWN,)

    def _build_answer(self, status: os.stat_result) -> Answer:
        """Return the status of a file without the fields that differ from tree to tree, such as the inode number."""
        has_holes = status.st_blocks * _BLOCK_BYTES < status.st_size
        size = (status.st_size, has_holes, status.st_nlink)
        times = (self._normalize_time(status.st_mtime_ns), self._normalize_access_time(status.st_atime_ns))
        return (status.st_mode, status.st_rdev, *size, status.st_uid, status.st_gid, *times)

    def _answer_about_folder(self, kind: str, real_path: str, status: os.stat_result) -> Answer:
        """Return the answer about a folder of the build: its entries or its state."""
        made_names = self._made_names_by_folder.get(real_path, [])
        if kind == "d":
            with os.scandir(real_path) as entries:
                names = ((entry.name, stat.S_IFMT(entry.stat(follow_symlinks=False).st_mode)) for entry in entries)
                return tuple(sorted(name for name in names if self._program_tree.is_fresh or name[0] not in made_names))
        # Entries that the program has made change the folder's size and time.
        return (status.st_mode,) if kind == "c" or made_names else self._build_answer(status)

    def _normalize_time(self, time_ns: int) -> object:
        """Return a time, or ``built`` for any time since the build began."""
        began_at = self._program_tree.began_at
        return "built" if began_at and began_at <= time_ns <= self._now_ns else time_ns

    def _normalize_access_time(self, time_ns: int) -> object:
        """Return an access time in the future unchanged, and any other as ``past``, because each read changes it."""
        return time_ns if time_ns > time.time_ns() else "past"

    def _blank_out_tree(self, text: str) -> str:
        """Return a text with the path of the tree blanked out."""
        return text.replace(self._tree, "\0" * len(self._tree))


def list_attributes(path: str) -> Answer:
    """Return the extended attributes that a build can set; none if the file system has no extended attributes.

    Raises
    ------
    OSError
        The attributes cannot be read.
    """
    try:
        names = sorted(name for name in os.listxattr(path) if name.startswith(_COMPARED_ATTRIBUTES))
    except OSError as error:
        if error.errno != errno.ENOTSUP:
            raise
        return ()
    return tuple((name, os.getxattr(path, name)) for name in names)


def _find_data_extents(path: str, size: int) -> Answer:
    """Return the offsets at which the data extents of a file begin and end, as ``SEEK_DATA`` shows them."""
    edges: list[int] = []  # the beginning and the end of each extent in turn
    with open_regular(path, may_be_link=False) as file:
        while not edges or edges[-1] < size:
            try:
                edges.append(os.lseek(file.fileno(), edges[-1] if edges else 0, os.SEEK_DATA))
                edges.append(os.lseek(file.fileno(), edges[-1], os.SEEK_HOLE))
            except OSError:
                break  # no more data
    return tuple(edges)
