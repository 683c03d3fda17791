"""pprof's protocol buffer, written by hand.

The format (``profile.proto`` of google/pprof) is a dozen fields of whole numbers and a table of texts. Encoding those
takes one kind of number and one kind of block, which is less code than the protocol-buffer library and the code
generated for it.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime

from runner.contract.profile import Frame


def encode_profile(rows: Iterable[tuple[Sequence[Frame], int]], kind: str, unit: str, when: datetime) -> bytes:
    """Return a profile of stacks with their weights, innermost frame first."""
    table = _Table()
    out = bytearray()
    out += _encode_block(1, _encode_number(1, table.add_text(kind)) + _encode_number(2, table.add_text(unit)))
    for frames, weight in rows:
        places = b"".join(_encode_varint(table.add_location(frame)) for frame in frames)
        out += _encode_block(2, _encode_block(1, places) + _encode_block(2, _encode_varint(weight)))
    for module, number in table.modules.items():
        out += _encode_block(
            3,
            _encode_number(1, number)
            + _encode_number(5, table.add_text(module))
            + _encode_number(7, 1)
            + _encode_number(9, 1),
        )
    for frame, number in table.locations.items():
        line = _encode_number(1, table.functions[frame.function, frame.file]) + _encode_number(2, frame.line)
        mapping = table.modules.get(frame.module, 0)
        out += _encode_block(4, _encode_number(1, number) + _encode_number(2, mapping) + _encode_block(4, line))
    for (name, file), number in table.functions.items():
        out += _encode_block(
            5,
            _encode_number(1, number)
            + _encode_number(2, table.add_text(name))
            + _encode_number(4, table.add_text(file)),
        )
    out += _encode_number(9, int(when.timestamp() * 1e9))
    for text in table.texts:
        out += _encode_block(6, text.encode())
    return bytes(out)


class _Table:
    """Numbers for texts, locations and functions, each once."""

    def __init__(self) -> None:
        self.texts: dict[str, int] = {"": 0}
        self.locations: dict[Frame, int] = {}
        self.functions: dict[tuple[str, str], int] = {}
        self.modules: dict[str, int] = {}

    def add_text(self, text: str) -> int:
        return self.texts.setdefault(text, len(self.texts))

    def add_location(self, frame: Frame) -> int:
        """Return the number of a frame in pprof's tables, adding it if it is new."""
        if frame.module:
            self.modules.setdefault(frame.module, len(self.modules) + 1)
        self.functions.setdefault((frame.function, frame.file), len(self.functions) + 1)
        return self.locations.setdefault(frame, len(self.locations) + 1)


def _encode_varint(number: int) -> bytes:
    """Return a number in the variable-length form of Protocol Buffers."""
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def _encode_number(field: int, value: int) -> bytes:
    return _encode_varint(field << 3) + _encode_varint(value) if value else b""


def _encode_block(field: int, content: bytes) -> bytes:
    return _encode_varint(field << 3 | 2) + _encode_varint(len(content)) + content
