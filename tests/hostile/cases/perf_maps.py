"""The program writes perf's maps of functions, /tmp/perf-PID.map: a pipe, gigabytes, names with escapes."""

from tests.hostile.arena import Arena, Outcome

WORDS = ("profile", "workload.toml", "--repo", ".", "--sandbox")
SOURCE = r"""
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
/* Touches 400 pages from code that lies in no file, so that its name can only come from a map. */
static unsigned char touch[] = {0xb9, 0x90, 1, 0, 0, 0xc6, 0x07, 1, 0x48, 0x81, 0xc7,
                                0, 0x10, 0, 0, 0xff, 0xc9, 0x75, 0xf2, 0xc3};
int main(void) {
    char name[100];
    unsigned char *code = mmap(0, 4096, 7, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *data = mmap(0, 401 * 4096, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(code, touch, sizeof touch);
    for (int pid = 1; pid < 300; pid++) {
        snprintf(name, sizeof name, "/tmp/perf-%d.map", pid);
        if (pid % 3 == 0) { mkfifo(name, 0666); continue; }
        FILE *map = fopen(name, "w");
        if (!map) continue;
        fprintf(map, "%lx 1000 \033[2J::error::pwned\n", (unsigned long)code);
        fclose(map);
        if (pid % 3 == 1) truncate(name, 1L << 31);
    }
#ifdef __x86_64__
    ((void (*)(char *))code)(data);
#endif
    return 0;
}
"""


def prepare(arena: Arena) -> None:
    arena.write("probe.c", SOURCE)
    arena.workload(build="command = 'cc -o probe probe.c'", command="./probe")
    arena.git("rm", "--quiet", "probe")
    arena.commit()


def held(_: Arena, outcome: Outcome) -> None:
    assert outcome.status == 0, outcome.said
    assert "\x1b[2J" not in outcome.said
    # The program may choose the names of its functions, but they are no commands of a CI system.
    assert not [line for line in outcome.said.splitlines() if line.lstrip().startswith("::")]
