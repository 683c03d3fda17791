"""Decides from git's listing whether a commit can be checked out: a commit of a few kilobytes can fill a disk."""

from collections.abc import Iterable

from msgspec import Struct

LIST_FILES = ("ls-tree", "-r", "-t", "-l", "-z", "--full-tree", "--end-of-options")
"""Arguments of git, to be followed by a commit, that list the files and folders that a checkout would contain.

Folders are listed too (``-t``). Otherwise git would traverse identical folders without files, nested in each other, for
ever, and print nothing that could be counted.
"""
MAX_BYTES = 8 << 30
"""The largest size of all files together."""
MAX_FILES = 500_000
"""The largest number of files and folders."""
MAX_LEVELS = 256
"""The maximum depth of a tree. Paths in deeper trees are too long for the kernel, so tools cannot remove them."""


class CheckoutTotal(Struct):
    """What a checkout contains so far, including its submodules: a commit can refer to the same submodule many times.

    Attributes
    ----------
    files
        The number of files and folders.
    bytes
        The size of all files, as git has them.
    lfs_bytes
        The size of the files in Git LFS.
    """

    files: int = 0
    bytes: int = 0
    lfs_bytes: int = 0


def read_listing(entries: Iterable[str], total: CheckoutTotal | None = None) -> tuple[list[str], str]:
    """Return the entries of a checkout, and why it is refused (empty if it is not).

    The listing is read only up to the limits: a few folders that contain each other many times can have ten billion
    files.

    Parameters
    ----------
    entries
        The lines that git prints: mode, type, hash, size and path of each file and folder.
    total
        What the checkout contains besides, to which the entries are added; None if they are the whole checkout.
    """
    total = total or CheckoutTotal()
    listing: list[str] = []
    for entry in entries:
        head, _, path = entry.partition("\t")
        size = head.split()[-1]
        total.bytes += int(size) if size.isdecimal() else 0
        total.files += 1
        listing.append(entry)
        if path.count("/") > MAX_LEVELS:
            return listing, f"the checkout would have folders more than {MAX_LEVELS} levels deep"
        if total.bytes > MAX_BYTES:
            return listing, f"the checkout would take more than {MAX_BYTES >> 30} GiB, the largest that is built"
        if total.files > MAX_FILES:
            return listing, f"the checkout would have more than {MAX_FILES:,} files and folders"
    return listing, ""
