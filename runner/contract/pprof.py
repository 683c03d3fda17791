"""pprof's protocol buffer, written by hand.

The format (``profile.proto`` of google/pprof) is a dozen fields of whole numbers and a table of texts. Encoding those
takes one kind of number and one kind of block, which is less code than the protocol-buffer library and the code
generated for it.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime

from runner.contract.profile import Frame


def encode_profile(rows: Iterable[tuple[Sequence[Frame], int]], kind: str, unit: str, when: datetime) -> bytes:
    """Return a profile of stacks, each with its weight and its frames, the innermost first.

    The numbers are those of the fields in ``profile.proto``: of Profile 1 sample_type, 2 sample, 3 mapping, 4 location,
    5 function, 6 string_table, 9 time_nanos; within them, those of ValueType, Sample, Mapping, Location, Line and
    Function.
    """
    # sample_type and samples, whose frames fill the tables.
    tables = _Tables()
    encoded_profile = bytearray()
    encoded_profile += _encode_block(
        1, _encode_number(1, tables.add_text(kind)) + _encode_number(2, tables.add_text(unit))
    )
    for frames, weight in rows:
        location_ids = b"".join(_encode_varint(tables.add_location(frame)) for frame in frames)
        encoded_profile += _encode_block(2, _encode_block(1, location_ids) + _encode_block(2, _encode_varint(weight)))
    # mappings, locations and functions, whose names fill the table of texts
    for module, number in tables.modules.items():
        encoded_profile += _encode_block(
            3,
            _encode_number(1, number)
            + _encode_number(5, tables.add_text(module))
            + _encode_number(7, 1)  # has_functions
            + _encode_number(9, 1),  # has_line_numbers
        )
    for frame, number in tables.locations.items():
        line = _encode_number(1, tables.functions[frame.function, frame.file]) + _encode_number(2, frame.line)
        mapping = tables.modules.get(frame.module, 0)
        encoded_profile += _encode_block(
            4, _encode_number(1, number) + _encode_number(2, mapping) + _encode_block(4, line)
        )
    for (name, file), number in tables.functions.items():
        encoded_profile += _encode_block(
            5,
            _encode_number(1, number)
            + _encode_number(2, tables.add_text(name))
            + _encode_number(4, tables.add_text(file)),
        )
    # time and texts
    encoded_profile += _encode_number(9, int(when.timestamp() * 1e9))
    for text in tables.texts:
        encoded_profile += _encode_block(6, text.encode())
    return bytes(encoded_profile)


class _Tables:
    """The tables of a profile: the number of each text, location, function and module."""

    def __init__(self) -> None:
        self.texts: dict[str, int] = {"": 0}
        self.locations: dict[Frame, int] = {}
        self.functions: dict[tuple[str, str], int] = {}
        self.modules: dict[str, int] = {}

    def add_text(self, text: str) -> int:
        """Return the number of a text, adding it if it is new."""
        return self.texts.setdefault(text, len(self.texts))

    def add_location(self, frame: Frame) -> int:
        """Return the number of a frame in pprof's tables, adding it if it is new."""
        if frame.module:
            self.modules.setdefault(frame.module, len(self.modules) + 1)
        self.functions.setdefault((frame.function, frame.file), len(self.functions) + 1)
        return self.locations.setdefault(frame, len(self.locations) + 1)


def _encode_varint(number: int) -> bytes:
    """Return a number in the variable-length form of Protocol Buffers: 7 bits a byte, whose top bit says "more"."""
    encoded_bytes = bytearray()
    while number > 0x7F:
        encoded_bytes.append(number & 0x7F | 0x80)
        number >>= 7
    encoded_bytes.append(number)
    return bytes(encoded_bytes)


def _encode_number(field: int, value: int) -> bytes:
    """Return a numeric field (wire type 0); nothing for 0, its default."""
    return _encode_varint(field << 3) + _encode_varint(value) if value else b""


def _encode_block(field: int, content: bytes) -> bytes:
    """Return a field of bytes with their length (wire type 2): a text, a message or packed numbers."""
    return _encode_varint(field << 3 | 2) + _encode_varint(len(content)) + content
