"""After twelve commits that count the same, one takes more faults because of the state of files and folders."""

from tests.hostile import slower
from tests.hostile.arena import Arena, Outcome
from tests.hostile.cases.slower_by_state import MAKER, PROGRAM

WAYS = (
    "size_of_folder",
    "time_by_descriptor",
    "folder_by_descriptor",
    "links_by_descriptor",
    "attribute_by_descriptor",
    "own_time",
    "links_of_folder",
)
EARLIER = 12


def prepare(arena: Arena) -> None:
    slower.prepare(arena, WAYS, PROGRAM, MAKER, earlier=EARLIER)


def attack(arena: Arena) -> Outcome:
    return slower.history(arena, EARLIER + 3)


def held(arena: Arena, outcome: Outcome) -> None:
    found = slower.reused(outcome, arena.git("rev-parse", "HEAD~1"))
    assert not found & set(WAYS), found
