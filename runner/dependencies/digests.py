"""Computes digests of the files that a program uses: equal for equal content, wherever it was built."""

import hashlib
import os
import stat
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from runner.contract.report import hash_document
from runner.system.real_path import resolve_links
from runner.system.regular_file import identify_file, read_regular

MAX_BYTES = 1 << 30
"""Size of the largest file whose content is compared."""
_DIGITS = 16
"""How many hexadecimal digits of a SHA-256 are kept."""


def hash_file(path: Path) -> str:
    """Return the first 16 hex digits of the SHA-256 of a file; empty if it cannot be read or is very large."""
    return _hash_regular_file(path, b"")


def hash_built_file(path: Path, tree: Path) -> str:
    """Return the digest of a file that was built in a tree, independent of the tree's path; empty if it cannot be read.

    The digest covers the whole file, because a program can read parts that the kernel does not load. Compilers write
    the path of the tree into their output; it changes with the revision, but has a fixed length. Each occurrence is
    therefore hashed as its position, not as its text: a byte that moves still changes the digest. The digest of a
    symbolic link is empty, because untrusted code may have created the link.
    """
    return _hash_regular_file(path, os.fsencode(tree)) if resolve_links(path) == path else ""


def combine_digests(digests: Iterable[tuple[str, str]]) -> str:
    """Return one digest for many pairs of name and digest; empty if one of the digests is empty."""
    pairs = sorted(set(digests))
    return hash_document(pairs) if all(digest for _, digest in pairs) else ""


def _hash_regular_file(path: Path, folder: bytes) -> str:
    """Return the digest of a file; empty if it is not regular, too large or unreadable.

    Parameters
    ----------
    folder
        The path of the tree in which the file was built, which counts only by its positions in the content. Empty for a
        file that was not built here.
    """
    try:
        status = path.lstat()
        is_small_file = stat.S_ISREG(status.st_mode) and status.st_size <= MAX_BYTES
        return _hash_content(path, identify_file(status), folder) if is_small_file else ""
    except OSError:
        return ""


@lru_cache(maxsize=16_384)
def _hash_content(path: Path, _identity: tuple[int, ...], folder: bytes) -> str:
    """Return the digest of a file's content; the path ``folder`` in it counts only by its positions.

    ``folder`` is empty for a file that was not built here. ``_identity`` changes with the content, and is passed only
    as a part of the cache's key.

    Raises
    ------
    OSError
        The file cannot be read, or is a link by now.
    """
    content = read_regular(path, MAX_BYTES, may_be_link=False)  # An untrusted program may have replaced it since.
    if not folder:
        return hashlib.sha256(content).hexdigest()[:_DIGITS]
    digest = hashlib.sha256()
    for part in content.split(folder):
        # The position of the folder's path, in place of the path. Its width is fixed, so that no content looks like it.
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.hexdigest()[:_DIGITS]
