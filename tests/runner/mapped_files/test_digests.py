"""Digests of files that untrusted code made: bounded, whatever an ELF file claims about itself."""

import shutil
import struct
import subprocess
import tracemalloc
from pathlib import Path

import pytest

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


@pytest.mark.parametrize(
    ("kind", "owner", "ids"),
    [
        (3, b"GNU\0", (bytes(range(20)), bytes(range(20, 40)))),
        # What two builds of one Go program are told apart by, if their folders have other names.
        (4, b"Go\0\0", (b"UPoRP9uvMjxSeYAV3CDg/k-yygp3u-a82IYWhUcYN", b"cK0FovTBBl00DcJ6rE8c/LFvNLDchRvzF_eO7Z2EQ")),
    ],
)
def test_the_build_id_does_not_matter(tmp_path: Path, kind: int, owner: bytes, ids: tuple[bytes, bytes]) -> None:
    files = [tmp_path / name for name in ("one", "other")]
    for file, name in zip(files, ids, strict=True):
        note = struct.pack("<III", 4, len(name), kind) + owner + name
        content = elf(1, 4096)
        file.write_bytes(content[:1024] + note + content[1024 + len(note) :])
    one, other = (digest_built_file(file, tmp_path) for file in files)
    assert one == other
    files[1].write_bytes(files[1].read_bytes().replace(owner, b"xyz\0"))
    assert digest_built_file(files[1], tmp_path) != one


@pytest.mark.skipif(not shutil.which("go"), reason="needs Go")
def test_a_go_program_has_the_same_bytes_whatever_the_name_of_its_folder(tmp_path: Path) -> None:
    trees = [tmp_path / (digit * 8) for digit in "ab"]
    for tree in trees:
        tree.mkdir()
        (tree / "go.mod").write_text("module plant\n")
        (tree / "main.go").write_text('package main\n\nfunc main() { println("plant") }\n')
        subprocess.run(["go", "build", "-o", "plant", "."], cwd=tree, check=True, capture_output=True)
    programs = [tree / "plant" for tree in trees]
    assert programs[0].read_bytes() != programs[1].read_bytes()
    assert len({digest_built_file(program, program.parent) for program in programs}) == 1


@pytest.mark.parametrize(("place", "size", "number"), [(2048, 64, 4), (120, 64, 60), (120, 4000, 60000)])
def test_a_table_of_sections_hides_no_code(place: int, size: int, number: int, tmp_path: Path) -> None:
    digests = set()
    for name, code in (("one", b"\x90"), ("other", b"\xcc")):
        header = HEADER.pack(b"\x7fELF\x02\x01\x01", 3, 62, 1, 0, 64, place, 0, 64, 56, 1, size, number, 0)
        content = (header + SEGMENT.pack(1, 5, 0, 0, 0, 4096, 4096, 4096)).ljust(2048, b"\0") + code * 256
        (tmp_path / name).write_bytes(content.ljust(4096, b"\0"))
        digests.add(digest_built_file(tmp_path / name, tmp_path))
    assert len(digests) == 2
