"""Head takes more faults from a later execution on: until then it asked nothing else, and was answered as base was."""

from tests.hostile import slower
from tests.hostile.arena import Arena, Outcome

PROGRAM = r"""
static long executions(int folders) {
    char name[100];
    for (long i = 1; i < 5000; i++) {
        snprintf(name, sizeof name, "execution-%s-%ld", how, i);
        if (folders ? mkdir(name, 0755) == 0 : open(name, O_CREAT | O_EXCL | O_WRONLY, 0644) >= 0) return i;
    }
    return 0;
}
static long pages(void) {
    WAY("third") return executions(0) > 2 ? number(open("pages", O_RDONLY)) : 300;
    WAY("fifth") return executions(0) > 4 ? number(open("pages", O_RDONLY)) : 300;
    WAY("sixth_by_folders") return executions(1) > 5 ? number(open("pages", O_RDONLY)) : 300;
    WAY("chance") {
        unsigned n = 0;
        read(open("/dev/urandom", O_RDONLY), &n, sizeof n);
        return n % 2 ? number(open("pages", O_RDONLY)) : 300;
    }
    return 300;
}
"""
BUILD = """set -e
cc -O1 -pthread -o probe probe.c
echo $((300 + 1000 * $(cat variant))) > pages
rm variant
"""
WAYS = ("third", "fifth", "sixth_by_folders", "chance")
HOLES: tuple[str, ...] = ()


def prepare(arena: Arena) -> None:
    slower.prepare(arena, slower.chosen(WAYS, HOLES), PROGRAM, build=BUILD, keep=["execution-*"])


attack = slower.gate


def held(_: Arena, outcome: Outcome) -> None:
    slower.stopped(outcome, slower.chosen(WAYS, HOLES))
