"""A profiled program whose files mislead those who read them: a pipe, a device and a broken ELF file as modules."""

from tests.hostile.arena import Arena, Outcome

WORDS = ("profile", "workload.toml", "--repo", ".", "--sandbox")
SOURCE = r"""
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
void escape_me(void) __asm__("\033[2Jpwned");
void escape_me(void) { for (int i = 0; i < 4000; i++) { char *p = malloc(8192); memset(p, 1, 8192); } }
int main(void) { mkfifo("pipe.so", 0666); escape_me(); return 0; }
"""


def prepare(arena: Arena) -> None:
    arena.write("probe.c", SOURCE.replace('__asm__("\\033[2Jpwned")', ""))
    arena.workload(build="command = 'cc -g -O0 -o probe probe.c'", command="./probe")
    arena.commit()


def held(_: Arena, outcome: Outcome) -> None:
    assert "\x1b[2J" not in outcome.said
