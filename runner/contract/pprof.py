"""pprof's protocol buffer, written by hand.

The format (``profile.proto`` of google/pprof) is a dozen fields of whole numbers and a table of texts. Encoding those
takes one kind of number and one kind of block, which is less code than the protocol-buffer library and the code
generated for it.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime

from runner.contract.profile import Frame


def encode(rows: Iterable[tuple[Sequence[Frame], int]], kind: str, unit: str, when: datetime) -> bytes:
    """Return a profile of stacks with their weights, innermost frame first."""
    table = _Table()
    out = bytearray()
    out += _block(1, _number(1, table.text(kind)) + _number(2, table.text(unit)))
    for frames, weight in rows:
        places = b"".join(_varint(table.location(frame)) for frame in frames)
        out += _block(2, _block(1, places) + _block(2, _varint(weight)))
    for module, number in table.modules.items():
        out += _block(3, _number(1, number) + _number(5, table.text(module)) + _number(7, 1) + _number(9, 1))
    for frame, number in table.locations.items():
        line = _number(1, table.functions[frame.function, frame.file]) + _number(2, frame.line)
        mapping = table.modules.get(frame.module, 0)
        out += _block(4, _number(1, number) + _number(2, mapping) + _block(4, line))
    for (name, file), number in table.functions.items():
        out += _block(5, _number(1, number) + _number(2, table.text(name)) + _number(4, table.text(file)))
    out += _number(9, int(when.timestamp() * 1e9))
    for text in table.texts:
        out += _block(6, text.encode())
    return bytes(out)


class _Table:
    """Numbers for texts, locations and functions, each once."""

    def __init__(self) -> None:
        self.texts: dict[str, int] = {"": 0}
        self.locations: dict[Frame, int] = {}
        self.functions: dict[tuple[str, str], int] = {}
        self.modules: dict[str, int] = {}

    def text(self, text: str) -> int:
        return self.texts.setdefault(text, len(self.texts))

    def location(self, frame: Frame) -> int:
        if frame.module:
            self.modules.setdefault(frame.module, len(self.modules) + 1)
        self.functions.setdefault((frame.function, frame.file), len(self.functions) + 1)
        return self.locations.setdefault(frame, len(self.locations) + 1)


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value) if value else b""


def _block(field: int, content: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(content)) + content
