"""The program looks for descriptors that the runner, perf or bubblewrap left open, in itself and in its ancestors."""

from tests.hostile.arena import Arena, Outcome

SOURCE = r"""
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(void) {
    char name[300], target[300];
    for (int fd = 3; fd < 4096; fd++)
        if (fcntl(fd, F_GETFD) >= 0) printf("OPEN %d\n", fd);
    for (int pid = 1; pid < 30; pid++) {
        if (pid == getpid()) continue;
        for (int fd = 0; fd < 64; fd++) {
            snprintf(name, sizeof name, "/proc/%d/fd/%d", pid, fd);
            ssize_t length = readlink(name, target, sizeof target - 1);
            if (length < 0) continue;
            target[length] = 0;
            /* Its own pipes and the launcher's channel, which is a socket and cannot be opened, lead nowhere. */
            int opened = open(name, O_RDWR | O_NONBLOCK);
            if (opened >= 0 && strncmp(target, "pipe:", 5) != 0 && strcmp(target, "/dev/null") != 0)
                printf("REACHED %s %s\n", name, target);
        }
        for (int up = 0; up < 3; up++) {
            const char *links[] = {"root/etc/shadow", "cwd/../../../service.key", "map_files"};
            snprintf(name, sizeof name, "/proc/%d/%s", pid, links[up]);
            DIR *folder = opendir(name);
            if (open(name, O_RDONLY) >= 0 && folder == NULL) printf("REACHED %s\n", name);
        }
    }
    puts("DONE");
    return 1;
}
"""


def prepare(arena: Arena) -> None:
    arena.write("probe.c", SOURCE)
    arena.workload(build="command = 'cc -o probe probe.c'", command="./probe")
    arena.git("rm", "--quiet", "probe")
    arena.commit()


def held(_: Arena, outcome: Outcome) -> None:
    assert "DONE" in outcome.report, outcome.said
    assert "OPEN" not in outcome.report, outcome.report[-2000:]
    assert "REACHED" not in outcome.report, outcome.report[-2000:]
