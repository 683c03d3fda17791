"""Finds the parts of a commit in a clone, and names a part that the clone lacks.

The parts are its files, and those to which it only refers: submodules, and files in Git LFS. Nothing is downloaded,
because an untrusted commit chooses what it refers to.
"""

import hashlib
import os
import re
import tempfile
from collections.abc import Iterable, Iterator
from io import BufferedReader
from pathlib import Path, PurePosixPath

from msgspec import Struct

from runner.errors import FaultwatchError
from runner.subject.checkout_size import LIST_FILES, read_listing
from runner.subject.hardened_git import COMPLETE_CLONE_HINT, Checkout, is_git_directory
from runner.subject.repository import Repository
from runner.system.regular_file import open_regular, read_regular

SUBMODULE_MODE = "160000"
"""The mode of a submodule in a tree of git."""
MAX_LEVELS = 8
"""The maximum depth of nested submodules."""
_MAX_POINTER_BYTES = 1024
"""The size in bytes below which a pointer must be, by the specification of Git LFS."""
_MAX_ATTRIBUTES_BYTES = 1 << 20
"""A larger file of attributes is not read."""
_MAX_PATHS_PER_CALL = 500
"""The number of paths in one command line."""
_POINTER = re.compile(
    rb"version https://git-lfs\.github\.com/spec/v1\n(?:ext-.*\n)*oid sha256:([0-9a-f]{64})\nsize (\d{1,15})\n"
)


class IncompleteCheckout(Exception):
    """A clone lacks objects to which a commit refers.

    Attributes
    ----------
    what
        Which objects are missing.
    remedy
        How to get them.
    """

    def __init__(self, what: str, remedy: str = "") -> None:
        super().__init__(f"{what}: {remedy}" if remedy else what)
        self.what = what
        self.remedy = remedy


class Entry(Struct, frozen=True):
    """A file or a submodule of a commit.

    Attributes
    ----------
    size
        The size in bytes; None for a submodule, and for a file that the clone lacks.
    """

    mode: str
    object_hash: str
    size: int | None
    path: str


def find_missing_part(repository: Repository, commit: str, level: int = 0) -> IncompleteCheckout | None:
    """Return the error for the first part of a commit that a clone lacks; None if it seems to have all of them.

    Parameters
    ----------
    level
        The depth of the commit as a nested submodule; submodules below the last level are not examined.

    Raises
    ------
    GitError
        If git fails.
    """
    listing, objection = read_listing(repository.iterate_git_entries(*LIST_FILES, commit))
    if objection:
        return None  # The commit is too large, which the checkout will refuse if the revision is needed.
    entries = list(parse_entries(listing))
    missing_entry = next((entry for entry in entries if entry.size is None and entry.mode != SUBMODULE_MODE), None)
    if missing_entry:
        return IncompleteCheckout(
            f"this clone lacks the file {make_path_printable(missing_entry.path)}", COMPLETE_CLONE_HINT
        )
    try:
        _refuse_missing_large_files(repository, commit, entries)
        submodule_entries = [entry for entry in entries if entry.mode == SUBMODULE_MODE]
        if not submodule_entries or level >= MAX_LEVELS:
            return None
        names = read_submodule_names(repository, commit)
        for submodule_entry in submodule_entries:
            if submodule_entry.path in names:  # Otherwise the folder is empty in every clone.
                submodule = open_submodule(
                    repository.get_common_directory(), names[submodule_entry.path], submodule_entry
                )
                missing_part = find_missing_part(submodule, submodule_entry.object_hash, level + 1)
                if missing_part:
                    return missing_part
    except IncompleteCheckout as incomplete:
        return incomplete
    return None


def _refuse_missing_large_files(repository: Repository, commit: str, entries: list[Entry]) -> None:
    """Raise if a commit contains a pointer of Git LFS to content that the clone lacks.

    Only the files that are needed to decide this are written: attributes, and files as small as a pointer.
    """
    attributes = [entry.path for entry in entries if _is_attributes(entry)]
    if not attributes:
        return
    with tempfile.TemporaryDirectory() as scratch:
        checkout = Checkout(Path(scratch, "tree"), Path(scratch, "index"))
        checkout.tree.mkdir()

        def write_files(paths: list[str]) -> None:
            for batch in _split_paths_into_batches(paths):
                repository.git("checkout-index", "--force", "--", *batch, checkout=checkout)

        repository.git("read-tree", commit, checkout=checkout)
        write_files(attributes)
        if _may_have_large_files(checkout.tree, entries):
            small_paths = [entry.path for entry in entries if _may_be_pointer(entry)]
            write_files(list_lfs_paths(repository, small_paths, checkout))
            for path, (digest, size) in list_pointers(entries, checkout.tree):
                find_large_file(repository, path, digest, size)  # Raises if the clone lacks it.


def parse_entries(listing: Iterable[str]) -> Iterator[Entry]:
    """Yield the files and submodules that ``git ls-tree`` lists."""
    for text in listing:
        head, _, path = text.partition("\t")
        mode, kind, object_hash, size = head.split()
        if kind != "tree":
            yield Entry(mode, object_hash, int(size) if size.isdecimal() else None, path)


def read_submodule_names(repository: Repository, commit: str) -> dict[str, str]:
    """Return the names of submodules by path, from the ``.gitmodules`` of a commit; empty without that file."""
    query = ("config", "--blob", f"{commit}:.gitmodules", "--null", "--get-regexp", r"^submodule\..*\.path$")
    try:
        text = repository.git(*query, decode_paths=True)
    except FaultwatchError:
        return {}
    pairs = (entry.partition("\n") for entry in text.split("\0") if entry)
    return {path: key.removeprefix("submodule.").removesuffix(".path") for key, _, path in pairs}


def open_submodule(store: Path, name: str, submodule_entry: Entry) -> Repository:
    """Return the clone of a submodule, which git keeps in the project's git directory (``store``).

    Raises
    ------
    IncompleteCheckout
        The clone is missing, or lacks the commit; or the name leads out of the folder with the clones.
    """
    if ".." in PurePosixPath(name).parts or name.startswith("/"):
        raise IncompleteCheckout(
            f"the name of the submodule {make_path_printable(submodule_entry.path)} in .gitmodules is not allowed: "
            f"{make_path_printable(name)}",
            "if the build does not need the submodule, write `incomplete = true` into [build]",
        )
    git_directory = store / "modules" / name
    if is_git_directory(git_directory):
        submodule = Repository(git_directory, name, bare=True)
        try:
            submodule.git("cat-file", "-e", f"{submodule_entry.object_hash}^{{commit}}")
            return submodule
        except FaultwatchError:
            pass
    raise IncompleteCheckout(
        f"this clone lacks the submodule {make_path_printable(submodule_entry.path)} at "
        f"{submodule_entry.object_hash[:12]}",
        "run `git submodule update --init --recursive` in your own clone, fetch the submodule's old commits, and use "
        "that clone; or, if the build does not need the submodule, write `incomplete = true` into [build]",
    )


def find_large_file(repository: Repository, path: str, digest: str, size: int, *, verify_digest: bool = False) -> Path:
    """Return the file in a clone's storage of Git LFS that has the content of a pointer.

    Parameters
    ----------
    verify_digest
        Whether to read the whole file and compare its digest.

    Raises
    ------
    IncompleteCheckout
        The file is missing or damaged.
    """
    source = repository.get_common_directory() / "lfs" / "objects" / digest[:2] / digest[2:4] / digest
    if not _is_intact(source, digest if verify_digest else "", size):
        raise IncompleteCheckout(
            f"this clone lacks an intact copy of {make_path_printable(path)}, which is stored in Git LFS",
            "run `git lfs fetch --all` in your own clone, after `git lfs fsck` if a copy is damaged, and use "
            "that clone",
        )
    return source


def list_pointers(entries: list[Entry], tree: Path) -> Iterator[tuple[str, tuple[str, int]]]:
    """Yield the path of each file that looks like a pointer of Git LFS, with the digest and the size of its content."""
    if not _may_have_large_files(tree, entries):
        return
    for entry in filter(_may_be_pointer, entries):
        pointer = _POINTER.fullmatch(_read_file(tree / entry.path, _MAX_POINTER_BYTES))
        if pointer:
            yield entry.path, (pointer[1].decode(), int(pointer[2]))


def _may_have_large_files(tree: Path, entries: list[Entry]) -> bool:
    """Return whether the attributes of git may assign files to Git LFS."""
    return any(
        b"lfs" in _read_file(tree / entry.path, _MAX_ATTRIBUTES_BYTES) for entry in entries if _is_attributes(entry)
    )


def _is_attributes(entry: Entry) -> bool:
    """Return whether a file contains attributes of git, and is neither empty nor too large to be read."""
    return PurePosixPath(entry.path).name == ".gitattributes" and 0 < (entry.size or 0) <= _MAX_ATTRIBUTES_BYTES


def _may_be_pointer(entry: Entry) -> bool:
    """Return whether a file has the size of a pointer of Git LFS."""
    return entry.mode.startswith("100") and 0 < (entry.size or 0) < _MAX_POINTER_BYTES


def list_lfs_paths(repository: Repository, paths: list[str], checkout: Checkout) -> list[str]:
    """Return the paths to which the attributes of a checkout assign the filter of Git LFS."""
    lfs_paths: list[str] = []
    for batch in _split_paths_into_batches(paths):
        text = repository.git("check-attr", "-z", "filter", "--", *batch, checkout=checkout, decode_paths=True)
        fields = text.split("\0")  # Three fields for each path: the path, the attribute, its value.
        lfs_paths += [path for path, value in zip(fields[::3], fields[2::3], strict=False) if value == "lfs"]
    return lfs_paths


def _split_paths_into_batches(paths: list[str]) -> Iterator[list[str]]:
    """Yield the paths in batches that fit into a command line."""
    return (paths[start : start + _MAX_PATHS_PER_CALL] for start in range(0, len(paths), _MAX_PATHS_PER_CALL))


def _is_intact(file: Path, digest: str, size: int) -> bool:
    """Return whether a file has this size and, if a digest is given, this digest."""
    try:
        with open_regular(file) as stream:
            return stream.seek(0, 2) == size and (not digest or _compute_digest(stream) == digest)
    except OSError:
        return False


def _compute_digest(stream: BufferedReader) -> str:
    """Return the SHA-256 of a whole file."""
    stream.seek(0)
    return hashlib.file_digest(stream, "sha256").hexdigest()


def make_path_printable(path: str) -> str:
    """Return a path as text that can be stored and printed."""
    return os.fsencode(path).decode(errors="replace")


def _read_file(file: Path, limit: int) -> bytes:
    """Return the content of a small file; empty if it cannot be read."""
    try:
        return read_regular(file, limit, may_be_link=False)
    except OSError:
        return b""
