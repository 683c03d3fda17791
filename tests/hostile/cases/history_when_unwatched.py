"""After twelve commits that count the same, one takes more faults in all executions but those that are followed."""

from tests.hostile import slower
from tests.hostile.arena import Arena, Outcome
from tests.hostile.cases.slower_when_unwatched import BUILD, PROGRAM

WAYS = (
    "untraced",
    "descriptors",
    "shown_name",
    "other_folder",
    # /proc/self/status says who traces the program, and how many filters it has; prctl says that it has one.
    "tracer",
    "filters",
    "seccomp",
    # A call at which the kernel stops takes ten times as long.
    "duration",
    # Only the first execution is followed: in a later one the program finds what it made then.
    "counts_1",
)
HOLES: tuple[str, ...] = ()
EARLIER = 12


def prepare(arena: Arena) -> None:
    slower.prepare(arena, slower.chosen(WAYS, HOLES), PROGRAM, build=BUILD, earlier=EARLIER, keep=["execution-*"])


def attack(arena: Arena) -> Outcome:
    return slower.history(arena, EARLIER + 3)


def held(arena: Arena, outcome: Outcome) -> None:
    found = slower.reused(outcome, arena.git("rev-parse", "HEAD~1"))
    assert not found & set(slower.chosen(WAYS, HOLES)), found
