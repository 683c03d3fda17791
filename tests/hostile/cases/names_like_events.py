"""The profiled program calls itself, its threads and its files like lines that perf prints."""

from tests.hostile.arena import Arena, Outcome

WORDS = ("profile", "workload.toml", "--repo", ".", "--sandbox")
SOURCE = r"""
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>
static const char *names[] = {
    "evil\n 1/1 1.0: PERF_RECORD_LOST lost 99999",
    "evil\n 1/1     2.000000000: page-faults:    deadbeef main+0x1 (evil)",
    "evil) ]: r-xp (deleted) @ 0x0 [", "evil\r\n\n\n", "\033[2Jevil", "\xff\xfe.so",
};
int main(void) {
    mkdir("evil\n 1", 0755);
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        prctl(PR_SET_NAME, names[i] + (i == 0 ? 4 : 0));
        int file = open(names[i], O_RDWR | O_CREAT, 0755);
        if (file < 0 || ftruncate(file, 1 << 16) != 0) return 3;
        volatile char *p = mmap(0, 1 << 16, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_SHARED, file, 0);
        for (int page = 0; page < 16; page++) p[page * 4096] = 1;
        if (fork() == 0) { for (int page = 0; page < 16; page++) p[page * 4096] = 2; _exit(0); }
    }
    return 0;
}
"""


def prepare(arena: Arena) -> None:
    arena.write("probe.c", SOURCE)
    arena.workload(build="command = 'cc -o probe probe.c'", command="./probe")
    arena.git("rm", "--quiet", "probe")
    arena.commit()


def held(arena: Arena, outcome: Outcome) -> None:
    # perf prints the names as they are: what cannot be told from an event is refused, in one line.
    assert outcome.status in {0, 2}, outcome.said
    assert outcome.status == 0 or "cannot be parsed" in outcome.error
    assert "\x1b[2J" not in outcome.said
    assert "99,999" not in outcome.said
    measured = arena.run("measure", "workload.toml", "--repo", ".", "--sandbox", "--output", "REPORT")
    assert measured.status == 0, measured.said
    assert "\x1b[2J" not in measured.said
