"""Head takes more faults where nobody follows the program: it knows that it is followed, or misleads who follows it."""

from tests.hostile import slower
from tests.hostile.arena import Arena, Outcome

PROGRAM = r"""
static long read_pages(void) { return number(open("pages", O_RDONLY)); }
static long status(const char *field) {
    static char text[8192];
    read(open("/proc/self/status", O_RDONLY), text, sizeof text - 1);
    char *found = strstr(text, field);
    return found ? atol(found + strlen(field)) : -1;
}
static long ticks(void) { unsigned low, high; __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
        return (long)high << 32 | low; }
static long executions(const char *folder, int folders) {
    char name[200];
    for (long i = 1; i < 5000; i++) {
        snprintf(name, sizeof name, "%s/execution-%s-%ld", folder, how, i);
        if (folders ? mkdir(name, 0755) == 0 : open(name, O_CREAT | O_EXCL | O_WRONLY, 0644) >= 0) return i;
    }
    return 0;
}
static volatile struct stat answer;
static char *volatile shown;
static volatile int done;
static void *show_another(void *unused) {
    while (answer.st_size == 0 && !done) continue;
    strcpy(shown, "const");
    return unused;
}
static void *go_elsewhere(void *unused) {
    while (answer.st_size == 0 && !done) continue;
    chdir("/usr");
    return unused;
}
static int arg_seen(void *page) {
    unsigned char resident = 0;
    return mincore(page, 4096, &resident) == 0 && (resident & 1);
}
static void *late_page;
static const char *late_text;
static volatile int late_ready;
static void *write_late(void *unused) {
    late_ready = 1;
    for (long i = 0; !done && i < 300000; i++) if (arg_seen(late_page)) {
        if (late_text) strcpy(late_page, late_text); else *(volatile uint64_t *)late_page = 0x00800000;
        break;
    }
    return unused;
}
static pthread_t start(void *(*body)(void *)) { pthread_t other; pthread_create(&other, 0, body, 0); return other; }
static long pages(void) {
    WAY("tracer") return status("TracerPid:\t") ? 300 : read_pages();
    WAY("filters") return status("Seccomp_filters:\t") > (getuid() && getpid() < 20 ? 1 : 0) + (access("/root",
            F_OK) ? 1 : 0) ? 300 : read_pages();
    WAY("seccomp") return prctl(PR_GET_SECCOMP) ? 300 : read_pages();
    WAY("duration") {
        long before = ticks();
        for (int i = 0; i < 200; i++) access("/", F_OK);
        long with = ticks() - before;
        before = ticks();
        for (int i = 0; i < 200; i++) syscall(SYS_getppid);
        return with > 12 * (ticks() - before) ? 300 : read_pages();
    }
    WAY("scheduler") return sched_getscheduler(0) == SCHED_OTHER ? 300 : read_pages();
    WAY("untraced") {
        int ends[2]; long got = 300;
        pipe(ends);
        long child = syscall(SYS_clone, 0x00800000 | SIGCHLD, 0, 0, 0, 0);
        if (child == 0) { long n = read_pages(); write(ends[1], &n, sizeof n); _exit(0); }
        read(ends[0], &got, sizeof got); return got;
    }
    WAY("counts_1") return executions(".", 0) > 1 ? read_pages() : 300;
    WAY("counts_2") return executions(".", 0) > 2 ? read_pages() : 300;
    WAY("counts_4") return executions(".", 0) > 4 ? read_pages() : 300;
    WAY("counts_by_folders_2") return executions(".", 1) > 2 ? read_pages() : 300;
    WAY("counts_elsewhere_2") return executions("/tmp", 0) > 2 ? read_pages() : 300;
    WAY("counts_in_shm_2") return executions("/dev/shm", 0) > 2 ? read_pages() : 300;
    WAY("age") { struct timespec now; clock_gettime(CLOCK_REALTIME, &now);
            return now.tv_sec - state("/proc/self/exe").st_mtim.tv_sec > 30 ? read_pages() : 300; }
    WAY("descriptors") {
        int used = 0;
        for (int i = 3; i < 64; i++) used += fcntl(i, F_GETFD) >= 0;
        return used ? 300 : read_pages();
    }
    WAY("shown_name") {
        static char text[64] = "size"; shown = text;
        pthread_t other = start(show_another); usleep(2000);
        stat(text, (struct stat *)&answer); done = 1; pthread_join(other, 0);
        return answer.st_size > 300 ? 1300 : 300;
    }
    WAY("other_folder") {
        pthread_t other = start(go_elsewhere); usleep(2000);
        stat("size", (struct stat *)&answer); done = 1; pthread_join(other, 0);
        return answer.st_size > 300 ? 1300 : 300;
    }
    WAY("late_clone") {
        int ends[2]; long got = 300;
        pipe(ends);
        late_page = mmap(0, 4096, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        pthread_t other = start(write_late);
        while (!late_ready) continue;
        long child = syscall(435, late_page, 64);
        if (child == 0) { long n = read_pages(); write(ends[1], &n, sizeof n); _exit(0); }
        close(ends[1]); read(ends[0], &got, sizeof got); done = 1; pthread_join(other, 0); return got;
    }
    WAY("late_link") {
        /* The name is read from a fresh page, which becomes resident when somebody reads it. */
        char here[64]; snprintf(here, sizeof here, "name-%d", getpid());
        int file = open(here, O_CREAT | O_RDWR, 0644); write(file, "const", 6);
        late_page = mmap(0, 4096, 3, MAP_PRIVATE, file, 0); late_text = "pages"; unlink(here);
        madvise(late_page, 4096, MADV_DONTNEED);
        link(late_page, "own"); long n = number(open("own", O_RDONLY)); unlink("own"); return n;
    }
    return 300;
}
"""
BUILD = """set -e
cc -O1 -pthread -o probe probe.c
pages=$((300 + 1000 * $(cat variant)))
echo $pages > pages
head -c $pages /dev/zero > size
echo 300 > const
rm -f variant
"""
WAYS = (
    "tracer",
    "filters",
    "duration",
    "untraced",
    "counts_1",
    "counts_2",
    "counts_by_folders_2",
    "descriptors",
    "shown_name",
    "other_folder",
    "late_clone",
)
HOLES: tuple[str, ...] = ()
# Not tried here: seccomp, age, scheduler and the counts elsewhere. In a sandbox such a program is never slower.


def prepare(arena: Arena) -> None:
    slower.prepare(arena, slower.chosen(WAYS, HOLES), PROGRAM, build=BUILD, keep=["execution-*"])


attack = slower.gate


def held(_: Arena, outcome: Outcome) -> None:
    slower.stopped(outcome, slower.chosen(WAYS, HOLES))
