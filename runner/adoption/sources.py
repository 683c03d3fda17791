"""The tracked files of a commit, from which ``init`` detects how to build and run a project."""

import re
from collections.abc import Callable
from functools import cached_property
from itertools import chain, count
from pathlib import PurePosixPath

from msgspec import Struct

from runner.errors import FaultwatchError
from runner.subject.repository import Repository

MAX_FILE_CHARACTERS = 256 * 1024
"""How many characters at the beginning of a file are read."""
MAX_DEPTH = 2
"""How many folders below the top a build file may be."""
_PLAIN_PATH = re.compile(r"[\w./+@%=:,-]+")
_RECENT_COMMITS, _RECENT_SECONDS = 100, 365 * 24 * 3600
"""A file that was changed neither by this many newest commits nor in this time before the newest commit, whichever is
shorter, will probably stay the same."""
_MAX_FILES_WITHOUT_SUFFIX = 50
"""How many files without a suffix are read, those nearest to the top, to find data."""
_TESTED_CHARACTERS, _NUMBER_CHARACTERS, _MIN_NUMBER_SHARE = 1000, frozenset("0123456789.,:;+-eE \t\n"), 0.95
"""A file is data if at least this share of its first characters belongs to numbers."""
_NEWEST_COMMITS = 20
"""Files that one of these commits has changed are left out in any case: they are measured first."""


class Sources(Struct, frozen=True, dict=True):
    """The tracked files of a commit.

    Attributes
    ----------
    name
        The name of the project.
    files
        Paths of the files, relative to the top.
    read
        Returns the text of a file; empty if it cannot be read.
    changed_files
        The files that the newest commits have changed.
    """

    name: str
    files: tuple[str, ...]
    read: Callable[[str], str]
    changed_files: frozenset[str] = frozenset()

    @cached_property
    def _file_set(self) -> frozenset[str]:
        """The files as a set, for fast look-ups."""
        return frozenset(self.files)

    def has(self, *names: str) -> bool:
        """Return whether one of these files exists."""
        return not self._file_set.isdisjoint(names)

    def read_text(self, name: str) -> str:
        """Return the text of a file; empty if there is none."""
        return self.read(name)[:MAX_FILE_CHARACTERS] if name in self._file_set else ""

    def has_folder(self, name: str) -> bool:
        """Return whether a folder of this name is at the top."""
        return any(file.startswith(f"{name}/") for file in self.files)

    def find_files_by_suffix(self, *suffixes: str) -> list[str]:
        """Return the files with one of these suffixes."""
        return [file for file in self.files if PurePosixPath(file).suffix in suffixes]

    @cached_property
    def number_files(self) -> list[str]:
        """The first few files without a suffix that consist of numbers, as the data of statistics programs does."""
        names = [file for file in self.files if "." not in PurePosixPath(file).name and not is_third_party(file)]
        nearest_files = sorted(names, key=lambda file: (file.count("/"), file))[:_MAX_FILES_WITHOUT_SUFFIX]
        return [file for file in nearest_files if is_plain_path(file) and _is_mostly_numbers(self.read_text(file))]

    def find_nearest_file(self, *names: str) -> str | None:
        """Return the file with one of these names that is nearest to the top; None if all are deeper than two levels.

        Among files at the same level, an earlier name wins.
        """
        return next(iter(self.list_nearest_files(*names)), None)

    def list_nearest_files(self, *names: str) -> list[str]:
        """Return the files with one of these names that are nearest to the top, at most two folders below it.

        All of them are at the same level. They are in the order of the names. Files of tests and examples count only if
        there are no others: the programs of some libraries are all there. Files of third parties and documentation
        never count.
        """
        ranked_files = sorted(
            (is_auxiliary(file), file.count("/"), names.index(PurePosixPath(file).name), file)
            for file in self.files
            if PurePosixPath(file).name in names and file.count("/") <= MAX_DEPTH and not _is_unusable(file)
        )
        return [
            file for is_of_tests, depth, _, file in ranked_files if (is_of_tests, depth) == tuple(ranked_files[0][:2])
        ]

    @property
    def build_folder(self) -> str:
        """A name for the build folder that no tracked file or folder has."""
        names = chain(("build", "_build", "build-faultwatch"), (f"build-faultwatch-{number}" for number in count(2)))
        return next(name for name in names if not self.has(name) and not self.has_folder(name))


THIRD_PARTY_FOLDERS = (
    "third_party",
    "third-party",
    "thirdparty",
    "vendor",
    "external",
    "extern",
    "deps",
    "_deps",
    "subprojects",
)
"""Folders in which projects keep third-party sources."""


def is_plain_path(path: str) -> bool:
    """Return whether a path needs no quotes, neither in a command line nor in a shell."""
    return _PLAIN_PATH.fullmatch(path) is not None


def choose_program_name(sources: "Sources", file: str) -> str:
    """Return the name of the program that is compiled from a source: its path with dashes, and no existing name."""
    name = file.rpartition(".")[0].replace("/", "-")
    return f"{name}.out" if sources.has(name) or sources.has_folder(name) else name


def _is_mostly_numbers(text: str) -> bool:
    """Return whether nearly all characters at the beginning of a text belong to numbers."""
    beginning = text[:_TESTED_CHARACTERS]
    n_number_characters = sum(character in _NUMBER_CHARACTERS for character in beginning)
    return len(beginning) == _TESTED_CHARACTERS and n_number_characters >= _MIN_NUMBER_SHARE * len(beginning)


def is_third_party(file: str) -> bool:
    """Return whether a path lies in a folder of third-party sources."""
    return not {part.lower() for part in PurePosixPath(file).parent.parts}.isdisjoint(THIRD_PARTY_FOLDERS)


_TEST_AND_EXAMPLE_FOLDERS = frozenset({"test", "tests", "examples"})
_UNUSABLE_FOLDERS = frozenset({"fuzz", "contrib", "doc", "docs", "man"})
"""Folders whose build files build nothing that is worth measuring."""


def is_auxiliary(file: str) -> bool:
    """Return whether a path lies in a folder of third-party sources, tests, examples or documentation."""
    folders = {part.lower() for part in PurePosixPath(file).parent.parts}
    return _is_unusable(file) or not folders.isdisjoint(_TEST_AND_EXAMPLE_FOLDERS)


def _is_unusable(file: str) -> bool:
    """Return whether a path lies in a folder of third-party sources, documentation, fuzzing or contributions."""
    folders = {part.lower() for part in PurePosixPath(file).parent.parts}
    return is_third_party(file) or not folders.isdisjoint(_UNUSABLE_FOLDERS)


def read_sources(repository: Repository, commit: str) -> Sources:
    """Return the files of a commit of a repository.

    Raises
    ------
    FaultwatchError
        git fails.
    """
    listing = repository.git("ls-tree", "-r", "-z", "--full-tree", "--name-only", commit)

    def read(name: str) -> str:
        try:
            return repository.git("cat-file", "blob", f"{commit}:{name}")
        except FaultwatchError:  # a submodule, or a file that a partial clone lacks
            return ""

    files = tuple(filter(None, listing.split("\0")))
    return Sources(repository.name, files, read, _list_changed_files(repository, commit).intersection(files))


def _list_changed_files(repository: Repository, commit: str) -> frozenset[str]:
    """Return the files that the newest commits have changed; empty if that is unknown."""
    listing = ("--format=", "--name-only", "--no-renames", "-z", commit)
    try:
        since = int(repository.git("log", "-1", "--format=%ct", commit)) - _RECENT_SECONDS
        changes = [
            repository.git("log", f"-{_NEWEST_COMMITS}", *listing),
            repository.git("log", f"-{_RECENT_COMMITS}", f"--since={max(since, 0)}", *listing),
        ]
    except FaultwatchError:  # a partial clone may lack the older trees
        return frozenset()
    return frozenset("\0".join(changes).split("\0"))
