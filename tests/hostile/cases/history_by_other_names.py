"""After twelve commits that count the same, one takes more faults because of a file reached in an unusual way."""

from tests.hostile import slower
from tests.hostile.arena import Arena, Outcome
from tests.hostile.cases.slower_by_other_names import BUILD, PROGRAM, SOURCES

WAYS = (
    "proc_cwd",
    "proc_descriptor",
    "dev_descriptor",
    "content_by_link",
    "hard_link",
    "made_if_missing",
    "made_in_folder",
    "in_root",
    "open_tree",
    "deleted_name",
    "newline_name",
    "call_bind",
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
