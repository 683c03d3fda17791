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
HOLES = (
    # A name below /proc of what is missing is no question, so nobody notices when it is there.
    "state_proc",
    "state_task",
    "state_self_up",
    # These lead to /proc too, but do not begin with it: what they lead to is not looked up.
    "state_two_slashes",
    "state_dot",
    "state_up",
    "state_dev",
    "state_by_link",
    "size_two_slashes",
    "size_by_link",
    "size_made_link",
    # What the program makes itself counts as missing; that it is missing is not compared.
    "call_mknod",
    "call_mkdir",
    "call_symlink",
    "call_rename",
    # These calls are not followed, or not where they fail.
    "file_without_name",
    "call_connect",
    "call_sendto",
    "call_swapon",
    # The kernel opens the interpreter of a script or of a program by itself.
    "script",
    "interpreter",
    # Null bytes are what the path of the tree is replaced by.
    "null_bytes",
)
EARLIER = 12


def prepare(arena: Arena) -> None:
    ways = slower.chosen(WAYS, HOLES)
    slower.prepare(arena, ways, PROGRAM, build=BUILD, files=SOURCES, earlier=EARLIER)


def attack(arena: Arena) -> Outcome:
    return slower.history(arena, EARLIER + 3)


def held(arena: Arena, outcome: Outcome) -> None:
    found = slower.taken_over(outcome, arena.git("rev-parse", "HEAD~1"))
    assert not found & set(slower.chosen(WAYS, HOLES)), found
