"""The program marks files set-user-ID: another user of the host then becomes the runner's user by executing them."""

from tests.hostile.arena import Arena, Outcome

SOURCE = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(void) {
    umask(0);
    close(open("plain", O_CREAT | O_WRONLY, 0755));
    chmod("plain", 04755);
    fchmod(open("plain", O_RDONLY), 06755);
    fchmodat(AT_FDCWD, "plain", 02755, 0);
    syscall(452, AT_FDCWD, "plain", 04755, 0);
    close(open("opened", O_CREAT | O_WRONLY, 04755));
    close(openat(AT_FDCWD, "opened-at", O_CREAT | O_WRONLY, 06755));
    close(creat("created", 04755));
    struct { unsigned long long flags, mode, resolve; } how = {O_CREAT | O_WRONLY, 04755, 0};
    syscall(437, AT_FDCWD, "opened-2", &how, sizeof how);
    mknod("made", S_IFREG | 04755, 0);
    mkdir("folder", 02777);
    struct stat state;
    puts(stat("plain", &state) == 0 && state.st_size == 0 ? "DONE" : "NO FILE");
    return 1;
}
"""


def prepare(arena: Arena) -> None:
    arena.write("probe.c", SOURCE)
    arena.workload(build="command = 'cc -o probe probe.c'", command="./probe")
    arena.commit()


def held(arena: Arena, outcome: Outcome) -> None:
    assert "DONE" in outcome.report, outcome.said
    marked = [path for path in arena.home.rglob("*") if not path.is_symlink() and path.stat().st_mode & 0o6000]
    assert not marked
