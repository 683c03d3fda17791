"""The program maps code so fast that records of what is executed get lost, and hides its work from perf meanwhile."""

from tests.hostile.arena import Arena, Outcome

SOURCE = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
static long executions(void) {
    int file = open("executions", O_CREAT | O_RDWR | O_APPEND, 0644);
    write(file, "x", 1);
    return lseek(file, 0, SEEK_END);
}
int main(int count, char **words) {
    if (count > 1) {
        char *p = mmap(0, 2000 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        for (long i = 0; i < 2000; i++) *(volatile char *)(p + i * 4096) = 1;
        return 0;
    }
    if (!HOSTILE || executions() < 3) return 0;
    struct stat state;
    unlink("hidden");
    int self = open("/proc/self/exe", O_RDONLY), copy = open("hidden", O_CREAT | O_WRONLY, 0111);
    fstat(self, &state);
    sendfile(copy, self, 0, state.st_size);
    close(copy);
    signal(SIGCHLD, SIG_IGN);
    for (int i = 0; i < 8; i++)
        if (fork() == 0) {
            for (int j = 0; j < 50000; j++)
                munmap(mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, self, 0), 4096);
            _exit(0);
        }
    usleep(5000);
    if (fork() == 0) { execl("./hidden", "hidden", "work", NULL); _exit(9); }
    while (wait(NULL) > 0) continue;
    return 0;
}
"""


def prepare(arena: Arena) -> None:
    arena.write("probe.c", "#define HOSTILE 0\n" + SOURCE)
    # With the file kept that counts the executions, which would otherwise be put back before each of them.
    run = '[run]\ncommand = "./probe"\nkeep = ["executions"]\n'
    arena.workload(run, build="command = 'cc -O1 -o probe probe.c'")
    arena.commit("Do nothing")
    arena.write("probe.c", "#define HOSTILE 1\n" + SOURCE)
    arena.commit()


def held(_: Arena, outcome: Outcome) -> None:
    assert "gate: failed" in outcome.output, outcome.said[-3000:]
    hidden, missed = "executes 'hidden', which the kernel hides", "may have uncounted faults"
    assert hidden in outcome.output or missed in outcome.output, outcome.said[-3000:]
