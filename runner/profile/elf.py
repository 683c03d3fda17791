"""Reads the segments and sections of ELF files that profiles need."""

import mmap
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from msgspec import Struct

from runner.system.regular_file import open_regular

LOAD_SEGMENT_KIND = 1
INTERPRETER_SEGMENT_KIND = 3
UNWINDING_SEGMENT_KIND = 0x6474E550
"""The kind of the segment with the unwind tables."""
_SYMBOLS_SECTION_KIND = 2
"""The kind of the section with the names of all functions."""
_GO_SECTIONS = frozenset((".go.buildinfo", ".note.go.buildid"))
"""Sections that Go's linker writes, even into a stripped program."""
_LINE_SECTIONS = frozenset((".debug_line", ".zdebug_line"))
_HEADER = struct.Struct("<16xHHIQQQIHHHHHH")
_SEGMENT = struct.Struct("<IIQQQQQQ")
_SECTION = struct.Struct("<IIQQQQIIQQ")

_MAX_TABLE_BYTES = 1 << 20
"""The largest size of a table of segments or sections, and of the names of sections."""

_MAX_NAME_BYTES = 32
"""The largest number of bytes that are read of a section's name: in an untrusted file, each could have megabytes."""


class _Header(NamedTuple):
    """The fields of an ELF header that locate its tables.

    In ``elf.h``, they are e_phoff, e_shoff, e_phentsize, e_phnum, e_shentsize, e_shnum and e_shstrndx.
    """

    segments_offset: int
    sections_offset: int
    segment_size: int
    segment_count: int
    section_size: int
    section_count: int
    names_index: int
    """The index of the section with the names of all sections."""


class Segment(Struct, frozen=True):
    """A segment: its position in the file and in memory."""

    kind: int
    offset: int
    address: int
    size: int


class Sections(Struct, frozen=True):
    """Facts about a program or library, from its sections."""

    is_go: bool
    """Whether Go's linker wrote the file."""
    has_symbols: bool
    """Whether the file contains the names of all its functions, not only of the exported ones."""
    has_lines: bool
    """Whether the file contains source lines."""


def read_segments(file: Path) -> list[Segment]:
    """Return the segments of a 64-bit ELF file; an empty list for any other file."""
    try:
        with open_regular(file) as stream:
            header = _read_header(stream)
            table = _read_table(stream, _SEGMENT, header.segments_offset, header.segment_size, header.segment_count)
            return [Segment(kind, offset, address, length) for kind, _, offset, address, _, length, _, _ in table]
    except (OSError, OverflowError, ValueError):  # OverflowError: an offset is too large
        return []


def read_sections(file: Path) -> Sections | None:
    """Read which kinds of sections a 64-bit ELF file has; None for any other file."""
    try:
        with open_regular(file) as stream:
            header = _read_header(stream)
            table: list[tuple[int, ...]] = []
            if header.section_count:  # In a file without sections, the size of a section is not valid.
                table = list(
                    _read_table(stream, _SECTION, header.sections_offset, header.section_size, header.section_count)
                )
            name_table = b""
            if header.names_index < len(table):
                _, _, _, _, offset, size, *_ = table[header.names_index]
                stream.seek(offset)
                name_table = stream.read(min(size, _MAX_TABLE_BYTES))
    except (OSError, OverflowError, ValueError):  # OverflowError: an offset is too large
        return None
    section_names = {
        name_table[start : start + _MAX_NAME_BYTES].partition(b"\0")[0].decode("ascii", "replace")
        for start, *_ in table
    }
    return Sections(
        is_go=bool(section_names & _GO_SECTIONS),
        has_symbols=any(kind == _SYMBOLS_SECTION_KIND for _, kind, *_ in table),
        has_lines=bool(section_names & _LINE_SECTIONS),
    )


def is_32_bit(file: Path) -> bool:
    """Return whether a file is an ELF file for 32-bit programs."""
    try:
        with open_regular(file) as stream:
            return stream.read(5) == b"\x7fELF\x01"
    except OSError:
        return False


def contains_symbol(file: Path, name: str) -> bool:
    """Return whether the tables of names of a program or library contain a name; false for any other file."""
    try:
        with open_regular(file) as stream:
            _read_header(stream)
            with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
                return content.find(b"\0" + name.encode() + b"\0") >= 0
    except (OSError, OverflowError, ValueError):
        return False


def _read_header(stream: BinaryIO) -> _Header:
    """Return the needed fields of the header; raise ValueError unless the file is a little-endian 64-bit ELF file."""
    head = stream.read(_HEADER.size)
    if len(head) < _HEADER.size or head[:6] != b"\x7fELF\x02\x01":
        raise ValueError
    _, _, _, _, segments_offset, sections_offset, _, _, *sizes = _HEADER.unpack(head)
    return _Header(segments_offset, sections_offset, *sizes)


def _read_table(
    stream: BinaryIO, entry: struct.Struct, start: int, entry_size: int, entry_count: int
) -> Iterator[tuple[int, ...]]:
    """Yield the entries of a table in an ELF file, unpacked by ``entry``; raise ValueError if entries are too small."""
    if entry_size < entry.size:
        raise ValueError
    stream.seek(start)
    table = stream.read(min(entry_size * entry_count, _MAX_TABLE_BYTES))
    for offset in range(0, len(table) - entry.size + 1, entry_size):
        yield entry.unpack_from(table, offset)
