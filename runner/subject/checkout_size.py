"""Decides from git's listing whether a commit can be checked out: kilobytes in git can fill a disk."""

from collections.abc import Iterable

LIST_FILES = ("ls-tree", "-r", "-t", "-l", "-z", "--full-tree", "--end-of-options")
"""Arguments of git, followed by a commit, that list what a checkout would hold.

Folders too (-t): otherwise equal and empty ones within each other are listed for ever, and nothing is printed of them.
"""
MAX_BYTES = 8 << 30
MAX_FILES = 500_000
MAX_LEVELS = 256
"""Deeper trees exceed the longest path of the kernel, and tools that clean up cannot enter them."""


def read_listing(entries: Iterable[str]) -> tuple[list[str], str]:
    """Return the entries of a checkout, and why it is refused; empty if it is not.

    It is read only as far as necessary: a few folders that contain each other many times can have 10,000,000,000 files.

    Parameters
    ----------
    entries
        What git lists: of each file and folder its mode, type, hash, size and path.
    """
    listing: list[str] = []
    total = 0
    for entry in entries:
        head, _, path = entry.partition("\t")
        size = head.split()[-1]
        total += int(size) if size.isdecimal() else 0
        listing.append(entry)
        if path.count("/") > MAX_LEVELS:
            return listing, f"the checkout has folders more than {MAX_LEVELS} levels deep"
        if total > MAX_BYTES:
            return listing, f"the checkout would take more than {MAX_BYTES:,} bytes"
        if len(listing) > MAX_FILES:
            return listing, f"the checkout has more than {MAX_FILES:,} files and folders"
    return listing, ""
