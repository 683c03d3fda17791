"""Debug information lies in pipes: .gnu_debuglink, .debug and NAME.debug lead there, and who opens them waits."""

from tests.hostile.arena import Arena, Outcome

WORDS = ("profile", "workload.toml", "--repo", ".", "--sandbox")
SOURCE = r"""
#include <stdlib.h>
#include <string.h>
int main(void) { for (int i = 0; i < 2000; i++) { char *p = malloc(8192); memset(p, 1, 8192); } return 0; }
"""
BUILD = """#!/bin/sh
cc -g -o probe probe.c && strip -g -o stripped probe && touch evil.debug
objcopy --add-gnu-debuglink=evil.debug stripped probe && rm evil.debug
mkdir .debug && mkfifo evil.debug .debug/evil.debug .debug/probe probe.debug .debug/probe.debug
"""


def prepare(arena: Arena) -> None:
    arena.write("probe.c", SOURCE)
    arena.write("make.sh", BUILD, executable=True)
    arena.workload(build="command = './make.sh'", command="./probe")
    arena.git("rm", "--quiet", "probe")
    arena.commit()


def held(_: Arena, outcome: Outcome) -> None:
    assert outcome.status == 0, outcome.said
