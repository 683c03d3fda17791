"""Decides from git's own list whether a commit can be checked out: what takes kilobytes in git can fill a disk."""

LIST_FILES = ("ls-tree", "-r", "-l", "-z", "--full-tree", "--end-of-options")
"""Arguments of git, followed by a commit, that list what a checkout would hold."""
MOST_BYTES = 8 << 30
MOST_FILES = 500_000
MOST_LEVELS = 256
"""Deeper trees exceed the longest path of the kernel, and tools that clean up cannot enter them."""


def objection_to(listing: str) -> str:
    """Return why a commit is not checked out; empty if nothing speaks against it.

    Parameters
    ----------
    listing
        What git printed: for each file its mode, type, hash, size and path.
    """
    total = files = 0
    for entry in filter(None, listing.split("\0")):
        head, _, path = entry.partition("\t")
        size = head.split()[-1]
        total += int(size) if size.isdecimal() else 0
        files += 1
        if path.count("/") > MOST_LEVELS:
            return f"the checkout has folders more than {MOST_LEVELS} levels deep"
    if total > MOST_BYTES:
        return f"the checkout would take {total:,} bytes, more than {MOST_BYTES:,}"
    return f"the checkout has {files:,} files, more than {MOST_FILES:,}" if files > MOST_FILES else ""
