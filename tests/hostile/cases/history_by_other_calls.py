"""After twelve commits that count the same, one takes more faults because of an unusual call or file."""

from tests.hostile import slower
from tests.hostile.arena import Arena, Outcome
from tests.hostile.cases.slower_by_other_names import BUILD, PROGRAM, SOURCES

WAYS = (
    "call_mknod",
    "call_mkdir",
    "call_symlink",
    "call_rename",
    "file_without_name",
    "call_connect",
    "call_sendto",
    "call_swapon",
    "script",
    "interpreter",
    "null_bytes",
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
