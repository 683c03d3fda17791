"""Head takes more faults because of what a program learns of an open file, of a folder, or of what it makes itself."""

from tests.hostile import slower
from tests.hostile.arena import Arena, Outcome
from tests.hostile.cases.slower_by_state import MAKER, PROGRAM

WAYS = (
    "blocks_by_descriptor",
    "flags",
    "flags_of_folder",
    "time_by_descriptor",
    "folder_by_descriptor",
    "links_by_descriptor",
    "attribute_by_descriptor",
    "own_time",
    "inherited_mode",
    "links_of_folder",
    "time_of_link",
)
HOLES: tuple[str, ...] = ()


def prepare(arena: Arena) -> None:
    slower.prepare(arena, slower.chosen(WAYS, HOLES), PROGRAM, MAKER)


attack = slower.gate


def held(_: Arena, outcome: Outcome) -> None:
    slower.stopped(outcome, slower.chosen(WAYS, HOLES))
