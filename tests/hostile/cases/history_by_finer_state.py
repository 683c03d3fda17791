"""After twelve commits that count the same, one takes more faults by a state that answers leave out.

What is reused is executed once, unwatched: that shows it.
"""

from tests.hostile import slower
from tests.hostile.arena import Arena, Outcome
from tests.hostile.cases.slower_by_state import MAKER, PROGRAM

WAYS = (
    # Times within the making of a tree are left out, and so is their order.
    "order_of_times",
    "order_by_descriptor",
    "order_of_changes",
    "nanoseconds",
    "time_of_folder",
    # Numbers of the file system are left out, and so is which names are of one file.
    "order_of_numbers",
    "same_number",
    # Of blocks, only whether there are fewer than the size needs is compared.
    "blocks",
    "blocks_by_descriptor",
    "holes",
    "place_of_a_hole",
    # ioctl and fcntl are not followed.
    "flags",
    "flags_of_folder",
    "hint",
    # The state of a folder decides what a new file in it is like.
    "inherited_mode",
    # A link's own time is not compared.
    "time_of_link",
)
EARLIER = 12


def prepare(arena: Arena) -> None:
    slower.prepare(arena, WAYS, PROGRAM, MAKER, earlier=EARLIER)


def attack(arena: Arena) -> Outcome:
    return slower.history(arena, EARLIER + 3)


def held(arena: Arena, outcome: Outcome) -> None:
    found = slower.reused(outcome, arena.git("rev-parse", "HEAD~1"))
    assert not found & set(WAYS), found
