"""The program asks whether it runs before every ordinary process of the host, asks to, and spins on every processor."""

from tests.hostile.arena import Arena, Outcome

PROBE = r"""
#define _GNU_SOURCE
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>
int main(void) {
    struct sched_param first = {1};
    if (sched_getscheduler(0) & 3) return 3;
    if (sched_setscheduler(0, SCHED_FIFO, &first) == 0 || sched_setscheduler(0, SCHED_RR, &first) == 0) return 4;
    if (setpriority(PRIO_PROCESS, 0, -1) == 0) return 5;
    for (int i = 0; i < 8; i++)
        if (fork() == 0) for (;;) { }
    usleep(300000);
    return 0;
}
"""


def prepare(arena: Arena) -> None:
    for _ in range(2):
        arena.write("probe.c", PROBE)
        arena.workload(command="./probe", build='command = "cc -o probe probe.c"')
        arena.commit()


def held(_: Arena, outcome: Outcome) -> None:
    assert "exit code" not in outcome.said, outcome.said
    assert "gate:" in outcome.output, outcome.said
