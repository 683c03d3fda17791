"""The program makes empty files and folders without end: they take no bytes, but inodes."""

import os

from tests.hostile.arena import Arena, Outcome

USERS = ("root",)
WORDS = ("measure", "workload.toml", "--repo", ".", "--sandbox", "--report", "REPORT")
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
    arena.workload('timeout = 80\n[run]\ncommand = "./probe"', build="command = 'cc -o probe probe.c'")
    text = (arena.subject / "workload.toml").read_text()
    arena.write(
        "workload.toml", text.replace("timeout = 20\n", "timeout = 80\n", 1).replace("\ntimeout = 80\n[run]", "\n[run]")
    )
    arena.git("rm", "--quiet", "probe")
    arena.commit()
    # On a full disk every attack would hold.
    assert os.statvfs(arena.home).f_ffree == 0 or os.statvfs(arena.home).f_ffree > 1_500_000


def held(_: Arena, outcome: Outcome) -> None:
    assert "files (inodes)" in outcome.report or "made more than" in outcome.report, outcome.said
