"""Digests of files that untrusted code made: bounded, whatever an ELF file claims about itself."""

import struct
import tracemalloc
from pathlib import Path

from runner.mapped_files.digests import digest_built_file

HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
SEGMENT = struct.Struct("<IIQQQQQQ")


def elf(segments: int, size: int) -> bytes:
    header = HEADER.pack(b"\x7fELF\x02\x01\x01", 3, 62, 1, 0, 64, 0, 0, 64, 56, segments, 0, 0, 0)
    return (header + SEGMENT.pack(1, 5, 0, 0, 0, size, size, 4096) * segments).ljust(size, b"\0")


def test_a_file_with_more_segments_than_content_takes_no_more_memory_than_its_size(tmp_path: Path) -> None:
    file = tmp_path / "bomb.so"
    file.write_bytes(elf(2000, 1 << 18))
    tracemalloc.start()
    try:
        assert digest_built_file(file, tmp_path)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 20 << 18


def test_what_is_not_loaded_does_not_matter(tmp_path: Path) -> None:
    one, other = tmp_path / "one.so", tmp_path / "other.so"
    one.write_bytes(elf(1, 4096) + b"debug information")
    other.write_bytes(elf(1, 4096) + b"other")
    assert digest_built_file(one, tmp_path) == digest_built_file(other, tmp_path)
    other.write_bytes(elf(1, 4096)[:-1] + b"x")
    assert digest_built_file(one, tmp_path) != digest_built_file(other, tmp_path)
