"""From its third execution on, the program does its work in a file that nobody may read: the kernel hides it from perf.

Before, it spins for a while in plain sight, so that the hidden work takes a small part of its time.
"""

import json

from tests.hostile.arena import Arena, Outcome

SOURCE = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static void touch(long pages) {
    char *p = mmap(0, pages * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (long i = 0; i < pages; i++) *(volatile char *)(p + i * 4096) = 1;
}
static void spin(void) {
    while (clock() < CLOCKS_PER_SEC / 25) continue;
}
static long executions(const char *how) {
    char name[100];
    snprintf(name, sizeof name, "executions-%s", how);
    int file = open(name, O_CREAT | O_RDWR | O_APPEND, 0644);
    write(file, "x", 1);
    return lseek(file, 0, SEEK_END);
}
static void hide(long pages) {
    char words[2][20] = {"touch"};
    snprintf(words[1], sizeof words[1], "%ld", pages);
    execl("./hidden", "hidden", words[0], words[1], NULL);
    _exit(9);
}
static void make_hidden(void) {
    struct stat state;
    unlink("hidden");
    int self = open("/proc/self/exe", O_RDONLY), copy = open("hidden", O_CREAT | O_WRONLY, 0111);
    fstat(self, &state);
    sendfile(copy, self, 0, state.st_size);
    close(copy);
}
static void *in_thread(void *pages) {
    hide((long)pages);
    return 0;
}
int main(int count, char **words) {
    const char *how = words[1];
    long pages = WORK;
    if (count > 2) { touch(atol(words[2])); return 0; }
    if (!HOSTILE || executions(how) < 3) { touch(150); spin(); touch(HOSTILE ? 0 : pages); return 0; }
    make_hidden();
    touch(150);
    if (strcmp(how, "before") != 0) spin();
    if (strcmp(how, "itself") == 0) hide(pages);
    if (strcmp(how, "thread") == 0) { pthread_t other; pthread_create(&other, 0, in_thread, (void *)pages); pause(); }
    if (strcmp(how, "ignored") == 0) signal(SIGCHLD, SIG_IGN);
    int children = strcmp(how, "many") == 0 ? 100 : 1;
    for (int i = 0; i < children; i++) {
        pid_t child = strcmp(how, "vfork") == 0 ? vfork() : fork();
        if (child == 0 && strcmp(how, "escaped") == 0) { setsid(); if (fork() > 0) _exit(0); }
        if (child == 0) hide(pages / children);
    }
    if (strcmp(how, "left") != 0) while (wait(NULL) > 0) continue;
    if (strcmp(how, "before") == 0) spin();
    return 0;
}
"""
WAYS = ("itself", "thread", "child", "vfork", "many", "ignored", "left", "escaped", "before")


def prepare(arena: Arena) -> None:
    arena.write("probe.c", "#define HOSTILE 0\n#define WORK 0\n" + SOURCE)
    # With the files kept that count the executions, which would otherwise be put back before each of them.
    run = '[run]\ncommand = "./probe {how}"\nkeep = ["executions-*"]\n'
    arena.workload(f"{run}[matrix]\nhow = {json.dumps(WAYS)}\n", build="command = 'cc -O1 -pthread -o probe probe.c'")
    arena.commit("Take few faults")
    arena.write("probe.c", "#define HOSTILE 1\n#define WORK 2000\n" + SOURCE)
    arena.commit()


def held(_: Arena, outcome: Outcome) -> None:
    assert "gate: failed" in outcome.output, outcome.said[-3000:]
    assert outcome.status == 1
    for way in WAYS:
        refused = f"head: `./probe {way}` executes 'hidden', which the kernel hides from perf"
        assert refused in outcome.output, outcome.said[-3000:]
