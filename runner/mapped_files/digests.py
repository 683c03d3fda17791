"""What is in a file, as a digest: the same for the same program, wherever it was built."""

import hashlib
import importlib.util
import os
import re
import stat
import struct
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from runner.contract.report import hash_of
from runner.mapped_files.cache_state import LARGEST, identity_of

_BUILD_ID = re.compile(rb"\x04\0\0\0(\x14)\0\0\0\x03\0\0\0GNU\0.{20}", re.DOTALL)
"""The note that holds a program's build id: the size of its owner's name, its own size, its kind, the owner, the id."""
_ELF64_LITTLE_ENDIAN = b"\x7fELF\x02\x01"
_HEADER = struct.Struct("<32xQ14xHH")
"""Of the head of a program: where the segments are told of, in how many bytes each, and how many there are."""
_SECTIONS = slice(40, 48)
"""Of the same head: where the sections are told of, behind everything that is loaded."""
_SEGMENT = struct.Struct("<I4xQ16xQ")
"""Of a segment: its kind, where it begins in the file, and how long it is there."""
_LOAD = 1


def digest(path: Path) -> str:
    """Return the first 16 hex digits of the SHA-256 of a file; empty where it cannot be read or is very large."""
    return _digest_of(path, b"")


def digest_of_built(path: Path, tree: Path) -> str:
    """Return the same of a file that was built, whatever the name of the folder in which that was.

    A compiler notes the folder, whose name changes with the revision and whose length does not. The linker makes the
    build id of all bytes, of that name too. So both are left out, and so is what is not loaded. Nothing is said of what
    a link leads to from there: a stranger may have made it.
    """
    return _digest_of(path, os.fsencode(tree)) if path.resolve() == path else ""


def together(digests: Iterable[tuple[str, str]]) -> str:
    """Return one digest for many, by their names; empty where one of them is."""
    known = sorted(set(digests))
    return hash_of(known) if all(value for _, value in known) else ""


def source_of(path: Path) -> Path:
    """Return the source that stands for a file: of a Python module's compiled form, its source."""
    if path.suffix == ".pyc" and path.parent.name == "__pycache__":
        try:
            source = Path(importlib.util.source_from_cache(str(path)))
        except ValueError:
            return path
        return source if source.is_file() else path
    return path


def _digest_of(path: Path, folder: bytes) -> str:
    try:
        state = path.lstat()
        readable = stat.S_ISREG(state.st_mode) and state.st_size <= LARGEST
        return _digest(path, identity_of(state), folder) if readable else ""
    except OSError:
        return ""


@lru_cache(maxsize=4096)
def _digest(path: Path, _identity: tuple[int, ...], folder: bytes) -> str:
    content = path.read_bytes()
    if folder:
        content = _loaded(content)
        # While it was built, the folder may have had the name of one that is not complete.
        for name in (folder.replace(b"/tree", b".partial/tree"), folder):
            content = content.replace(name, b"")
    return hashlib.sha256(content).hexdigest()[:16]


def _loaded(content: bytes) -> bytes:
    """Return what the kernel and the loader put into memory of a program; all of any other file.

    The rest says how it was built: names for debuggers, and where the sections are.
    """
    if content[:6] != _ELF64_LITTLE_ENDIAN:
        return content
    try:
        start, size, number = _HEADER.unpack_from(content)
        headers = [_SEGMENT.unpack_from(content, start + place * size) for place in range(number)]
    except struct.error:
        return content
    kept = content[: _SECTIONS.start] + bytes(8) + content[_SECTIONS.stop :]
    parts = [kept[offset : offset + length] for kind, offset, length in headers if kind == _LOAD]
    return _BUILD_ID.sub(lambda note: note[0][:16] + bytes(note[1][0]), b"".join(parts)) if parts else content
