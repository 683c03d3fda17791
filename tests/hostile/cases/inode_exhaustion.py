"""The program makes empty files and folders without end: they take no bytes, but inodes, and memory of the kernel's."""

import os

from runner.execution.resource_guard import MIN_FREE_FILES
from tests.hostile.arena import Arena, Outcome

USERS = ("root",)
WORDS = ("measure", "workload.toml", "--repo", ".", "--sandbox", "--output", "REPORT")
SOURCE = r"""
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
int main(void) {
    char name[100];
    for (int folder = 0; folder < 10000; folder++) {
        snprintf(name, sizeof name, "d%d", folder);
        if (mkdir(name, 0755) != 0 || chdir(name) != 0) return 1;
        for (int file = 0; file < 1000; file++) {
            snprintf(name, sizeof name, "%d", file);
            close(open(name, O_CREAT | O_WRONLY, 0644));
        }
        chdir("..");
    }
    return 0;
}
"""


def prepare(arena: Arena) -> None:
    arena.write("probe.c", SOURCE)
    arena.workload(build="command = 'cc -o probe probe.c'", command="./probe")
    text = (arena.subject / "workload.toml").read_text()
    arena.write("workload.toml", text.replace("timeout = 20\n", "timeout = 150\n"))
    arena.git("rm", "--quiet", "probe")
    arena.commit()


def held(arena: Arena, outcome: Outcome) -> None:
    assert any(end in outcome.report for end in ("free inodes", "created more than", "memory limit")), outcome.said
    state = os.statvfs(arena.home)
    assert not state.f_files or state.f_ffree > MIN_FREE_FILES
