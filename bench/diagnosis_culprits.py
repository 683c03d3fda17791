"""Regressions whose place is known, and whether the differential table begins with it.

The demo's first one comes along. Two more are planted in zlib, where the path of its sources is told
(``FAULTWATCH_BENCH_ZLIB``): a buffer that is mapped again for each piece that deflate reads, and a large table that is
cleared for each piece that inflate keeps.
"""

import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from runner.contract.profile import Profile
from runner.contract.profile_difference import compare_lines

DRIVER = r"""
#include <stdio.h>
#include <stdlib.h>
#include "zlib.h"

enum { PIECE = 32768, PIECES = 96 };

int main(void)
{
    static unsigned char plain[PIECE], packed[2 * PIECE], again[PIECE];
    z_stream out = { 0 }, in = { 0 };
    unsigned long seed = 1, sum = 0;
    if (deflateInit(&out, 1) != Z_OK || inflateInit(&in) != Z_OK)
        return 1;
    for (int piece = 0; piece < PIECES; piece++) {
        for (int i = 0; i < PIECE; i++)
            plain[i] = "abcdefghijklmnop"[(seed = seed * 6364136223846793005ul + 1442695040888963407ul) >> 60];
        out.next_in = plain, out.avail_in = PIECE, out.next_out = packed, out.avail_out = sizeof packed;
        if (deflate(&out, Z_SYNC_FLUSH) != Z_OK)
            return 2;
        in.next_in = packed, in.avail_in = sizeof packed - out.avail_out;
        in.next_out = again, in.avail_out = PIECE;
        if (inflate(&in, Z_SYNC_FLUSH) != Z_OK || in.avail_out)
            return 3;
        sum = sum * 31 + again[piece];
    }
    printf("%lu\n", sum);
    return 0;
}
"""
WORKLOAD = """
[workload]
name = "zlib"
description = "Pieces of text through zlib and back"

[run]
command = "./driver"
huge_pages = "never"
"""
_SCRATCH = """{
        unsigned char *scratch = mmap(0, 1 << 18, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        for (unsigned at = 0; at < 1 << 18; at += 4096)
            scratch[at] = (unsigned char)len; /* planted */
        munmap(scratch, 1 << 18);
    }
    """
_TABLE = """{
        static unsigned char seen[1 << 22];
        for (unsigned at = 0; at < sizeof seen; at += 4096)
            ((volatile unsigned char *)seen)[at] = (unsigned char)copy; /* planted */
        madvise((void *)(((unsigned long)seen + 4095) & ~4095ul), sizeof seen - 4096, MADV_DONTNEED);
    }
    """


@dataclass(frozen=True)
class Planted:
    """A regression that a patch plants: what stands before a text of a file."""

    title: str
    file: str
    function: str
    anchor: str
    code: str


PLANTED = (
    Planted("a buffer for each piece", "deflate.c", "read_buf", "strm->avail_in  -= len;", _SCRATCH),
    Planted(
        "a table cleared for each piece",
        "inflate.c",
        "updatewindow",
        "/* if it hasn't been done already, allocate space for the window */",
        _TABLE,
    ),
)


def zlib(sources: Path, folder: Path, planted: Planted | None = None) -> int:
    """Build zlib and the driver in a folder, with a regression if one is named; return its line."""
    shutil.copytree(sources, folder, ignore=shutil.ignore_patterns(".git"))
    line = 0
    if planted:
        file = folder / planted.file
        text = file.read_text()
        if text.count(planted.anchor) < 1:
            raise ValueError(f"{planted.file} has no {planted.anchor!r}: these sources are of another version")
        text = "#include <sys/mman.h>\n" + text.replace(planted.anchor, planted.code + planted.anchor, 1)
        file.write_text(text)
        line = next(number for number, one in enumerate(text.splitlines(), 1) if "/* planted */" in one)
    (folder / "driver.c").write_text(DRIVER)
    (folder / "workload.toml").write_text(WORKLOAD)
    names = ("adler32", "crc32", "deflate", "inffast", "inflate", "inftrees", "trees", "zutil")
    words = ["cc", "-O2", "-g", "-D_GNU_SOURCE", "-w", "-o", "driver", "driver.c", *(f"{name}.c" for name in names)]
    subprocess.run(words, cwd=folder, check=True, capture_output=True)
    return line


def leads(before: Profile, after: Profile, function: str, lines: Mapping[str, range]) -> str:
    """Return what is wrong with the head of the differential table; empty where it is the culprit.

    `lines` are those that may stand there, by the name of their file.
    """
    places = compare_lines(before, after)
    if not places:
        return "nothing changed"
    place, change = places[0]
    right = place.function_key.function == function and place.line_after in lines.get(
        Path(place.function_key.file).name, range(0)
    )
    return (
        ""
        if right
        else f"{place.function_key.function} {place.function_key.file}:{place.line_after} ({change.growth:+,}) leads"
    )
