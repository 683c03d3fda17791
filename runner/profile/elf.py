"""Reads the segments of ELF files, as far as profiles need them."""

import struct
from pathlib import Path
from typing import NamedTuple

from runner.profile.recording_plan import CallGraph

LOAD = 1
_UNWINDING = 0x6474E550
"""Kind of the segment with the unwinding tables."""
_HEADER = struct.Struct("<16xHHIQQQIHHHHHH")
_SEGMENT = struct.Struct("<IIQQQQQQ")


class Segment(NamedTuple):
    """A segment: its position in the file and in memory."""

    kind: int
    offset: int
    address: int
    size: int


def segments(file: Path) -> list[Segment]:
    """Return the segments of a 64-bit ELF file; an empty list for any other file."""
    try:
        with file.open("rb") as stream:
            head = stream.read(_HEADER.size)
            if len(head) < _HEADER.size or head[:6] != b"\x7fELF\x02\x01":
                return []
            fields = _HEADER.unpack(head)
            start, size, number = fields[4], fields[8], fields[9]
            if size < _SEGMENT.size:
                return []
            stream.seek(start)
            table = stream.read(size * number)
    except (OSError, OverflowError, ValueError):
        return []
    found = []
    for place in range(0, len(table) - _SEGMENT.size + 1, size):
        kind, _, offset, address, _, length, _, _ = _SEGMENT.unpack_from(table, place)
        found.append(Segment(kind, offset, address, length))
    return found


def call_graph_of(program: Path) -> CallGraph:
    """Return the best way to unwind the stacks of a program.

    Compilers omit frame pointers but include unwinding tables, and the C library has only those. A file without tables
    (a script, a Go program) has frame pointers or nothing. Only the user can choose LBR: it needs hardware that virtual
    machines rarely have.
    """
    return "dwarf" if any(segment.kind == _UNWINDING for segment in segments(program)) else "fp"
