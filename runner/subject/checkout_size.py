"""Decides from git's listing whether a commit can be checked out: a commit of a few kilobytes can fill a disk."""

from collections.abc import Iterable

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


def read_listing(entries: Iterable[str]) -> tuple[list[str], str]:
    """Return the entries of a checkout, and why it is refused (empty if it is not).

    The listing is read only up to the limits: a few folders that contain each other many times can have ten billion
    files.

    Parameters
    ----------
    entries
        The lines that git prints: mode, type, hash, size and path of each file and folder.
    """
    listing: list[str] = []
    total_bytes = 0
    for entry in entries:
        head, _, path = entry.partition("\t")
        size = head.split()[-1]
        total_bytes += int(size) if size.isdecimal() else 0
        listing.append(entry)
        if path.count("/") > MAX_LEVELS:
            return listing, f"the checkout has folders more than {MAX_LEVELS} levels deep"
        if total_bytes > MAX_BYTES:
            return listing, f"the checkout would take more than {MAX_BYTES:,} bytes"
        if len(listing) > MAX_FILES:
            return listing, f"the checkout has more than {MAX_FILES:,} files and folders"
    return listing, ""
