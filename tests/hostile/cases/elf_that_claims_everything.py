"""A mapped file has 65,535 segments, each of which is the whole file: who reads them all runs out of memory."""

import struct

from tests.hostile.arena import Arena, Outcome

OPTIONS = {"address_space": 12 << 30}
SOURCE = r"""
#include <fcntl.h>
#include <sys/mman.h>
int main(void) {
    volatile char *p = mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, open("bomb.so", O_RDONLY), 0);
    return p[0] != 0x7f;
}
"""
BYTES = 16 << 20


def prepare(arena: Arena) -> None:
    header = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01", 3, 62, 1, 0, 64, 0, 0, 64, 56, 65_535, 0, 0, 0)
    segment = struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, BYTES, BYTES, 4096)
    arena.write("bomb.so", (header + segment * 65_535).ljust(BYTES, b"\0"))
    arena.write("probe.c", SOURCE)
    arena.workload(build="command = 'cc -o probe probe.c'", command="./probe")
    arena.commit()


def held(_: Arena, outcome: Outcome) -> None:
    assert "gate:" in outcome.output, outcome.said
    assert "bomb.so" in outcome.report
