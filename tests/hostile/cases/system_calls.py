"""The program counts others with perf, loads BPF, opens io_uring and keys, traces its launcher, mounts, and so on."""

from tests.hostile.arena import Arena, Outcome

FAST = True
SOURCE = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#define TRY(name, ...) do { errno = 0; long r = syscall(__VA_ARGS__); \
    if (r >= 0 || (errno != EPERM && errno != ENOSYS && errno != EAFNOSUPPORT)) \
        { printf("ALLOWED %s %ld %d\n", name, r, errno); bad = 1; } } while (0)
int main(void)
{
    int bad = 0;
    char zeros[200] = {0};
    zeros[4] = 120;
    TRY("perf_event_open", SYS_perf_event_open, zeros, 0, -1, -1, 0);
    TRY("bpf", SYS_bpf, 0, zeros, 100);
    TRY("userfaultfd", SYS_userfaultfd, 1);
    TRY("io_uring_setup", 425, 1, zeros);
    TRY("keyctl", SYS_keyctl, 0, -3, 1);
    TRY("add_key", SYS_add_key, "user", "a", "b", 1, -2);
    TRY("request_key", SYS_request_key, "user", "a", 0, -2);
    TRY("ptrace", SYS_ptrace, PTRACE_ATTACH, getppid(), 0, 0);
    TRY("process_vm_readv", SYS_process_vm_readv, getppid(), 0, 0, 0, 0, 0);
    TRY("mount", SYS_mount, "none", "/tmp", "tmpfs", 0, 0);
    TRY("umount2", SYS_umount2, "/tmp", 2);
    TRY("fsopen", 430, "tmpfs", 0);
    TRY("setns", SYS_setns, 0, 0);
    TRY("chroot", SYS_chroot, ".");
    TRY("kexec_load", SYS_kexec_load, 0, 0, 0, 0);
    TRY("init_module", SYS_init_module, zeros, 1, "");
    TRY("finit_module", SYS_finit_module, 0, "", 0);
    TRY("syslog", SYS_syslog, 3, zeros, 100);
    TRY("open_by_handle_at", SYS_open_by_handle_at, 0, zeros, 0);
    TRY("vsock", SYS_socket, 40, SOCK_STREAM, 0);
    TRY("alg", SYS_socket, 38, SOCK_SEQPACKET, 0);
    FILE *symbols = fopen("/proc/kallsyms", "r");
    if (symbols && fgets(zeros, sizeof zeros, symbols)) { printf("ALLOWED kallsyms\n"); bad = 1; }
    puts(bad ? "BROKEN" : "HELD");
    return 1;
}
"""


def prepare(arena: Arena) -> None:
    arena.write("probe.c", SOURCE)
    arena.workload(build="command = 'cc -o probe probe.c'", command="./probe")
    arena.commit()


def held(_: Arena, outcome: Outcome) -> None:
    assert "HELD" in outcome.report, outcome.said + outcome.report[-3000:]
