"""Head takes more faults because of a file that the program reaches by an unusual name or an unusual call."""

from tests.hostile import slower
from tests.hostile.arena import Arena, Outcome

PROGRAM = r"""
struct how { uint64_t flags, mode, resolve; };
static char name[PATH_MAX + 100];
static const char *in(const char *before, const char *after) {
    char here[PATH_MAX];
    snprintf(name, sizeof name, "%s%s/%s", before, getcwd(here, sizeof here), after);
    return name;
}
static int there(const char *path) { struct stat s; return stat(path, &s) == 0; }
static int existed(long result) { return result == 0 || errno != ENOENT; }
static long pages(void) {
    int file, other;
    WAY("proc_cwd") return number(open("/proc/self/cwd/pages", O_RDONLY));
    WAY("proc_root") return number(open(in("/proc/self/root", "pages"), O_RDONLY));
    WAY("proc_thread") return number(open("/proc/thread-self/cwd/pages", O_RDONLY));
    WAY("proc_descriptor") {
        snprintf(name, sizeof name, "/proc/self/fd/%d", open("pages", O_PATH));
        return number(open(name, O_RDONLY));
    }
    WAY("dev_descriptor") {
        snprintf(name, sizeof name, "/dev/fd/%d/pages", open(".", O_PATH));
        return number(open(name, O_RDONLY));
    }
    WAY("state_proc") return there("/proc/self/cwd/slow") ? 1300 : 300;
    WAY("state_two_slashes") return there("//proc/self/cwd/slow") ? 1300 : 300;
    WAY("state_two_inside") return there("/proc//self/cwd/slow") ? 1300 : 300;
    WAY("state_dot") return there("/./proc/self/cwd/slow") ? 1300 : 300;
    WAY("state_up") return there("/usr/../proc/self/cwd/slow") ? 1300 : 300;
    WAY("state_self_up") return there("/proc/self/../self/cwd/slow") ? 1300 : 300;
    WAY("state_dev") {
        snprintf(name, sizeof name, "/dev/fd/%d/slow", open(".", O_PATH));
        return there(name) ? 1300 : 300;
    }
    WAY("state_in_proc") { chdir("/proc/self/cwd/sub"); return there("../slow") ? 1300 : 300; }
    WAY("state_task") { snprintf(name, sizeof name, "/proc/self/task/%d/cwd/slow", getpid());
            return there(name) ? 1300 : 300; }
    WAY("state_by_link") return there("up/slow") ? 1300 : 300;
    WAY("content_by_link") return number(open("up/pages", O_RDONLY));
    WAY("size_proc") return state("/proc/self/cwd/size").st_size;
    WAY("size_two_slashes") return state("//proc/self/cwd/size").st_size;
    WAY("size_dev") {
        snprintf(name, sizeof name, "/dev/fd/%d", open("size", O_PATH));
        return state(name).st_size;
    }
    WAY("size_by_path_descriptor") return state_of(open("size", O_PATH)).st_size;
    WAY("size_by_link") return state("up/size").st_size;
    WAY("size_made_link") { symlink("/proc/self/cwd/size", "own"); long n = state("own").st_size; unlink("own");
            return n; }
    WAY("content_made_link") { symlink("pages", "own"); long n = number(open("own", O_RDONLY)); unlink("own");
            return n; }
    WAY("hard_link") { link("pages", "own"); long n = number(open("own", O_RDONLY)); unlink("own"); return n; }
    WAY("hard_link_of_descriptor") {
        snprintf(name, sizeof name, "/proc/self/fd/%d", open("pages", O_PATH));
        linkat(AT_FDCWD, name, AT_FDCWD, "own", AT_SYMLINK_FOLLOW);
        long n = number(open("own", O_RDONLY)); unlink("own"); return n;
    }
    WAY("made_if_missing") return number(open("pages", O_CREAT | O_RDONLY, 0644));
    WAY("made_in_folder") { int made = open("slow/own", O_CREAT | O_RDWR, 0644) >= 0; unlink("slow/own");
            return made ? 1300 : 300; }
    WAY("made_folder_in_folder") { int made = mkdir("slow/own", 0755) == 0; rmdir("slow/own");
            return made ? 1300 : 300; }
    WAY("linked_into_folder") { int made = link("pages", "slow/own") == 0; unlink("slow/own");
            return made ? 1300 : 300; }
    WAY("moved_into_folder") {
        close(open("own", O_CREAT, 0644));
        int made = rename("own", "slow/own") == 0; unlink("slow/own"); unlink("own"); return made ? 1300 : 300;
    }
    WAY("file_without_name") return open("slow", O_TMPFILE | O_RDWR, 0600) >= 0 ? 1300 : 300;
    WAY("in_root") {
        struct how h = {O_RDONLY, 0, 0x10};
        return number(syscall(437, open(".", O_PATH), "/pages", &h, sizeof h));
    }
    WAY("open_tree") {
        snprintf(name, sizeof name, "/proc/self/fd/%d", (int)syscall(428, AT_FDCWD, "pages", 0));
        return number(open(name, O_RDONLY));
    }
    WAY("long_name") {
        for (int i = 0; i < 2000; i++) strcat(name, "./");
        return number(open(strcat(name, "pages"), O_RDONLY));
    }
    WAY("state_long_name") {
        for (int i = 0; i < 2040; i++) strcat(name, "./");
        return there(strcat(name, "slow")) ? 1300 : 300;
    }
    WAY("deleted_name") return number(open("pages (deleted)", O_RDONLY));
    WAY("newline_name") return number(open("pages\nl x", O_RDONLY));
    WAY("null_bytes") { char c = 1; read(open("place", O_RDONLY), &c, 1); return c ? 1300 : 300; }
    WAY("far_in_a_hole") { char c = 0; pread(open("sparse", O_RDONLY), &c, 1, 900L << 20); return c ? 1300 : 300; }
    WAY("script") { execl("./script", "script", NULL); return 3; }
    WAY("interpreter") { execl("./interpreted", "interpreted", NULL); return 3; }
    WAY("executed_path_descriptor") {
        file = open("worker", O_PATH); char *words[] = {"worker", 0};
        syscall(SYS_execveat, file, "", words, environ, AT_EMPTY_PATH); return 3;
    }
    WAY("executed_failing") { execl("./executable", "executable", NULL); return errno == EACCES ? 1300 : 300; }
    WAY("call_statfs") { struct statfs s; return existed(statfs("slow", &s)) ? 1300 : 300; }
    WAY("call_truncate") return existed(truncate("slow", 0)) ? 1300 : 300;
    WAY("call_chown") return existed(chown("slow", -1, -1)) ? 1300 : 300;
    WAY("call_mknod") { if (mknod("slow", S_IFREG, 0)) return 1300; unlink("slow"); return 300; }
    WAY("call_mkdir") { if (mkdir("slow", 0755)) return 1300; rmdir("slow"); return 300; }
    WAY("call_symlink") { if (symlink("x", "slow")) return 1300; unlink("slow"); return 300; }
    WAY("call_rename") {
        close(open("own", O_CREAT, 0644));
        if (syscall(SYS_renameat2, AT_FDCWD, "own", AT_FDCWD, "slow", 1)) { unlink("own"); return 1300; }
        unlink("slow"); return 300;
    }
    WAY("call_bind") {
        struct sockaddr_un a = {AF_UNIX, "slow"};
        if (bind(socket(AF_UNIX, SOCK_STREAM, 0), (void *)&a, sizeof a)) return 1300;
        unlink("slow"); return 300;
    }
    WAY("call_connect") {
        struct sockaddr_un a = {AF_UNIX, "slow"};
        return existed(connect(socket(AF_UNIX, SOCK_STREAM, 0), (void *)&a, sizeof a)) ? 1300 : 300;
    }
    WAY("call_sendto") {
        struct sockaddr_un a = {AF_UNIX, "slow"};
        return existed(sendto(socket(AF_UNIX, SOCK_DGRAM, 0), "x", 1, 0, (void *)&a, sizeof a)) ? 1300 : 300;
    }
    WAY("call_inotify") return inotify_add_watch(inotify_init(), "slow", IN_OPEN) >= 0 ? 1300 : 300;
    WAY("call_removexattr") return existed(removexattr("slow", "user.none")) ? 1300 : 300;
    WAY("call_handle") {
        struct { struct file_handle h; char room[128]; } h = {{128, 0}};
        int mount; return existed(name_to_handle_at(AT_FDCWD, "slow", &h.h, &mount, 0)) ? 1300 : 300;
    }
    WAY("call_unlink") return existed(unlink("slowfolder")) ? 1300 : 300;
    WAY("call_swapon") return existed(syscall(SYS_swapon, "slowfolder", 0)) ? 1300 : 300;
    WAY("call_32_bit") {
        int result; char *low = mmap(0, 4096, 3, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
        strcpy(low, "pages");
        __asm__ volatile("int $0x80" : "=a"(result) : "a"(5), "b"(low), "c"(0), "d"(0) : "memory", "r8", "r9",
                "r10", "r11");
        return number(result);
    }
    (void)file; (void)other;
    return 300;
}
"""
BUILD = """set -e
cc -O1 -pthread -o probe probe.c
slow=$(cat variant)
pages=$((300 + 1000 * slow))
echo $pages > pages; cp pages 'pages (deleted)'; cp pages "$(printf 'pages\\nl x')"
head -c $pages /dev/zero > size
mkdir sub
ln -s /proc/self/cwd up
if [ $slow = 1 ]; then mkdir slow slowfolder; pwd > place; else { head -c $(pwd | tr -d '\\n' | wc -c) /dev/zero;
        echo; } > place; fi
truncate -s 1000M sparse; printf "\\\\$slow" | dd of=sparse bs=1 seek=943718400 conv=notrunc status=none
cc -static -O0 -DN=$pages -o worker worker.c
printf '#!./worker\\n' > script; chmod +x script
printf 'int main(){return 0;}' > x.c; cc -O0 -Wl,--dynamic-linker=./loader -o interpreted x.c; rm x.c
cc -O1 -static -nostdlib -fno-stack-protector -DN=$pages -o loader loader.c
: > executable; [ $slow = 1 ] || chmod +x executable
rm -f variant
"""
WORKER = r"""
#include <sys/mman.h>
int main(void) {
    char *p = mmap(0, N * 4096L, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (long i = 0; i < N; i++) p[i * 4096] = 1;
    return 0;
}
"""
LOADER = r"""
static long call(long number, long a, long b, long c, long d, long e, long f) {
    register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}
void _start(void) {
    char *p = (char *)call(9, 0, N * 4096L, 3, 0x22, -1, 0);
    for (long i = 0; i < N; i++) *(volatile char *)(p + i * 4096) = 1;
    call(231, 0, 0, 0, 0, 0, 0);
}
"""
SOURCES = {"worker.c": WORKER, "loader.c": LOADER}
WAYS = (
    "state_proc",
    "state_two_slashes",
    "state_dev",
    "size_by_link",
    "size_made_link",
    "file_without_name",
    "null_bytes",
    "script",
    "interpreter",
    "call_mkdir",
    "call_connect",
)
HOLES: tuple[str, ...] = ()
# Not here: a file whose name is no UTF-8. If it differs between trees that are answered the same, the gate ends with
# a traceback: the list of differences is not valid text.


def prepare(arena: Arena) -> None:
    slower.prepare(arena, slower.chosen(WAYS, HOLES), PROGRAM, build=BUILD, files=SOURCES)


attack = slower.gate


def held(_: Arena, outcome: Outcome) -> None:
    slower.stopped(outcome, slower.chosen(WAYS, HOLES))
