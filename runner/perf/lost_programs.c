/*
 * Say which programs perf lost, of processes and all their children.
 *
 *     lost_programs PROCESS...
 *
 * When a program changes its user or may not be read, the kernel takes all counters from it: after the record that
 * it was executed, before the record of its first mapping. Every other program is mapped. So this attaches to waiting
 * processes an event that counts nothing, prints "ready", and reads the records of what is executed and mapped until
 * its standard input ends. Then it prints
 *
 *     MISSED\0[NAME\0]...
 *
 * where MISSED is the number of records that did not fit into a buffer: if there are any, the names say nothing.
 *
 * Faults make no records, and only executable mappings do, so a program is as fast as without.
 *
 * Each CPU has one buffer, in which the records are in order of time. Between CPUs there is no order, so the records
 * that were read in one round wait until the next round has shown that no older ones will follow.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define ALL_BYTES ((size_t)4 << 20) /* Of all buffers together, unless each would be smaller than the least. */
#define LEAST_BYTES ((size_t)64 << 10)
#define MOST_BYTES ((size_t)512 << 10)
#define NAME_BYTES 16 /* As in the kernel. */
#define MOST_LOST 100

enum kind { BEGIN, EXECUTED, MAPPED, END };

struct entry {
    uint64_t time;
    uint32_t process, order; /* Records of the same time stay in the order in which they were read. */
    enum kind kind;
    char name[NAME_BYTES];
};

struct list {
    struct entry *entries;
    size_t count, room;
};

struct ring {
    int event;
    struct perf_event_mmap_page *page;
    uint64_t size;
};

static struct ring *rings;
static size_t ring_count;
static struct list waiting;  /* Records that older ones may follow. */
static struct list unmapped; /* What processes executed without having mapped anything since. */
static struct list lost;
static uint64_t missed;

static void fail(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
    exit(1);
}

static void *grow(void *memory, size_t count, size_t size)
{
    void *more = realloc(memory, count * size);
    if (more == NULL)
        fail("memory");
    return more;
}

/* Append an entry to a list. */
static void add(struct list *list, struct entry entry)
{
    if (list->count == list->room) {
        list->room = list->room ? 2 * list->room : 256;
        list->entries = grow(list->entries, list->room, sizeof entry);
    }
    list->entries[list->count++] = entry;
}

/* Map a buffer of at most this many bytes: a number of pages that is a power of two. */
static void map_ring(int event, size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t pages = bytes > page ? bytes / page : 1; pages > 0; pages /= 2) {
        void *memory = mmap(NULL, (pages + 1) * page, PROT_READ | PROT_WRITE, MAP_SHARED, event, 0);
        if (memory != MAP_FAILED) {
            rings = grow(rings, ring_count + 1, sizeof *rings);
            rings[ring_count++] = (struct ring){event, memory, pages * page};
            return;
        }
        if (errno != EPERM && errno != ENOMEM)
            break;
    }
    fail("a buffer");
}

/* Record what a process and its later children execute and map: one event, which counts nothing, for each CPU. */
static void attach(pid_t process, int cpus)
{
    struct perf_event_attr programs = {
        .size = sizeof programs, .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY, .sample_period = 1,
        .sample_type = PERF_SAMPLE_TIME, .sample_id_all = 1, .use_clockid = 1, .clockid = CLOCK_MONOTONIC,
        .inherit = 1, .exclude_kernel = 1, .exclude_hv = 1, .watermark = 1, .wakeup_watermark = 1 << 14,
        .mmap = 1, .comm = 1, .comm_exec = 1, .task = 1,
    };
    size_t size = LEAST_BYTES; /* Doubled as long as all buffers together stay within their limit. */
    while (size * 2 * (size_t)cpus <= ALL_BYTES && size < MOST_BYTES)
        size *= 2;
    for (int cpu = 0; cpu < cpus; cpu++) {
        int event = (int)syscall(SYS_perf_event_open, &programs, process, cpu, -1, PERF_FLAG_FD_CLOEXEC);
        if (event < 0 && errno == ENODEV)
            continue; /* The CPU is offline. */
        if (event < 0)
            fail("perf_event_open");
        map_ring(event, size);
    }
}

/* Add a record to those that wait, if it says that a process began, executed a program, mapped a file or ended. */
static void read_record(const struct perf_event_header *header)
{
    static uint32_t order;
    const char *body = (const char *)(header + 1);
    struct entry entry = {.order = order++};
    uint32_t numbers[4];
    uint64_t number;
    /* With sample_id_all each record ends with its time. */
    memcpy(&entry.time, (const char *)header + header->size - sizeof entry.time, sizeof entry.time);
    memcpy(numbers, body, sizeof numbers);
    entry.process = numbers[0];
    switch (header->type) {
    case PERF_RECORD_MMAP: /* process, thread, ... */
        entry.kind = MAPPED;
        break;
    case PERF_RECORD_COMM: /* process, thread, name */
        if (!(header->misc & PERF_RECORD_MISC_COMM_EXEC))
            return;
        entry.kind = EXECUTED;
        snprintf(entry.name, sizeof entry.name, "%s", body + 8);
        break;
    case PERF_RECORD_FORK: /* process, parent; thread, parent's thread */
    case PERF_RECORD_EXIT:
        if (numbers[0] != numbers[2])
            return; /* Only a thread. */
        entry.kind = header->type == PERF_RECORD_FORK ? BEGIN : END;
        break;
    case PERF_RECORD_LOST: /* event, number */
        memcpy(&number, body + 8, sizeof number);
        missed += number;
        return;
    default:
        return;
    }
    add(&waiting, entry);
}

/* Read all records that a buffer has now, and give their room back to the kernel. */
static void read_ring(struct ring *ring)
{
    static _Alignas(8) char joined[1 << 16];
    const char *data = (const char *)ring->page + sysconf(_SC_PAGESIZE);
    uint64_t tail = ring->page->data_tail, head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
    while (tail < head) {
        const struct perf_event_header *header = (const void *)(data + tail % ring->size);
        uint64_t until_end = ring->size - tail % ring->size;
        uint16_t size = header->size;
        if (size > until_end) { /* The record continues at the start of the buffer. */
            memcpy(joined, header, until_end);
            memcpy(joined + until_end, data, size - until_end);
            header = (const void *)joined;
        }
        read_record(header);
        tail += size;
    }
    __atomic_store_n(&ring->page->data_tail, tail, __ATOMIC_RELEASE);
}

/* Decide about the programs that a process executed: perf lost them, unless it was SEEN to map a file since. */
static void conclude(uint32_t process, int seen)
{
    for (size_t i = unmapped.count; i-- > 0;) {
        if (unmapped.entries[i].process != process)
            continue;
        if (!seen && lost.count < MOST_LOST)
            add(&lost, unmapped.entries[i]);
        unmapped.entries[i] = unmapped.entries[--unmapped.count];
    }
}

/* Compare two entries for qsort(): by time, then by the order in which they were read. */
static int earlier(const void *left, const void *right)
{
    const struct entry *first = left, *second = right;
    if (first->time != second->time)
        return first->time < second->time ? -1 : 1;
    return first->order < second->order ? -1 : first->order > second->order;
}

/* Read all records; apply those that are no newer than the newest of the round before. */
static void read_all(int last)
{
    static uint64_t settled;
    size_t done = 0;
    for (size_t i = 0; i < ring_count; i++)
        read_ring(&rings[i]);
    if (waiting.count == 0)
        return;
    qsort(waiting.entries, waiting.count, sizeof *waiting.entries, earlier);
    uint64_t newest = waiting.entries[waiting.count - 1].time;
    for (; done < waiting.count && (last || waiting.entries[done].time <= settled); done++) {
        const struct entry *entry = &waiting.entries[done];
        conclude(entry->process, entry->kind == MAPPED);
        if (entry->kind == EXECUTED)
            add(&unmapped, *entry);
    }
    waiting.count -= done;
    memmove(waiting.entries, waiting.entries + done, waiting.count * sizeof *waiting.entries);
    settled = newest;
}

int main(int count, char **arguments)
{
    int cpus = (int)sysconf(_SC_NPROCESSORS_CONF), ended = 0;
    for (int i = 1; i < count; i++)
        attach((pid_t)atoi(arguments[i]), cpus);
    struct pollfd *sources = grow(NULL, ring_count + 1, sizeof *sources);
    sources[0] = (struct pollfd){.fd = STDIN_FILENO, .events = POLLIN};
    for (size_t i = 0; i < ring_count; i++)
        sources[i + 1] = (struct pollfd){.fd = rings[i].event, .events = POLLIN};
    printf("ready\n");
    fflush(stdout);
    while (!ended) {
        /* With a timeout, because an event whose process has ended wakes nobody while the children go on. */
        if (poll(sources, ring_count + 1, 20) < 0 && errno != EINTR)
            fail("poll");
        char byte;
        ended = sources[0].revents != 0 && read(STDIN_FILENO, &byte, 1) <= 0;
        for (size_t i = 1; i <= ring_count; i++)
            if (sources[i].revents & (POLLHUP | POLLERR))
                sources[i].fd = -1;
        read_all(0);
    }
    read_all(1);
    while (unmapped.count > 0)
        conclude(unmapped.entries[0].process, 0);
    printf("%llu%c", (unsigned long long)missed, 0);
    for (size_t i = 0; i < lost.count; i++)
        printf("%s%c", lost.entries[i].name, 0);
    return 0;
}
