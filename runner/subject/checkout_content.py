"""Writes all files of a commit, including those to which it only refers: submodules, and files in Git LFS.

Only content that the clone has is used. Nothing is downloaded, and neither hooks nor filters run, because an untrusted
commit chooses what it refers to. All files get the same time, :data:`CHECKOUT_TIME`.
"""

import os
import shutil
import stat
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path

from msgspec import Struct, field

from runner.subject.checkout_size import LIST_FILES, MAX_BYTES, CheckoutTotal, read_listing
from runner.subject.hardened_git import Checkout
from runner.subject.repository import Repository
from runner.subject.submodules_and_lfs import (
    MAX_LEVELS,
    SUBMODULE_MODE,
    Entry,
    IncompleteCheckout,
    find_large_file,
    list_lfs_paths,
    list_pointers,
    make_path_printable,
    open_submodule,
    parse_entries,
    read_submodule_names,
)
from runner.system.tree_walk import TreeTooLarge, walk_tree

CHECKOUT_TIME = 1_577_836_800
"""The time of each file of a checkout, in seconds since 1970: the beginning of 2020."""


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
    entries = list(parse_entries(listing))
    with rules.skip_missing_if_allowed():
        _write_large_files(repository, entries, tree, rules.total)
    submodule_entries = [entry for entry in entries if entry.mode == SUBMODULE_MODE]
    names = read_submodule_names(repository, commit) if submodule_entries else {}
    for submodule_entry in submodule_entries:
        if submodule_entry.path not in names:
            continue  # Without an entry in .gitmodules, the folder is empty in every clone.
        if level == MAX_LEVELS:
            raise TooLargeCheckout(f"submodules are nested more than {MAX_LEVELS} levels deep")
        with rules.skip_missing_if_allowed():
            submodule = open_submodule(repository.get_common_directory(), names[submodule_entry.path], submodule_entry)
            folder = tree / submodule_entry.path
            _remove_submodule_folder(folder, tree)
            _write_level(submodule, submodule_entry.object_hash, folder, rules, level + 1)


def _remove_submodule_folder(folder: Path, tree: Path) -> None:
    """Remove the empty folder that git has made for a submodule.

    Raises
    ------
    IncompleteCheckout
        A link in the path leads out of the tree, or there is a link or a file in place of the folder.
    """
    if not folder.parent.resolve().is_relative_to(tree.resolve()):
        raise IncompleteCheckout(f"the submodule {make_path_printable(folder.name)} is outside the project")
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise IncompleteCheckout(f"the submodule {make_path_printable(folder.name)} is not a folder")
    if folder.exists():
        folder.rmdir()


def _write_large_files(repository: Repository, entries: list[Entry], tree: Path, total: CheckoutTotal) -> None:
    """Replace the pointers of Git LFS by the files that the clone has.

    Raises
    ------
    IncompleteCheckout
        The clone lacks such a file, or it is damaged.
    TooLargeCheckout
        These files, and those of the levels before, are too large in total.
    """
    pointers = dict(list_pointers(entries, tree))
    # Without an index, git reads the attributes of the files in the tree.
    checkout = Checkout(tree.absolute(), tree.parent / "no-index")
    lfs_paths = list_lfs_paths(repository, list(pointers), checkout)
    total.lfs_bytes += sum(size for _, size in (pointers[path] for path in lfs_paths))
    if total.lfs_bytes > MAX_BYTES:
        raise TooLargeCheckout(f"the Git LFS files are larger than {MAX_BYTES:,} bytes in total")
    for path in lfs_paths:
        digest, size = pointers[path]
        source = find_large_file(repository, path, digest, size, verify_digest=True)
        target = tree / path
        mode = stat.S_IMODE(target.lstat().st_mode)
        target.unlink()
        shutil.copyfile(source, target)
        target.chmod(mode)
