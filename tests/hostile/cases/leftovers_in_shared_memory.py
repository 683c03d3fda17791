"""An execution leaves messages for the next one: in /dev/shm, /tmp, System V memory, POSIX queues, keys."""

from tests.hostile.arena import Arena, Outcome

SOURCE = r"""
#include <fcntl.h>
#include <mqueue.h>
#include <stdio.h>
#include <sys/ipc.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <unistd.h>
static int bad;
static void leave(const char *name) {
    if (access(name, F_OK) == 0) { printf("LEFT %s\n", name); bad = 1; }
    close(open(name, O_CREAT | O_WRONLY, 0666));
}
int main(void) {
    leave("/dev/shm/left"); leave("/tmp/left"); leave("/dev/left"); leave("/run/left"); leave("/var/tmp/left");
    if (shmget(4711, 4096, 0) >= 0 || semget(4711, 1, 0) >= 0) { puts("LEFT System V"); bad = 1; }
    if (shmget(4711, 4096, IPC_CREAT | 0666) < 0 || semget(4711, 1, IPC_CREAT | 0666) < 0) puts("NOT MADE");
    if (mq_open("/left", O_RDONLY) >= 0) { puts("LEFT queue"); bad = 1; }
    mq_open("/left", O_CREAT | O_RDWR, 0666, NULL);
    return bad;
}
"""


def prepare(arena: Arena) -> None:
    arena.write("probe.c", SOURCE)
    arena.workload(build="command = 'cc -o probe probe.c -lrt'", command="./probe")
    arena.git("rm", "--quiet", "probe")
    arena.commit()


def held(arena: Arena, outcome: Outcome) -> None:
    done = arena.run("measure", "workload.toml", "--repo", ".", "--sandbox", "--output", "REPORT")
    assert done.status == 0, done.report[-2000:] + done.said + outcome.said
