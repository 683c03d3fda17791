"""The answers to a program's file lookups in a built tree.

If all answers are the same in two trees, the program cannot tell the trees apart. The answers describe the tree as it
was built, without the files that the program itself made.

All times within the making of a tree count as equal, because each build has its own times. The path of the tree is
replaced in contents and links; all trees have paths of the same length.
"""

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

CHECKOUT_TIME = 1_577_836_800
"""The time of each file of a checkout, in seconds since 1970: the beginning of 2020."""
_COMPARED_ATTRIBUTES = ("user.", "system.posix_acl_")
"""Others are labels of the host, by path."""
_MAX_LINKS = 40
"""Links in one path, as in the kernel."""
_VISIBLE_FOLDERS = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc")
_UNKNOWN = "unknown"

Answer = tuple[object, ...]


class Place(Struct, frozen=True):
    """A tree in which a program runs.

    Attributes
    ----------
    tree
        The tree, without links in its path.
    began
        The time at which the making of the tree began, in nanoseconds since the epoch; 0 if unknown.
    sandbox
        The sandbox that confines the program; None without a sandbox.
    is_fresh
        Whether nothing has run in the tree yet, so that it does not contain files that the program makes.
    """

    tree: Path
    began: int = 0
    sandbox: Sandbox | None = None
    is_fresh: bool = False


class Answers(Struct, frozen=True):
    """The answers to the file lookups of a program, by kind and path.

    Attributes
    ----------
    own
        The answers about files in the tree; paths are relative to the tree.
    elsewhere
        The answers about other files: their identities.
    """

    own: Mapping[tuple[str, str], Answer]
    elsewhere: Mapping[tuple[str, str], Answer]

    @property
    def digest(self) -> str:
        """A digest of the answers about the tree; empty if one of them is unknown."""
        if not self.own or any(_UNKNOWN in answer for answer in self.own.values()):
            return ""
        # As ASCII: names of files need not be text.
        return hash_document([[kind, ascii(path), ascii(answer)] for (kind, path), answer in sorted(self.own.items())])


class AnsweredLookups(Struct, frozen=True):
    """The file lookups of a program in a tree, with their answers."""

    place: Place
    lookups: Lookups
    answers: Answers

    def has_same_answers_in(self, tree: Path, began: int) -> bool:
        """Return whether the lookups have the same answers in another tree, in which nothing has run yet."""
        lookups = move_lookups(self.lookups, self.place.tree, tree)
        return answer_lookups(Place(tree, began, self.place.sandbox, is_fresh=True), lookups) == self.answers


def answer_lookups(place: Place, lookups: Lookups) -> Answers:
    """Return the answers to lookups in the present state of a tree."""
    reader = _Reader(place, lookups.made)
    for kind, path in lookups.entries:
        reader.answer(kind, path)
    return Answers(reader.own, reader.elsewhere)


def move_lookups(lookups: Lookups, tree: Path, other: Path) -> Lookups:
    """Return lookups in one tree as lookups in another tree: with paths of the other tree."""
    old_tree, new_tree = f"{tree}", f"{other}"

    def move_path(path: str) -> str:
        return new_tree + path[len(old_tree) :] if path == old_tree or path.startswith(f"{old_tree}/") else path

    entries = frozenset((kind, move_path(path)) for kind, path in lookups.entries)
    made, changed = (frozenset(map(move_path, paths)) for paths in (lookups.made, lookups.changed))
    return Lookups(entries, made, changed, lookups.untraced)


class _Reader:
    """Looks paths up as the kernel does, component by component, and notes each link on the way."""

    def __init__(self, place: Place, made: Iterable[str]) -> None:
        self._place = place
        self._tree = str(place.tree)
        made = [os.path.normpath(path) for path in made]
        self._missing = frozenset(() if place.is_fresh else made)
        """Files that exist only because the program has made them."""
        self._folders_of_made: dict[str, list[str]] = {}
        for path in made:
            folder, _, name = path.rpartition("/")
            self._folders_of_made.setdefault(folder, []).append(name)
        self._real: dict[str, str | None] = {"/": "/"}
        """The real path of each folder that was looked up; None if it does not exist."""
        self._now = time.time_ns()
        self.own: dict[tuple[str, str], Answer] = {}
        self.elsewhere: dict[tuple[str, str], Answer] = {}

    def answer(self, kind: str, path: str) -> None:
        """Record the answer to one question: of a kind, about a path."""
        real = self._resolve_path(path, follow=kind != "l")
        if real is None:
            return  # The missing file was recorded while the path was resolved.
        if self._is_own(real):
            self.own[kind, self._make_relative(real)] = self._read_own_answer(kind, real)
        elif self._is_visible(real):
            self.elsewhere[kind, real] = self._identify_file(kind, real)

    def _resolve_path(self, path: str, *, follow: bool, links: int = 0) -> str | None:
        """Return the path without links; None if it does not exist."""
        folder, _, name = path.rstrip("/").rpartition("/")
        if name in {"", ".", ".."}:
            below = self._resolve_folder(folder or "/", links) if name else "/"
            return below.rpartition("/")[0] or "/" if name == ".." and below else below
        real_folder = self._resolve_folder(folder or "/", links)
        if real_folder is None:
            return None
        real = f"{real_folder.rstrip('/')}/{name}"
        state = self._read_status(real)
        if state is None:
            self._record_absence(real)
            return None
        if stat.S_ISLNK(state.st_mode) and (follow or path.endswith("/")):
            return self._follow_link(real, links)
        return real

    def _resolve_folder(self, path: str, links: int) -> str | None:
        if path not in self._real:
            self._real[path] = self._resolve_path(path, follow=True, links=links)
        return self._real[path]

    def _follow_link(self, real: str, links: int) -> str | None:
        """Record that a path is a symbolic link, and return the path that it leads to; None after too many links."""
        self.answer("l", real)
        if links >= _MAX_LINKS:
            return None
        try:
            target = os.readlink(real)  # noqa: PTH115 - as text
        except OSError:
            return None
        folder = real.rpartition("/")[0]
        return self._resolve_path(
            target if target.startswith("/") else f"{folder}/{target}", follow=True, links=links + 1
        )

    def _read_status(self, real: str) -> os.stat_result | None:
        """Return the status of a file that the program can see; None if there is none."""
        if real in self._missing or not (self._is_own(real) or self._is_visible(real) or self._is_above(real)):
            return None
        try:
            return os.lstat(real)
        except OSError:
            return None

    def _record_absence(self, real: str) -> None:
        """Record that a file does not exist, if the program could see it."""
        if self._is_own(real):
            self.own["absent", self._make_relative(real)] = ()
        elif self._is_visible(real):
            self.elsewhere["absent", real] = ()

    def _is_own(self, real: str) -> bool:
        """Return whether a path lies in the tree of the build."""
        return real == self._tree or real.startswith(f"{self._tree}/")

    def _is_above(self, real: str) -> bool:
        """Return whether a path is a parent folder of the tree."""
        return self._tree.startswith(f"{real.rstrip('/')}/")

    def _is_visible(self, real: str) -> bool:
        """Return whether the runner may look at a file: only if the program that named it can see it, too."""
        if self._is_above(real):
            return False
        sandbox = self._place.sandbox
        if sandbox is None:
            return True
        visible = (*_VISIBLE_FOLDERS, *(folder for folder in sandbox.readable))
        return any(real == folder or real.startswith(f"{folder}/") for folder in visible)

    def _make_relative(self, real: str) -> str:
        return real[len(self._tree) + 1 :]

    def _identify_file(self, kind: str, real: str) -> Answer:
        """Return what identifies a file outside of the build, without reading its content."""
        try:
            state = os.lstat(real)
        except OSError:
            return ("absent",)
        if stat.S_ISDIR(state.st_mode):
            return (state.st_dev, state.st_ino, state.st_mode, state.st_mtime_ns if kind == "d" else 0)
        return (state.st_mode, *identify_file(state))

    def _read_own_answer(self, kind: str, real: str) -> Answer:
        """Return the answer about a file of the build: its content, its link, or its state."""
        try:
            state = os.lstat(real)
            if kind == "x":
                return _list_attributes(real)
            match stat.S_IFMT(state.st_mode):
                case stat.S_IFLNK:
                    return ("link", self._strip_place(os.readlink(real)))  # noqa: PTH115 - as text
                case stat.S_IFDIR:
                    return self._answer_about_folder(kind, real, state)
                case stat.S_IFREG if kind == "c":
                    digest = hash_built_file(Path(real), self._place.tree) or _UNKNOWN
                    return (state.st_mode, digest, _find_data_extents(real, state.st_size))
                case _:
                    return (*self._build_answer(state), _list_attributes(real))
        except OSError:
            return (_UNKNOWN,)

    def _build_answer(self, state: os.stat_result) -> Answer:
        """Return the status of a file without what differs from tree to tree, such as the inode number."""
        has_holes = state.st_blocks * 512 < state.st_size
        size = (state.st_size, has_holes, state.st_nlink)
        times = (self._normalize_time(state.st_mtime_ns), self._normalize_access_time(state.st_atime_ns))
        return (state.st_mode, state.st_rdev, *size, state.st_uid, state.st_gid, *times)

    def _answer_about_folder(self, kind: str, real: str, state: os.stat_result) -> Answer:
        """Return the answer about a folder of the build: its entries or its state."""
        made = self._folders_of_made.get(real, [])
        if kind == "d":
            with os.scandir(real) as entries:
                names = ((entry.name, stat.S_IFMT(entry.stat(follow_symlinks=False).st_mode)) for entry in entries)
                return tuple(sorted(name for name in names if self._place.is_fresh or name[0] not in made))
        # The entries that the program makes itself change the rest.
        return (state.st_mode,) if kind == "c" or made else self._build_answer(state)

    def _normalize_time(self, moment: int) -> object:
        """Return a time, or ``built`` for any time since the build began."""
        return "built" if self._place.began and self._place.began <= moment <= self._now else moment

    def _normalize_access_time(self, moment: int) -> object:
        """Return an access time in the future as it is, and any other as ``past``, because each read changes it."""
        return moment if moment > time.time_ns() else "past"

    def _strip_place(self, text: str) -> str:
        """Return a text with the path of the tree blanked out."""
        return text.replace(self._tree, "\0" * len(self._tree))


def _list_attributes(path: str) -> Answer:
    """Return the extended attributes that a build can set."""
    names = sorted(name for name in os.listxattr(path) if name.startswith(_COMPARED_ATTRIBUTES))
    return tuple((name, os.getxattr(path, name)) for name in names)


def _find_data_extents(path: str, size: int) -> Answer:
    """Return the offsets at which the data extents of a file begin and end, as ``SEEK_DATA`` shows them."""
    edges: list[int] = []
    with open_regular(path, links=False) as file:
        while not edges or edges[-1] < size:
            try:
                edges.append(os.lseek(file.fileno(), edges[-1] if edges else 0, os.SEEK_DATA))
                edges.append(os.lseek(file.fileno(), edges[-1], os.SEEK_HOLE))
            except OSError:
                break  # no more data
    return tuple(edges)
