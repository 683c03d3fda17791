"""Head takes more faults in most executions, and fewer or as many in the others, so that pairs favour neither side."""

from tests.hostile import slower
from tests.hostile.arena import Arena, Outcome

CHANCE = r"""
static unsigned chance(void) { unsigned n = 0; read(open("/dev/urandom", O_RDONLY), &n, sizeof n); return n % 1000000; }
static long executions(void) {
    char name[60];
    snprintf(name, sizeof name, "executions-%s", how);
    int file = open(name, O_CREAT | O_RDWR | O_APPEND, 0644);
    write(file, "x", 1);
    return lseek(file, 0, SEEK_END);
}
"""
QUICK_PROGRAM = (
    CHANCE
    + r"""
static long pages(void) {
    executions(); chance();
    WAY("wide_base") return 300 + chance() % 40000;
    return 300;
}
"""
)
SLOW = (
    CHANCE
    + r"""
static long pages(void) {
    long execution = executions(), n = chance();
    WAY("wide_base") return 1300 + chance() % 40000;
    WAY("half") return n % 2 ? 298 : 9300;
    WAY("every_other") return execution % 2 ? 298 : 9300;
    WAY("two_of_four") return execution / 2 % 2 ? 298 : 9300;
    WAY("55_percent") return n < 550000 ? 1300 : 299;
    WAY("60_percent") return n < 600000 ? 1300 : 300;
    WAY("60_percent_else_less") return n < 600000 ? 1300 : 200;
    WAY("later_than_12") return execution > 12 ? 1300 : 300;
    WAY("later_than_30") return execution > 30 ? 1300 : 300;
    WAY("always_more") return 301 + n % 4000;
    return 300;
}
"""
)
WAYS = (
    "60_percent",
    "later_than_12",
    "always_more",
    "half",
    "every_other",
    "two_of_four",
    "55_percent",
    "60_percent_else_less",
)
HOLES = (
    # Base varies by 40 times as much as head is slower.
    "wide_base",
    # Nobody executes it that often.
    "later_than_30",
)


def prepare(arena: Arena) -> None:
    slower.prepare(arena, slower.chosen(WAYS, HOLES), QUICK_PROGRAM, slow_program=SLOW, keep=["executions-*"])


attack = slower.gate


def held(_: Arena, outcome: Outcome) -> None:
    slower.stopped(outcome, slower.chosen(WAYS, HOLES))
