"""After twelve commits that count the same, one takes more faults because of a file behind the links of the kernel."""

from tests.hostile import slower
from tests.hostile.arena import Arena, Outcome
from tests.hostile.cases.slower_by_other_names import BUILD, PROGRAM, SOURCES

WAYS = (
    "state_proc",
    "state_task",
    "state_self_up",
    "state_two_slashes",
    "state_dot",
    "state_up",
    "state_dev",
    "state_by_link",
    "size_two_slashes",
    "size_by_link",
    "size_made_link",
)
EARLIER = 12


def prepare(arena: Arena) -> None:
    ways = WAYS
    slower.prepare(arena, ways, PROGRAM, build=BUILD, files=SOURCES, earlier=EARLIER)


def attack(arena: Arena) -> Outcome:
    return slower.history(arena, EARLIER + 3)


def held(arena: Arena, outcome: Outcome) -> None:
    found = slower.reused(outcome, arena.git("rev-parse", "HEAD~1"))
    assert not found & set(WAYS), found
