"""Encodes profiles in pprof's protocol-buffer format, without a library.

The format (``profile.proto`` of google/pprof) consists of a dozen integer fields and a table of strings. It needs only
two wire types, so this takes less code than the protocol-buffer library and the code that it generates.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime

from runner.contract.profile import Frame


def encode_profile(rows: Iterable[tuple[Sequence[Frame], int]], kind: str, unit: str, recorded_at: datetime) -> bytes:
    """Encode a profile of stacks, given as the frames of each stack, innermost first, with its weight.

    The numbers in the code are field numbers of ``profile.proto``. In Profile they are 1 sample_type, 2 sample,
    3 mapping, 4 location, 5 function, 6 string_table and 9 time_nanos; those in nested blocks belong to ValueType,
    Sample, Mapping, Location, Line and Function.
    """
    # sample_type and samples. Encoding the samples fills the tables.
    tables = _Tables()
    encoded_profile = bytearray()
    encoded_profile += _encode_block(
        1, _encode_number(1, tables.add_text(kind)) + _encode_number(2, tables.add_text(unit))
    )
    for frames, weight in rows:
        location_ids = b"".join(_encode_varint(tables.add_location(frame)) for frame in frames)
        encoded_profile += _encode_block(2, _encode_block(1, location_ids) + _encode_block(2, _encode_varint(weight)))
    # mappings, locations and functions. Encoding them fills the table of texts.
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
    encoded_profile += _encode_number(9, int(recorded_at.timestamp() * 1e9))
    for text in tables.texts:
        encoded_profile += _encode_block(6, text.encode())
    return bytes(encoded_profile)


class _Tables:
    """The tables of a profile, which number its texts, locations, functions and modules."""

    def __init__(self) -> None:
        self.texts: dict[str, int] = {"": 0}
        self.locations: dict[Frame, int] = {}
        self.functions: dict[tuple[str, str], int] = {}
        self.modules: dict[str, int] = {}

    def add_text(self, text: str) -> int:
        """Return the number of a text; add the text if it is new."""
        return self.texts.setdefault(text, len(self.texts))

    def add_location(self, frame: Frame) -> int:
        """Return the number of a frame as a location; add the frame if it is new."""
        if frame.module:
            self.modules.setdefault(frame.module, len(self.modules) + 1)
        self.functions.setdefault((frame.function, frame.file), len(self.functions) + 1)
        return self.locations.setdefault(frame, len(self.locations) + 1)


def _encode_varint(number: int) -> bytes:
    """Return a number as a varint of Protocol Buffers: 7 bits per byte, and a top bit that is set if bytes follow."""
    encoded_bytes = bytearray()
    while number > 0x7F:
        encoded_bytes.append(number & 0x7F | 0x80)
        number >>= 7
    encoded_bytes.append(number)
    return bytes(encoded_bytes)


def _encode_number(field: int, value: int) -> bytes:
    """Return a numeric field (wire type 0); no bytes for 0, which is the default."""
    return _encode_varint(field << 3) + _encode_varint(value) if value else b""


def _encode_block(field: int, content: bytes) -> bytes:
    """Return a length-delimited field (wire type 2): a text, a message or packed numbers."""
    return _encode_varint(field << 3 | 2) + _encode_varint(len(content)) + content
