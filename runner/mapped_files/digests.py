"""Computes digests of the files that a program maps: equal for equal programs, wherever they were built."""

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
from runner.mapped_files.cache_preparation import MOST_BYTES, identity_of
from runner.system.regular_file import read_regular

_BUILD_ID = re.compile(
    rb"(\x04\0\0\0(?:\x14\0\0\0\x03\0\0\0GNU\0|[\x14-\xff]\0\0\0\x04\0\0\0Go\0\0))"
    rb"((?<=GNU\0).{20}|(?<=Go\0\0)[A-Za-z0-9_/-]{20,255})",
    re.DOTALL,
)
"""The ELF note with the build id of GNU's linker or of Go's: the length of its owner's name, the length of the id, the
type, the owner; and the id. Go computes it from the name of the folder, too."""
_ELF64_LITTLE_ENDIAN = b"\x7fELF\x02\x01"
_HEADER = struct.Struct("<32xQ14xHH")
"""Of the ELF header: the offset of the program headers, the size of each, and their number."""
_SECTIONS = struct.Struct("<40xQ10xHH")
"""Of the ELF header: the offset of the section headers, the size of each, and their number."""
_SECTION = struct.Struct("<8xQ48x")
"""Of a section header: the flags. The offset in the file and the size are its bytes 24 to 40."""
_LOADED = 2
_SECTION_HEADER_OFFSET = slice(40, 48)
_SEGMENT = struct.Struct("<I4xQ16xQ")
"""Of a program header: the type of its segment, the offset in the file, and the size in the file."""
_LOAD = 1


def digest_file(path: Path) -> str:
    """Return the first 16 hex digits of the SHA-256 of a file; empty if it cannot be read or is very large."""
    return _digest_of(path, b"")


def digest_built_file(path: Path, tree: Path) -> str:
    """Return the digest of a file that was built in a tree, independent of the tree's name.

    Compilers write the name of the folder into their output. It changes with the revision, its length does not. The
    linker computes the build id from all bytes, that name included. Both are left out, and so is everything that is not
    loaded into memory. The digest of a symbolic link is empty, because untrusted code may have created it.
    """
    return _digest_of(path, os.fsencode(tree)) if path.resolve() == path else ""


def combine_digests(digests: Iterable[tuple[str, str]]) -> str:
    """Return one digest for many pairs of name and digest; empty if one of the digests is empty."""
    pairs = sorted(set(digests))
    return hash_of(pairs) if all(digest for _, digest in pairs) else ""


def source_of(path: Path) -> Path:
    """Return the source of a compiled Python module, and any other path unchanged."""
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
        readable = stat.S_ISREG(state.st_mode) and state.st_size <= MOST_BYTES
        return _digest(path, identity_of(state), folder) if readable else ""
    except OSError:
        return ""


@lru_cache(maxsize=4096)
def _digest(path: Path, _identity: tuple[int, ...], folder: bytes) -> str:
    content = read_regular(path, MOST_BYTES, links=False)  # an untrusted program may have exchanged it meanwhile
    if folder:
        content = _loaded_content(content)
        content = content.replace(folder, b"")
    return hashlib.sha256(content).hexdigest()[:16]


def _loaded_content(content: bytes) -> bytes:
    """Return the part of an ELF file that is loaded into memory; of any other file, all of it.

    The rest, such as debug information, depends on how the file was built. So do the section headers, which say where
    that lies. Go's linker writes them right behind the program headers, into a page that is loaded: there, only the
    places and sizes of sections that are not loaded are left out.
    """
    if content[:6] != _ELF64_LITTLE_ENDIAN:
        return content
    try:
        start, size, number = _HEADER.unpack_from(content)
        segments = [_SEGMENT.unpack_from(content, start + index * size) for index in range(number)]
        behind = start + size * number
        sections, size, number = _SECTIONS.unpack_from(content)
    except struct.error:
        return content
    if sum(length for kind, _, length in segments if kind == _LOAD) > len(content):
        return content  # Segments that overlap without end would make gigabytes of a small file.
    without_sections = bytearray(content)
    without_sections[_SECTION_HEADER_OFFSET] = bytes(8)
    # Nothing else, or a file could hide any of its content.
    if sections == behind and size == _SECTION.size:
        for entry in range(behind, min(behind + size * number, len(content) - size), size):
            flags, place = _SECTION.unpack_from(content, entry)[0], slice(entry + 24, entry + 40)
            without_sections[place] = content[place] if flags & _LOADED else bytes(16)
    loaded = [without_sections[offset : offset + length] for kind, offset, length in segments if kind == _LOAD]
    return _BUILD_ID.sub(lambda note: note[1] + bytes(len(note[2])), b"".join(loaded)) if loaded else content
