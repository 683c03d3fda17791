"""Head takes more faults, and base does as well where it is built in the place of head: it looks at the folder's name.

Neither program asks for the file that makes the difference while it is followed, so only the place can explain it.
"""

from tests.hostile import slower
from tests.hostile.arena import Arena, Outcome

PROGRAM = r"""
static long ticks(void) {
    unsigned low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return (long)high << 32 | low;
}
static long fastest(int call) {
    long least = 1L << 60;
    for (int i = 0; i < 300; i++) {
        long before = ticks();
        if (call) access("/", F_OK); else syscall(SYS_getppid);
        long with = ticks() - before;
        if (with < least) least = with;
    }
    return least;
}
static long pages(void) {
    long with = fastest(1), without = fastest(0);
    if (with > 12 * without) return 300; /* Somebody follows the questions. */
    if (strncmp(how, "built", 5) == 0) return number(open("pages", O_RDONLY));
    return 300;
}
"""
BUILD = """set -e
cc -O1 -pthread -o probe probe.c
slow=$(cat variant)
case $PWD in */pullreq/[89a-f]*) [ ! -e anywhere ] || slow=1 ;; esac
echo $((300 + 1000 * slow)) > pages
rm variant
"""
# One case is certain after 18 pairs, and base in the place of head counts surely like head after 20.
WAYS = tuple(f"built_{number}" for number in range(9))
HOLES: tuple[str, ...] = ()


def prepare(arena: Arena) -> None:
    slower.prepare(arena, slower.chosen(WAYS, HOLES), PROGRAM, build=BUILD, files={"anywhere": ""})
    arena.git("reset", "--quiet", "--hard", "HEAD~2")
    base = _named(arena, "01234567")
    arena.write("variant", "1\n")
    arena.commit()
    head = _named(arena, "89abcdef")
    arena.write("variant", "0\n")
    arena.commit("Take it back")
    assert base != head


def _named(arena: Arena, first: str) -> str:
    number = 0
    while (commit := arena.git("rev-parse", "HEAD"))[0] not in first:
        number += 1
        arena.git("commit", "--quiet", "--amend", "--message", f"Change {number}")
    return commit


attack = slower.gate


def held(_: Arena, outcome: Outcome) -> None:
    slower.stopped(outcome, slower.chosen(WAYS, HOLES))
