"""Writes all files of a commit, including those to which it only refers: submodules, and files in Git LFS.

Only content that the clone has is used. Nothing is downloaded, and neither hooks nor filters run, because an untrusted
commit chooses what it refers to. All files get the same time, :data:`CHECKOUT_TIME`.
"""

import hashlib
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext, suppress
from io import BufferedReader
from pathlib import Path, PurePosixPath

from msgspec import Struct, field

from runner.errors import FaultwatchError
from runner.subject.checkout_size import LIST_FILES, MAX_BYTES, CheckoutTotal, read_listing
from runner.subject.hardened_git import COMPLETE_CLONE_HINT, Checkout, is_git_directory
from runner.subject.repository import Repository
from runner.system.regular_file import open_regular, read_regular
from runner.system.tree_walk import TreeTooLarge, walk_tree

CHECKOUT_TIME = 1_577_836_800
"""The time of each file of a checkout, in seconds since 1970: the beginning of 2020."""
_SUBMODULE_MODE = "160000"
"""The mode of a submodule in a tree of git."""
_MAX_LEVELS = 8
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


class TooLargeCheckout(Exception):
    """The files of a commit are too many or too large; the message names the limit."""


class _RefusalRules(Struct, frozen=True):
    """Decides whether :func:`write_commit` refuses commits that are too large or incomplete in the clone.

    Attributes
    ----------
    total
        What was listed and written so far, which the commit and all its submodules share.
    """

    refuse_large: bool
    refuse_incomplete: bool
    total: CheckoutTotal = field(default_factory=CheckoutTotal)

    def skip_missing_if_allowed(self) -> AbstractContextManager[None]:
        """Return the context for writing a part that the clone may lack: it suppresses the error if that is allowed."""
        return nullcontext() if self.refuse_incomplete else suppress(IncompleteCheckout)


class _Entry(Struct, frozen=True):
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


def write_commit(
    repository: Repository, commit: str, tree: Path, *, refuse_large: bool, refuse_incomplete: bool = True
) -> None:
    """Write all files of a commit to a new folder, including those of its submodules and of Git LFS.

    Parameters
    ----------
    refuse_large
        Whether to refuse commits that would fill the disk.
    refuse_incomplete
        Whether to refuse commits of which the clone lacks a part. Otherwise a missing submodule becomes an empty
        folder, and a missing file of Git LFS stays a pointer.

    Raises
    ------
    IncompleteCheckout
        If the clone lacks a part, and this is refused.
    TooLargeCheckout
        If the files are too many or too large.
    FaultwatchError
        If git fails.
    """
    _write_level(repository, commit, tree, _RefusalRules(refuse_large, refuse_incomplete))
    _set_times(tree)


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
    entries = list(_parse_entries(listing))
    missing_entry = next((entry for entry in entries if entry.size is None and entry.mode != _SUBMODULE_MODE), None)
    if missing_entry:
        return IncompleteCheckout(
            f"this clone lacks the file {_make_path_printable(missing_entry.path)}", COMPLETE_CLONE_HINT
        )
    try:
        _refuse_missing_large_files(repository, commit, entries)
        submodule_entries = [entry for entry in entries if entry.mode == _SUBMODULE_MODE]
        if not submodule_entries or level >= _MAX_LEVELS:
            return None
        names = _read_submodule_names(repository, commit)
        for submodule_entry in submodule_entries:
            if submodule_entry.path in names:  # Otherwise the folder is empty in every clone.
                submodule = _open_submodule(
                    repository.get_common_directory(), names[submodule_entry.path], submodule_entry
                )
                missing_part = find_missing_part(submodule, submodule_entry.object_hash, level + 1)
                if missing_part:
                    return missing_part
    except IncompleteCheckout as incomplete:
        return incomplete
    return None


def _refuse_missing_large_files(repository: Repository, commit: str, entries: list[_Entry]) -> None:
    """Raise if a commit contains a pointer of Git LFS to content that the clone lacks.

    Only the files that are needed to decide this are written: attributes, and files as small as a pointer.
    """
    attributes = [entry.path for entry in entries if _is_attributes(entry)]
    if not attributes:
        return
    with tempfile.TemporaryDirectory() as scratch:
        checkout = Checkout(Path(scratch, "tree"), Path(scratch, "index"))
        checkout.tree.mkdir()

        def write(paths: list[str]) -> None:
            for batch in _split_into_batches(paths):
                repository.git("checkout-index", "--force", "--", *batch, checkout=checkout)

        repository.git("read-tree", commit, checkout=checkout)
        write(attributes)
        if _may_have_large_files(checkout.tree, entries):
            small_paths = [entry.path for entry in entries if _may_be_pointer(entry)]
            write(_list_lfs_paths(repository, small_paths, checkout))
            for path, (digest, size) in _list_pointers(entries, checkout.tree):
                _find_large_file(repository, path, digest, size)  # Raises if the clone lacks it.


def _set_times(tree: Path) -> None:
    """Set the times of all files to the same time, which is the same for all commits.

    Otherwise git would determine the order of the times, and committed generated files could seem older than their
    sources. Also, a program or a build could see different times after a commit that changes nothing.
    """
    with suppress(TreeTooLarge):  # The caller refuses such a tree.
        for entry in walk_tree(tree):
            if entry.is_file(follow_symlinks=False):
                os.utime(entry.path, (CHECKOUT_TIME, CHECKOUT_TIME))


def _write_level(repository: Repository, commit: str, tree: Path, rules: _RefusalRules, level: int = 0) -> None:
    """Write the files of a commit and, recursively, those of its submodules.

    Raises
    ------
    IncompleteCheckout, TooLargeCheckout
        As :func:`write_commit` does.
    """
    git_entries = repository.iterate_git_entries(*LIST_FILES, commit)
    listing, objection = read_listing(git_entries, rules.total) if rules.refuse_large else (list(git_entries), "")
    if objection:
        raise TooLargeCheckout(objection)
    repository.export(commit, tree)
    entries = list(_parse_entries(listing))
    with rules.skip_missing_if_allowed():
        _write_large_files(repository, entries, tree, rules.total)
    submodule_entries = [entry for entry in entries if entry.mode == _SUBMODULE_MODE]
    names = _read_submodule_names(repository, commit) if submodule_entries else {}
    for submodule_entry in submodule_entries:
        if submodule_entry.path not in names:
            continue  # Without an entry in .gitmodules, the folder is empty in every clone.
        if level == _MAX_LEVELS:
            raise TooLargeCheckout(f"submodules are nested more than {_MAX_LEVELS} levels deep")
        with rules.skip_missing_if_allowed():
            submodule = _open_submodule(repository.get_common_directory(), names[submodule_entry.path], submodule_entry)
            folder = tree / submodule_entry.path
            _remove_submodule_folder(folder, tree)
            _write_level(submodule, submodule_entry.object_hash, folder, rules, level + 1)


def _parse_entries(listing: Iterable[str]) -> Iterator[_Entry]:
    """Yield the files and submodules that ``git ls-tree`` lists."""
    for text in listing:
        head, _, path = text.partition("\t")
        mode, kind, object_hash, size = head.split()
        if kind != "tree":
            yield _Entry(mode, object_hash, int(size) if size.isdecimal() else None, path)


def _read_submodule_names(repository: Repository, commit: str) -> dict[str, str]:
    """Return the names of submodules by path, from the ``.gitmodules`` of a commit; empty without that file."""
    query = ("config", "--blob", f"{commit}:.gitmodules", "--null", "--get-regexp", r"^submodule\..*\.path$")
    try:
        text = repository.git(*query, decode_paths=True)
    except FaultwatchError:
        return {}
    pairs = (entry.partition("\n") for entry in text.split("\0") if entry)
    return {path: key.removeprefix("submodule.").removesuffix(".path") for key, _, path in pairs}


def _open_submodule(store: Path, name: str, submodule_entry: _Entry) -> Repository:
    """Return the clone of a submodule, which git keeps in the project's git directory (``store``).

    Raises
    ------
    IncompleteCheckout
        The clone is missing, or lacks the commit.
    """
    parts = PurePosixPath(name).parts
    git_directory = store / "modules" / name
    if ".." not in parts and not name.startswith("/") and is_git_directory(git_directory):
        submodule = Repository(git_directory, name, bare=True)
        try:
            submodule.git("cat-file", "-e", f"{submodule_entry.object_hash}^{{commit}}")
            return submodule
        except FaultwatchError:
            pass
    raise IncompleteCheckout(
        f"this clone lacks the submodule {_make_path_printable(submodule_entry.path)} at "
        f"{submodule_entry.object_hash[:12]}",
        "run `git submodule update --init --recursive` in your own clone, fetch the submodule's old commits, and use "
        "that clone; or, if the build does not need the submodule, write `incomplete = true` into [build]",
    )


def _remove_submodule_folder(folder: Path, tree: Path) -> None:
    """Remove the empty folder that git has made for a submodule.

    Raises
    ------
    IncompleteCheckout
        A link in the path leads out of the tree, or there is a link or a file in place of the folder.
    """
    if not folder.parent.resolve().is_relative_to(tree.resolve()):
        raise IncompleteCheckout(f"the submodule {_make_path_printable(folder.name)} is outside the project")
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise IncompleteCheckout(f"the submodule {_make_path_printable(folder.name)} is not a folder")
    if folder.exists():
        folder.rmdir()


def _write_large_files(repository: Repository, entries: list[_Entry], tree: Path, total: CheckoutTotal) -> None:
    """Replace the pointers of Git LFS by the files that the clone has.

    Raises
    ------
    IncompleteCheckout
        The clone lacks such a file, or it is damaged.
    TooLargeCheckout
        These files, and those of the levels before, are too large in total.
    """
    pointers = dict(_list_pointers(entries, tree))
    # Without an index, git reads the attributes of the files in the tree.
    checkout = Checkout(tree.absolute(), tree.parent / "no-index")
    lfs_paths = _list_lfs_paths(repository, list(pointers), checkout)
    total.lfs_bytes += sum(size for _, size in (pointers[path] for path in lfs_paths))
    if total.lfs_bytes > MAX_BYTES:
        raise TooLargeCheckout(f"the Git LFS files are larger than {MAX_BYTES:,} bytes in total")
    for path in lfs_paths:
        digest, size = pointers[path]
        source = _find_large_file(repository, path, digest, size, verify_digest=True)
        target = tree / path
        mode = stat.S_IMODE(target.lstat().st_mode)
        target.unlink()
        shutil.copyfile(source, target)
        target.chmod(mode)


def _find_large_file(repository: Repository, path: str, digest: str, size: int, *, verify_digest: bool = False) -> Path:
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
            f"this clone lacks the content of {_make_path_printable(path)}, which is stored in Git LFS",
            "run `git lfs fetch --all` in your own clone, and use that clone",
        )
    return source


def _list_pointers(entries: list[_Entry], tree: Path) -> Iterator[tuple[str, tuple[str, int]]]:
    """Yield the path of each file that looks like a pointer of Git LFS, with the digest and the size of its content."""
    if not _may_have_large_files(tree, entries):
        return
    for entry in filter(_may_be_pointer, entries):
        pointer = _POINTER.fullmatch(_read_file(tree / entry.path, _MAX_POINTER_BYTES))
        if pointer:
            yield entry.path, (pointer[1].decode(), int(pointer[2]))


def _may_have_large_files(tree: Path, entries: list[_Entry]) -> bool:
    """Return whether the attributes of git may assign files to Git LFS."""
    return any(
        b"lfs" in _read_file(tree / entry.path, _MAX_ATTRIBUTES_BYTES) for entry in entries if _is_attributes(entry)
    )


def _is_attributes(entry: _Entry) -> bool:
    """Return whether a file contains attributes of git, and is neither empty nor too large to be read."""
    return PurePosixPath(entry.path).name == ".gitattributes" and 0 < (entry.size or 0) <= _MAX_ATTRIBUTES_BYTES


def _may_be_pointer(entry: _Entry) -> bool:
    """Return whether a file has the size of a pointer of Git LFS."""
    return entry.mode.startswith("100") and 0 < (entry.size or 0) < _MAX_POINTER_BYTES


def _list_lfs_paths(repository: Repository, paths: list[str], checkout: Checkout) -> list[str]:
    """Return the paths to which the attributes of a checkout assign the filter of Git LFS."""
    lfs_paths: list[str] = []
    for batch in _split_into_batches(paths):
        text = repository.git("check-attr", "-z", "filter", "--", *batch, checkout=checkout, decode_paths=True)
        fields = text.split("\0")  # Three fields for each path: the path, the attribute, its value.
        lfs_paths += [path for path, value in zip(fields[::3], fields[2::3], strict=False) if value == "lfs"]
    return lfs_paths


def _split_into_batches(paths: list[str]) -> Iterator[list[str]]:
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


def _make_path_printable(path: str) -> str:
    """Return a path as text that can be stored and printed."""
    return os.fsencode(path).decode(errors="replace")


def _read_file(file: Path, limit: int) -> bytes:
    """Return the content of a small file; empty if it cannot be read."""
    try:
        return read_regular(file, limit, may_be_link=False)
    except OSError:
        return b""
