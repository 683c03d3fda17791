"""Finds the libraries of this host that a program needs: as the loader does, but without executing anything."""

import os
import struct
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from pathlib import Path, PurePosixPath

from runner.environment import library_fingerprints
from runner.system.regular_file import open_regular
from runner.system.tree import Tree

_HEADER = struct.Struct("<4sBB10xHHIQQQIHHHHHH")
_SEGMENT = struct.Struct("<IIQQQQQQ")
_DYNAMIC_ENTRY = struct.Struct("<QQ")
_LOAD, _DYNAMIC, _INTERPRETER = 1, 2, 3
_NEEDED, _STRINGS = 1, 5
_MAX_TABLE_BYTES = 1 << 16
"""The largest number of bytes that are read of one table."""
_MAX_NAME_BYTES = 256
"""The largest number of bytes that are read of a library's name."""
_MAX_LIBRARIES = 500
ReadBytes = Callable[[int, int], bytes]
"""Reads bytes from a file: offset, number of bytes → content."""


def resolve_dependencies(tree: Tree, names: Iterable[str]) -> dict[str, Path]:
    """Return the files of these libraries and all their dependencies, by name, except those that this host lacks."""
    folders = library_fingerprints.list_folders(tree)
    paths: dict[str, Path] = {}
    pending_names = list(names)
    while pending_names and len(paths) < _MAX_LIBRARIES:
        name = pending_names.pop()
        if name in paths or "/" in name or "\0" in name:
            continue
        files = (tree.path(folder) / name for folder in folders)
        # Unlike Path.is_file, isfile is False for a name that is too long for a file.
        file = next((file for file in files if os.path.isfile(file)), None)  # noqa: PTH113
        if file:
            paths[name] = file
            pending_names += list_needed_libraries(file)
    return paths


def list_needed_libraries(file: Path) -> tuple[str, ...]:
    """Return the names of a file's direct dependencies; none unless it is a 64-bit ELF file."""
    try:
        status = file.stat()
        return _parse_needed_libraries(file, status.st_mtime_ns, status.st_size)
    except OSError:
        return ()


@lru_cache(maxsize=256)
def _parse_needed_libraries(file: Path, _modified: int, _size: int) -> tuple[str, ...]:
    """Return the names of the libraries that an ELF file needs; none if it cannot be read.

    The time and the size of the file are only parts of the cache's key.
    """
    try:
        with open_regular(file) as stream:

            def read_bytes(offset: int, size: int) -> bytes:
                stream.seek(offset)
                return stream.read(min(size, _MAX_TABLE_BYTES))

            return tuple(_parse_names(read_bytes))
    except (OSError, OverflowError, ValueError, struct.error):  # The file is unreadable, or its headers are damaged.
        return ()


def _parse_names(read_bytes: ReadBytes) -> Iterator[str]:
    """Yield the interpreter and the needed libraries from the headers of an ELF file."""
    magic, elf_class, byte_order, *_, segments_offset, _, _, _, segment_size, segment_count, _, _, _ = _HEADER.unpack(
        read_bytes(0, _HEADER.size)
    )
    if magic != b"\x7fELF" or (elf_class, byte_order) != (2, 1) or segment_size != _SEGMENT.size:
        return  # Not a little-endian 64-bit ELF file.
    segments = list(_SEGMENT.iter_unpack(read_bytes(segments_offset, segment_size * segment_count)))
    for kind, _, offset, _, _, length, _, _ in segments:
        if kind == _INTERPRETER:
            yield PurePosixPath(read_bytes(offset, length).rstrip(b"\0").decode()).name
    dynamic_segment = next((segment for segment in segments if segment[0] == _DYNAMIC), None)
    if dynamic_segment is None:
        return  # A static program.
    _, _, dynamic_offset, _, _, dynamic_length, _, _ = dynamic_segment
    entries = list(_DYNAMIC_ENTRY.iter_unpack(read_bytes(dynamic_offset, dynamic_length)))
    # The entries contain the address of the string table in memory, and the offset of each needed name in the table.
    # The segment that is loaded at that address tells where the table is in the file.
    table_address = next((value for tag, value in entries if tag == _STRINGS), 0)
    name_places = [value for tag, value in entries if tag == _NEEDED]
    for kind, _, offset, start, _, length, _, _ in segments:
        if kind == _LOAD and start <= table_address < start + length:
            table_offset = offset + table_address - start
            for name_place in name_places:
                yield read_bytes(table_offset + name_place, _MAX_NAME_BYTES).partition(b"\0")[0].decode()
            return
