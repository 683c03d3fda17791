"""A program that runs, but whose sections, symbols and debug information lie: perf script and addr2line read them."""

import struct
import subprocess
from pathlib import Path

from tests.hostile.arena import Arena, Outcome

WORDS = ("profile", "workload.toml", "--repo", ".", "--sandbox")
SOURCE = r"""
#include <stdlib.h>
#include <string.h>
int main(void) { for (int i = 0; i < 2000; i++) { char *p = malloc(8192); memset(p, 1, 8192); } return 0; }
"""


def prepare(arena: Arena) -> None:
    source = arena.write("probe.c", SOURCE)
    made = arena.folder / "made"
    subprocess.run(["cc", "-g", "-o", str(made), str(source)], check=True)
    arena.write("probe", _broken(made), executable=True)
    arena.workload(command="./probe")
    arena.commit()


def _broken(program: Path) -> bytes:
    """Enlarge all sections beyond the file, and fill the debug information with the longest numbers there are."""
    data = bytearray(program.read_bytes())
    start, number = struct.unpack_from("<Q", data, 40)[0], struct.unpack_from("<H", data, 60)[0]
    for index in range(1, number):
        place = start + 64 * index
        _, kind, _, address, offset, size = struct.unpack_from("<IIQQQQ", data, place)
        if address == 0 and kind == 1:
            data[offset : offset + size] = b"\xff" * size
        struct.pack_into("<Q", data, place + 32, size if kind == 3 else 1 << 44)
    return bytes(data)


def held(_: Arena, outcome: Outcome) -> None:
    assert outcome.status in {0, 1}, outcome.said
