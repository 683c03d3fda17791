"""Tests of :mod:`runner.profile.source_lines`: lines are found once, and a changed file is read again."""

import shutil
import subprocess
from pathlib import Path

import pytest

from runner.profile import source_lines
from runner.profile.elf import LOAD_SEGMENT_KIND, read_segments
from runner.profile.source_lines import SourceLine, SourceLineCache

PROGRAM = "int work(int n) {\n  return n + 1;\n}\nint main(void) {\n  return work(-1);\n}\n"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a program with source lines."""
    source = tmp_path_factory.mktemp("program") / "program.c"
    source.write_text(PROGRAM)
    subprocess.run(["cc", "-O0", "-g", "-o", source.with_suffix(""), source], check=True)
    return source.with_suffix("")


def find_offset(program: Path, function: str) -> int:
    """Return the offset of a function in the file."""
    symbols = subprocess.run(["nm", program], capture_output=True, text=True, check=True).stdout
    address = next(int(line.split()[0], 16) for line in symbols.splitlines() if line.endswith(f" T {function}"))
    segments = (segment for segment in read_segments(program) if segment.kind == LOAD_SEGMENT_KIND)
    return next(
        address - segment.address + segment.offset
        for segment in segments
        if segment.address <= address < segment.address + segment.size
    )


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[set[int]]:
    """Return the offsets for which addr2line was needed, one set per search."""
    searches: list[set[int]] = []
    search = source_lines.find_source_lines

    def count(module: str, offsets: set[int], *rest: object) -> dict[int, tuple[SourceLine, ...]]:
        searches.append(set(offsets))
        return search(module, offsets, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(source_lines, "find_source_lines", count)
    return searches


def test_a_known_offset_is_not_searched_again(program: Path, asked: list[set[int]]) -> None:
    cache = SourceLineCache()
    main, work = find_offset(program, "main"), find_offset(program, "work")
    assert [line.line for line in cache.find(str(program), [main])[main]] == [4]
    lines = cache.find(str(program), [main, work])
    assert [lines[main][0].line, lines[work][0].line] == [4, 1]
    assert asked == [{main}, {work}]


def test_an_unknown_offset_stays_unknown(program: Path, asked: list[set[int]]) -> None:
    cache = SourceLineCache()
    beyond = program.stat().st_size + 1
    assert cache.find(str(program), [beyond]) == {}
    assert cache.find(str(program), [beyond]) == {}
    assert asked == [{beyond}]


def test_a_stripped_file_without_lines_at_several_offsets_is_not_searched_again(
    program: Path, tmp_path: Path, asked: list[set[int]]
) -> None:
    main = find_offset(program, "main")
    stripped = tmp_path / "stripped"
    subprocess.run(["strip", "-o", stripped, program], check=True)
    cache = SourceLineCache()
    assert cache.find(str(stripped), [main]) == {}
    assert cache.find(str(stripped), range(main + 1, main + 8)) == {}
    assert cache.find(str(stripped), [main + 9]) == {}
    assert [len(offsets) for offsets in asked] == [1, 7], "a single offset shows nothing"


def test_a_replaced_file_is_searched_again(program: Path, tmp_path: Path) -> None:
    main = find_offset(program, "main")
    replaced = tmp_path / "program"
    subprocess.run(["strip", "-o", replaced, program], check=True)
    cache = SourceLineCache()
    assert cache.find(str(replaced), [main]) == {}
    shutil.copy(program, tmp_path / "new")
    (tmp_path / "new").replace(replaced)
    assert [line.line for line in cache.find(str(replaced), [main])[main]] == [4]


def test_a_missing_file_has_no_lines() -> None:
    assert SourceLineCache().find("/nonexistent/library.so", [1]) == {}


@pytest.mark.parametrize("character", ["\f", "\r", "\x85", "\u2028"])
def test_a_character_in_the_name_of_a_file_does_not_move_the_lines_after_it(
    character: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = tmp_path / "output"
    output.write_bytes(f"0x10\nf\n/a{character}b.c:1\n0x20\ng\n/c.c:2\n".encode())
    (tmp_path / "addr2line").write_text(f"#!/bin/sh\ncat {output}\n")
    (tmp_path / "addr2line").chmod(0o755)
    found = source_lines._run_addr2line(f"{tmp_path}/addr2line", "/program", [0x10, 0x20], [])
    assert found == {0x10: (SourceLine("f", f"/a{character}b.c", 1),), 0x20: (SourceLine("g", "/c.c", 2),)}
