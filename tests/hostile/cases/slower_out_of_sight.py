"""Head does its further work where it might not be counted: switched off, late, hidden under odd or known names."""

from tests.hostile import slower
from tests.hostile.arena import Arena, Outcome

PROGRAM = r"""
#include <sys/uio.h>
#define OUTSIDE "/usr/include/linux/videodev2.h"
static int resident(void) {
    char text[16];
    struct iovec there = {text, 16};
    return preadv2(open(OUTSIDE, O_RDONLY), &there, 1, 32768, RWF_NOWAIT) > 0;
}
static void copy_itself(const char *to, int mode) {
    struct stat s;
    unlink(to);
    int self = open("/proc/self/exe", O_RDONLY), copy = open(to, O_CREAT | O_WRONLY, mode);
    fstat(self, &s);
    sendfile(copy, self, 0, s.st_size);
    close(copy);
}
static long run(const char *file, const char *word) {
    if (fork() == 0) { execl(file, file, word, NULL); _exit(9); }
    wait(NULL);
    return 300;
}
static long hidden(const char *file) {
    char path[60];
    copy_itself(file, 0111);
    snprintf(path, sizeof path, "./%s", file);
    return run(path, "work");
}
static char *work[] = {"work", "work", 0};
static long pages(void) {
    WAY("work") { touch(1000); _exit(0); }
    WAY("then_hidden") { execl("./hides/twin", "./twin", "work", NULL); _exit(9); }
    if (!SLOW) { WAY("seen_outside") return resident() ? 1300 : 300; return 300; }
    /* Base takes more faults, too, once head has read a file of the host. */
    WAY("seen_outside") { char text[16]; pread(open(OUTSIDE, O_RDONLY), text, sizeof text, 32768); return 1300; }
    WAY("switched_off") { prctl(PR_TASK_PERF_EVENTS_DISABLE); return 1300; }
    WAY("late_child") {
        if (fork() == 0) { setsid(); close(0); close(1); close(2); usleep(150000); touch(1000); _exit(0); }
        return 300;
    }
    WAY("child_of_parent") {
        if (syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0) == 0) { touch(1000); _exit(0); }
        usleep(100000);
        return 300;
    }
    WAY("memory_file") {
        struct stat s;
        int file = memfd_create("work", 0), self = open("/proc/self/exe", O_RDONLY);
        fstat(self, &s);
        sendfile(file, self, 0, s.st_size);
        if (fork() == 0) { fexecve(file, work, environ); _exit(9); }
        wait(NULL);
        return 300;
    }
    WAY("removed") {
        copy_itself("gone", 0755);
        int file = open("gone", O_PATH);
        unlink("gone");
        if (fork() == 0) { syscall(SYS_execveat, file, "", work, environ, AT_EMPTY_PATH); _exit(9); }
        wait(NULL);
        return 300;
    }
    WAY("hidden_vdso") return hidden("[vdso]");
    WAY("hidden_anon") return hidden("anon");
    WAY("hidden_line") return hidden("a\nb");
    WAY("hidden_bytes") return hidden("\377\376");
    WAY("hidden_deleted") return hidden("x (deleted)");
    WAY("hidden_like_libc") return hidden("libc.so.6");
    WAY("hidden_twin") {
        mkdir("hides", 0755);
        copy_itself("twin", 0755);
        copy_itself("hides/twin", 0111);
        return run("./twin", "then_hidden");
    }
    WAY("hidden_like_itself") { mkdir("hides", 0755); return hidden("hides/probe"); }
    WAY("populated") {
        char *p = mmap(0, 1000 * 4096, 3, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        int zero = open("/dev/zero", O_RDONLY);
        for (long i = 0; i < 1000; i++) read(zero, p + i * 4096, 1);
        return 300;
    }
    return 300;
}
"""
WAYS = (
    "seen_outside",
    "switched_off",
    "late_child",
    "child_of_parent",
    "memory_file",
    "removed",
    "hidden_vdso",
    "hidden_anon",
    "hidden_line",
    "hidden_bytes",
    "hidden_deleted",
    "hidden_like_libc",
    "hidden_twin",
    "hidden_like_itself",
    "populated",
)
HOLES: tuple[str, ...] = ()


def prepare(arena: Arena) -> None:
    fast, slow = (f"#define SLOW {slow}\n{PROGRAM}" for slow in (0, 1))
    slower.prepare(arena, slower.chosen(WAYS, HOLES), fast, slow_program=slow)


attack = slower.gate


def held(_: Arena, outcome: Outcome) -> None:
    slower.stopped(outcome, slower.chosen(WAYS, HOLES))
