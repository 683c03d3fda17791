"""A commit changes only a file that the build reaches by an unusual name, and takes more faults if it is built."""

import json

from tests.hostile import slower
from tests.hostile.arena import Arena, Outcome

PROGRAM = r"""
static long pages(void) { return PAGES; }
"""
WAYS = ("usual",)
# A name that leads to /proc, but does not begin with it. The build of the commit before is used, and the next commit
# that is built, which changes a document, is blamed.
HOLES = ("two_slashes",)
NAMES = {"usual": "size", "two_slashes": "//proc/self/cwd/size"}


def prepare(arena: Arena) -> None:
    name = NAMES[slower.chosen(WAYS, HOLES)[-1]]
    build = f"pages=300; [ ! -s {name} ] || pages=1300\ncc -O1 -pthread -DPAGES=$pages -o probe probe.c\n"
    slower.prepare(arena, ("once",), PROGRAM, build=build, files={"size": ""}, slow={"size": "x"}, earlier=3)
    arena.git("reset", "--quiet", "--hard", "HEAD~1")
    for number in range(3):
        arena.write("NOTES", f"slow {number}\n")
        arena.commit(f"Write slow note {number}")


def attack(arena: Arena) -> Outcome:
    return slower.history(arena, 8)


def held(arena: Arena, outcome: Outcome) -> None:
    blamed = {drift["revision"] for drift in json.loads(outcome.output)["drifts"]}
    assert blamed == {arena.git("rev-parse", "HEAD~3")}, outcome.error[-3000:]
