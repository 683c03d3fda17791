/*
 * Touches memory that must fault a known number of times.
 *
 *     canary KIND...     anonymous  file  copy-on-write  huge
 *
 * Prints one line for each kind: its name and the number of its faults, or "-" and why this host cannot have it.
 * Everything is made ready before the counters open; while they are open, only the touching happens.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "faultwatch_region.h"

/* With pages of 64 KiB a huge page has 512 MiB. */
#define LARGEST_HUGE_PAGE ((size_t)32 << 20)

/* The pages of each kind: prime numbers, so that a wrong sum does not look as if a kind had been left out. */
enum { ANONYMOUS = 1009, ON_FILE = 211, COPIES = 503, HUGE = 3 };

static size_t page, huge_page; /* bytes */
static pid_t other = -1; /* The child that shares the pages to be copied; -1 if there is none. */

static void *fail(const char *what)
{
    fprintf(stderr, "canary: %s: %s\n", what, strerror(errno));
    exit(1);
}

/* Map memory that gets no huge pages, so that each of its pages can fault alone; NULL if the kernel refuses. */
static char *map(size_t bytes, int flags, int file)
{
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, file, 0);
    if (memory == MAP_FAILED)
        return NULL;
    madvise(memory, bytes, MADV_NOHUGEPAGE); /* May fail where the kernel has no huge pages; then it is not needed. */
    return memory;
}

/* Write one byte to each page. */
static void touch(char *memory, size_t pages)
{
    for (size_t i = 0; i < pages; i++)
        ((volatile char *)memory)[i * page] = 1;
}

/* Pages that nobody had before: the first touch of each is one fault. */
static char *anonymous(void)
{
    char *memory = map(ANONYMOUS * page, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    return memory ? memory : fail("anonymous");
}

/* Pages of a file that lie in the page cache: each first write to a private mapping is one fault and a copy. Reading, or
   writing to a shared mapping, maps several at once: how many depends on the kernel and its file system. */
static char *on_file(const char **missing)
{
    char name[] = "canary-XXXXXX";
    int file = mkstemp(name);
    if (file < 0) {
        *missing = strerror(errno);
        return NULL;
    }
    unlink(name);
    char *zeros = calloc(ON_FILE, page);
    int written = zeros && write(file, zeros, ON_FILE * page) == (ssize_t)(ON_FILE * page);
    free(zeros);
    char *memory = written ? map(ON_FILE * page, MAP_PRIVATE, file) : NULL;
    if (memory == NULL)
        *missing = strerror(errno);
    close(file);
    return memory;
}

/* Pages that are shared with a child since fork: the first write to each copies it, with one fault. */
static char *copied(void)
{
    char *memory = map(COPIES * page, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    if (memory == NULL)
        fail("copy-on-write");
    touch(memory, COPIES);
    other = fork();
    if (other == 0)
        for (;;)
            raise(SIGSTOP);
    /* The child's own faults would be counted, and their number is unknown: once it has stopped, it takes no more. */
    if (other < 0 || waitpid(other, NULL, WUNTRACED) != other)
        fail("fork");
    return memory;
}

/* Areas that huge pages may back: one fault for each. */
static char *huge(const char **missing)
{
    FILE *size = fopen("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size", "r");
    *missing = "this kernel has no transparent huge pages";
    if (size == NULL)
        return NULL;
    int known = fscanf(size, "%zu", &huge_page);
    fclose(size);
    if (known != 1)
        return NULL;
    if (huge_page > LARGEST_HUGE_PAGE) {
        *missing = "this kernel's huge pages are too large to touch in a check";
        return NULL;
    }
    char *memory = mmap(NULL, (HUGE + 1) * huge_page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        fail("huge");
    /* Round up to a multiple of the size of a huge page, for which one more was mapped. */
    memory = (char *)(((size_t)memory + huge_page - 1) & ~(huge_page - 1));
    if (madvise(memory, HUGE * huge_page, MADV_HUGEPAGE) != 0)
        return NULL;
    *missing = NULL;
    return memory;
}

/* How many bytes of an area lie in huge pages, as the kernel says. */
static size_t bytes_in_huge_pages(const char *memory)
{
    FILE *maps = fopen("/proc/self/smaps", "r");
    char line[512];
    int inside = 0;
    size_t kib = 0, start, end, part;
    while (maps && fgets(line, sizeof line, maps)) {
        if (sscanf(line, "%zx-%zx ", &start, &end) == 2)
            inside = start >= (size_t)memory && end <= (size_t)memory + HUGE * huge_page;
        else if (inside && sscanf(line, "AnonHugePages: %zu", &part) == 1)
            kib += part;
    }
    if (maps)
        fclose(maps);
    return kib << 10;
}

/* Return whether a kind is among the arguments. */
static int asked(int count, char **names, const char *name)
{
    for (int i = 1; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return 1;
    return 0;
}

/* Print the line of a kind: its faults, or why this host cannot have it. */
static void tell(const char *kind, int faults, const char *missing)
{
    if (missing)
        printf("%s - %s\n", kind, missing);
    else
        printf("%s %d\n", kind, faults);
}

int main(int count, char **names)
{
    const char *no_file = NULL, *no_huge = NULL;
    page = (size_t)sysconf(_SC_PAGESIZE);
    char *fresh = asked(count, names, "anonymous") ? anonymous() : NULL;
    char *file = asked(count, names, "file") ? on_file(&no_file) : NULL;
    char *large = asked(count, names, "huge") ? huge(&no_huge) : NULL;
    char *shared = asked(count, names, "copy-on-write") ? copied() : NULL;

    faultwatch_region_begin();
    if (fresh)
        touch(fresh, ANONYMOUS);
    if (file)
        touch(file, ON_FILE);
    if (shared)
        touch(shared, COPIES);
    if (large)
        touch(large, HUGE * (huge_page / page));
    faultwatch_region_end();

    if (other > 0)
        kill(other, SIGKILL);
    if (large && bytes_in_huge_pages(large) != HUGE * huge_page)
        no_huge = "this host gave no huge pages: they are switched off, or its memory is too fragmented";
    if (fresh)
        tell("anonymous", ANONYMOUS, NULL);
    if (file || no_file)
        tell("file", ON_FILE, no_file);
    if (shared)
        tell("copy-on-write", COPIES, NULL);
    if (large || no_huge)
        tell("huge", HUGE, no_huge);
    return 0;
}
