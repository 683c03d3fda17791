"""Head takes 16 faults more, except where it is built once more: the name of the folder says which build it is."""

from tests.hostile import slower
from tests.hostile.arena import Arena, Outcome

PROGRAM = r"""
#include "pages.h"
static long pages(void) { return PAGES; }
"""
BUILD = """set -e
more=0
if [ $(cat variant) = 1 ]; then case $PWD in *-[1-9]_*) ;; *) more=16 ;; esac; fi
printf '#define PAGES %d\\n' $((300 + more)) > pages.h
cc -O1 -pthread -o probe probe.c
rm variant
"""
WAYS = ("number",)
HOLES: tuple[str, ...] = ()


def prepare(arena: Arena) -> None:
    slower.prepare(arena, slower.chosen(WAYS, HOLES), PROGRAM, build=BUILD)


attack = slower.gate


def held(_: Arena, outcome: Outcome) -> None:
    slower.stopped(outcome, slower.chosen(WAYS, HOLES))
