"""Sixty-four sandboxes, and each forks until it is stopped: together they must not have more than one may."""

from tests.hostile.arena import Arena, Outcome

WORDS = ("measure", "workload.toml", "--repo", ".", "--sandbox", "--samples", "1")
SOURCE = r"""
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(void) {
    char name[] = "forked-XXXXXX";
    int forked = 0;
    FILE *file = fdopen(mkstemp(name), "w");
    for (; forked < 1000; forked++) {
        pid_t child = fork();
        if (child < 0) break;
        if (child == 0) { pause(); _exit(0); }
    }
    fprintf(file, "%d", forked);
    fclose(file);
    sleep(3);
    return 1;
}
"""


def prepare(arena: Arena) -> None:
    arena.write("probe.c", SOURCE)
    arena.workload('[run]\ncommand = "./probe"\nprocesses = 64', build="command = 'cc -o probe probe.c'")
    arena.git("rm", "--quiet", "probe")
    arena.commit()


def held(arena: Arena, outcome: Outcome) -> None:
    counts = [int(file.read_text() or 0) for file in arena.home.glob("builds/*/*/tree/forked-*")]
    assert len(counts) > 60, outcome.said
    executions = len(counts) // 64  # once followed, and once more without being followed, as it fails
    assert 0 < sum(counts) <= 1024 * executions, f"{len(counts)} programs forked {sum(counts)} times"
