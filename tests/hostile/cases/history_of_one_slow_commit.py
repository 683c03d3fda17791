"""A commit takes more faults, in plain sight; the next one takes it back.

A history measures both, and must report the first.
"""

from tests.hostile import slower
from tests.hostile.arena import Arena, Outcome

PROGRAM = r"""
#include "pages.h"
static long pages(void) { return PAGES; }
"""
BUILD = """set -e
printf '#define PAGES %d\\n' $((300 + 1000 * $(cat variant))) > pages.h
cc -O1 -pthread -o probe probe.c
rm variant
"""
WAYS = ("stays",)
# One commit, or two, between others that count the same are taken for outliers, although each of them repeats its
# count.
HOLES = ("is_taken_back",)


def prepare(arena: Arena) -> None:
    slower.prepare(arena, slower.chosen(WAYS, HOLES), PROGRAM, build=BUILD, earlier=2)
    if not set(HOLES) & set(slower.chosen(WAYS, HOLES)):
        arena.git("reset", "--quiet", "--hard", "HEAD~1")
        arena.write("NOTES", "The slow one stays.\n")
        arena.commit("Write a note")


def attack(arena: Arena) -> Outcome:
    return slower.history(arena, 5)


def held(_: Arena, outcome: Outcome) -> None:
    slower.reported(outcome, slower.chosen(WAYS, HOLES))
