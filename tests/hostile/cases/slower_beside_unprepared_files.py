"""Head takes more faults in a file of more than 1 GiB, in which base already takes another number from time to time."""

from tests.hostile import slower
from tests.hostile.arena import Arena, Outcome

PROGRAM = r"""
#include "more.h"
static long pages(void) {
    int file = open("large", O_RDONLY);
    char *all = mmap(0, 1100L << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
    long size = 8000;
    WAY("scan") {
        /* As a database does: random order, so each page that is not there is a fault,
                and sixteen that are there are. */
        madvise(all, 1100L << 20, MADV_RANDOM);
        for (long i = 0; i < size; i++) (void)*(volatile char *)(all + i * 4096);
    }
    WAY("residency") {
        unsigned char there = 0;
        mincore(all + (100L << 20), 4096, &there);
        (void)*(volatile char *)(all + (100L << 20));
        for (long i = 0; !(there & 1) && i < 3000; i++) all[(200L << 20) + i * 4096] = 1;
    }
    WAY("elsewhere") {
        for (long i = 0; i < size; i++) (void)*(volatile char *)(all + i * 4096);
        return 100 + MORE;
    }
    for (long i = 0; i < MORE; i++) all[(400L << 20) + i * 4096] = 1;
    return 100;
}
"""
BUILD = """set -e
printf '#define MORE %d\\n' $((1000 * $(cat variant))) > more.h
cc -O1 -pthread -o probe probe.c
truncate -s 1100M large
rm variant
"""
WAYS = ("elsewhere", "scan", "residency")
HOLES: tuple[str, ...] = ()


def prepare(arena: Arena) -> None:
    slower.prepare(arena, slower.chosen(WAYS, HOLES), PROGRAM, build=BUILD)


attack = slower.gate


def held(_: Arena, outcome: Outcome) -> None:
    slower.stopped(outcome, slower.chosen(WAYS, HOLES))
