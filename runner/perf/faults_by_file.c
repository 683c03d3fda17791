/*
 * Count the page faults of a program by the file that they hit.
 *
 *     faults_by_file PROCESS...
 *
 * It attaches to waiting processes, prints "ready", and watches them and all their children until its standard input
 * ends. Then it prints
 *
 *     KERNEL LOST TOTAL IN_KERNEL HIDDEN\0
 *
 * where KERNEL is 1 if the faults that the kernel takes for the program are counted, LOST is the number of records
 * that were lost because a buffer was full, TOTAL the number of faults, IN_KERNEL the number of those that the kernel
 * took, and HIDDEN the number of programs that were executed without a mapping: when a program changes its user or may
 * not be read, the kernel ends all its events between the two. For each of those it prints
 *
 *     NAME\0
 *
 * and for each name under which the kernel mapped memory
 *
 *     FAULTS MAJOR MINOR INODE NAME\0
 *
 * Where records were lost, a program may have mapped what nobody saw, so it is not taken for hidden.
 *
 * Each CPU has one buffer, in which mappings and faults are in order of time. Between CPUs there is no order, so the
 * records that were read in one round wait until the next round has shown that no older ones will follow.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MOST_NAMES 20000 /* More names count as lost records. */
#define MOST_BYTES ((size_t)64 << 20) /* Of all buffers together, unless each would be smaller than the least. */
#define LEAST_RING ((size_t)256 << 10)
#define LARGEST_RING ((size_t)4 << 20)

enum kind { FAULT, MAP, FORK, EXEC, EXIT, LOSS };

struct entry {
    uint64_t time, start, end;
    uint32_t pid, other;
    int name;
    uint8_t kind, in_kernel;
    uint32_t order; /* Records of the same time stay in the order in which they were read. */
};

struct ring {
    int event;
    struct perf_event_mmap_page *page;
    uint64_t size, newest; /* The time of the last record that was read. */
};

struct hidden {
    uint64_t end; /* When the program ended. */
    int name;
};

struct name {
    uint64_t faults, inode;
    uint32_t major, minor;
    char *text;
};

struct mapping {
    uint64_t start, end;
    int name;
};

struct process {
    uint32_t pid;
    int executed; /* What it executed without having mapped anything since; -1 for nothing. */
    struct mapping *mappings;
    size_t count, room;
};

static struct ring *rings;
static size_t ring_count;
static struct entry *entries;
static size_t entry_count, entry_room;
static uint32_t order;
static struct name *names;
static size_t name_count;
static struct process *processes;
static size_t process_count;
static struct hidden *hidden;
static size_t hidden_count;
static uint64_t lost, total, in_kernel;
static int kernel = 1; /* Whether the faults that the kernel takes are counted. */

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

/* ---- Events and buffers ---- */

/* Open an event on a CPU; without the kernel's own faults, from now on, if this user may not count those. */
static int open_event(struct perf_event_attr *attributes, pid_t pid, int cpu)
{
    for (;;) {
        attributes->exclude_kernel = !kernel;
        int event = (int)syscall(SYS_perf_event_open, attributes, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
        if (event >= 0 || !kernel || (errno != EACCES && errno != EPERM))
            return event;
        kernel = 0;
    }
}

/* Map a buffer of at most this many bytes: a number of pages that is a power of two. */
static void map_ring(int event, size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t pages = bytes > page ? bytes / page : 1; pages > 0; pages /= 2) {
        void *memory = mmap(NULL, (pages + 1) * page, PROT_READ | PROT_WRITE, MAP_SHARED, event, 0);
        if (memory != MAP_FAILED) {
            rings = grow(rings, ring_count + 1, sizeof *rings);
            rings[ring_count++] = (struct ring){event, memory, pages * page, 0};
            return;
        }
        if (errno != EPERM && errno != ENOMEM)
            break;
    }
    fail("a buffer");
}

/* Record the faults and mappings of a process and its later children: one event and one buffer for each CPU. */
static void attach(pid_t pid, int cpus)
{
    struct perf_event_attr faults = {
        .size = sizeof faults, .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_PAGE_FAULTS, .sample_period = 1,
        .sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR, .inherit = 1, .exclude_hv = 1,
        .sample_id_all = 1, .use_clockid = 1, .clockid = CLOCK_MONOTONIC, .watermark = 1, .wakeup_watermark = 1 << 16,
        /* One buffer for mappings and faults: they are in order as long as the program stays on its CPU. */
        .mmap = 1, .mmap2 = 1, .mmap_data = 1, .comm = 1, .comm_exec = 1, .task = 1,
    };
    size_t share = MOST_BYTES / (size_t)cpus;
    for (int cpu = 0; cpu < cpus; cpu++) {
        int event = open_event(&faults, pid, cpu);
        if (event < 0 && errno == ENODEV)
            continue; /* The CPU is offline. */
        if (event < 0)
            fail("perf_event_open");
        size_t size = LEAST_RING;
        while (size < share && size < LARGEST_RING)
            size *= 2;
        map_ring(event, size);
    }
}

/* ---- From records to entries ---- */

/* Return the index of a mapped file's name, which is added if it is new; -1 if there are too many. */
static int name_of(uint32_t major, uint32_t minor, uint64_t inode, const char *text)
{
    for (size_t i = name_count; i-- > 0;)
        if (names[i].inode == inode && names[i].major == major && names[i].minor == minor &&
            strcmp(names[i].text, text) == 0)
            return (int)i;
    if (name_count == MOST_NAMES) {
        lost++;
        return -1;
    }
    names = grow(names, name_count + 1, sizeof *names);
    names[name_count] = (struct name){0, inode, major, minor, strdup(text)};
    if (names[name_count].text == NULL)
        fail("memory");
    return (int)name_count++;
}

/* Add an entry to those that wait to be applied. */
static void add(struct entry entry)
{
    if (entry_count == entry_room) {
        entry_room = entry_room ? 2 * entry_room : 4096;
        entries = grow(entries, entry_room, sizeof *entries);
    }
    entry.order = order++;
    entries[entry_count++] = entry;
}

/* Add a record of a buffer. NEWEST is the time of the buffer's record before, and becomes the time of this one. */
static void add_record(const struct perf_event_header *header, uint64_t *newest)
{
    const char *body = (const char *)(header + 1);
    uint64_t time, longs[8];
    uint32_t numbers[4];
    /* With sample_id_all each record except a sample ends with its process, thread and time. */
    memcpy(&time, (const char *)header + header->size - 8, 8);
    switch (header->type) {
    case PERF_RECORD_SAMPLE: /* process, thread; time; address */
        memcpy(numbers, body, 8);
        memcpy(longs, body + 8, 16);
        time = longs[0];
        add((struct entry){.time = longs[0], .start = longs[1], .pid = numbers[0], .kind = FAULT, .name = -1,
                           .in_kernel = (header->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL});
        break;
    case PERF_RECORD_MMAP2: /* process, thread; start, length, offset; device; inode, generation; protection, flags */
        memcpy(numbers, body, 4);
        memcpy(longs, body + 8, 24);
        memcpy(numbers + 1, body + 32, 8);
        memcpy(longs + 3, body + 40, 8);
        add((struct entry){.time = time, .start = longs[0], .end = longs[0] + longs[1], .pid = numbers[0], .kind = MAP,
                           .name = name_of(numbers[1], numbers[2], longs[3], body + 64)});
        break;
    case PERF_RECORD_FORK: /* process, parent; thread, parent's thread */
        memcpy(numbers, body, 8);
        if (numbers[0] != numbers[1])
            add((struct entry){.time = time, .pid = numbers[0], .other = numbers[1], .kind = FORK});
        break;
    case PERF_RECORD_EXIT: /* process, parent; thread, parent's thread */
        memcpy(numbers, body, 16);
        if (numbers[0] == numbers[2])
            add((struct entry){.time = time, .pid = numbers[0], .kind = EXIT});
        break;
    case PERF_RECORD_COMM:
        memcpy(numbers, body, 4);
        if (header->misc & PERF_RECORD_MISC_COMM_EXEC)
            add((struct entry){.time = time, .pid = numbers[0], .kind = EXEC, .name = name_of(0, 0, 0, body + 8)});
        break;
    case PERF_RECORD_LOST: /* event; number; the kernel writes it with the first record that has room again */
        memcpy(longs, body, 16);
        lost += longs[1];
        add((struct entry){.time = time, .start = *newest, .kind = LOSS});
        break;
    case PERF_RECORD_LOST_SAMPLES:
        memcpy(longs, body, 8);
        lost += longs[0];
        break;
    }
    *newest = time;
}

/* Add all records that a buffer has now, and give their room back to the kernel. */
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
        add_record(header, &ring->newest);
        tail += size;
    }
    __atomic_store_n(&ring->page->data_tail, tail, __ATOMIC_RELEASE);
}

/* ---- From entries to counts ---- */

/* Return what is known of a process; a new entry, without mappings, if it is seen for the first time. */
static struct process *process_of(uint32_t pid)
{
    for (size_t i = process_count; i-- > 0;)
        if (processes[i].pid == pid)
            return &processes[i];
    processes = grow(processes, process_count + 1, sizeof *processes);
    processes[process_count] = (struct process){.pid = pid, .executed = -1};
    return &processes[process_count++];
}

/* Return the index of the first mapping that ends behind an address. */
static size_t mapping_of(const struct process *process, uint64_t address)
{
    size_t low = 0, high = process->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (process->mappings[middle].end > address)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* Replace some mappings of a process by others. */
static void replace(struct process *process, size_t index, size_t removed, const struct mapping *new, size_t count)
{
    if (process->count + count > process->room) {
        process->room = 2 * (process->count + count); /* A child begins with all mappings of its parent. */
        process->mappings = grow(process->mappings, process->room, sizeof *process->mappings);
    }
    memmove(process->mappings + index + count, process->mappings + index + removed,
            (process->count - index - removed) * sizeof *process->mappings);
    memcpy(process->mappings + index, new, count * sizeof *new);
    process->count += count - removed;
}

/* Add a mapping. It replaces the parts of older ones that it overlaps. */
static void map(struct process *process, struct mapping new)
{
    struct mapping parts[3]; /* The rest of an older one before the new one, the new one, and the rest behind it. */
    size_t first = mapping_of(process, new.start), last = first, count = 0;
    while (last < process->count && process->mappings[last].start < new.end)
        last++;
    if (first < last && process->mappings[first].start < new.start)
        parts[count++] = (struct mapping){process->mappings[first].start, new.start, process->mappings[first].name};
    parts[count++] = new;
    if (first < last && process->mappings[last - 1].end > new.end)
        parts[count++] = (struct mapping){new.end, process->mappings[last - 1].end, process->mappings[last - 1].name};
    replace(process, first, last - first, parts, count);
}

/* Records were lost since some time: take no program for hidden that ran then, as its mapping may be among them. */
static void doubt(uint64_t since)
{
    size_t sure = 0;
    for (size_t i = 0; i < process_count; i++)
        processes[i].executed = -1;
    for (size_t i = 0; i < hidden_count; i++)
        if (hidden[i].end < since)
            hidden[sure++] = hidden[i];
    hidden_count = sure;
}

/* Update what is known of a process by an entry; count a fault for the name of the mapping in which it is. */
static void apply(const struct entry *entry)
{
    if (entry->kind == LOSS) {
        doubt(entry->start);
        return;
    }
    struct process *process = process_of(entry->pid);
    switch (entry->kind) {
    case MAP:
        process->executed = -1;
        map(process, (struct mapping){entry->start, entry->end, entry->name});
        break;
    case EXEC:
        process->count = 0;
        process->executed = entry->name;
        break;
    case EXIT:
        if (process->executed >= 0) {
            hidden = grow(hidden, hidden_count + 1, sizeof *hidden);
            hidden[hidden_count++] = (struct hidden){entry->time, process->executed};
        }
        process->executed = -1;
        break;
    case FORK: {
        struct process *parent = process_of(entry->other);
        process = process_of(entry->pid); /* Adding the parent may have moved the array. */
        process->count = 0;
        replace(process, 0, 0, parent->mappings, parent->count);
        break;
    }
    case FAULT: {
        size_t index = mapping_of(process, entry->start);
        total++;
        in_kernel += entry->in_kernel;
        const struct mapping *hit = index < process->count ? &process->mappings[index] : NULL;
        if (hit && hit->start <= entry->start && hit->name >= 0)
            names[hit->name].faults++;
        break;
    }
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
    uint64_t newest = settled;
    for (size_t i = 0; i < ring_count; i++)
        read_ring(&rings[i]);
    qsort(entries, entry_count, sizeof *entries, earlier);
    size_t done = 0;
    while (done < entry_count && (last || entries[done].time <= settled))
        apply(&entries[done++]);
    if (entry_count > 0 && entries[entry_count - 1].time > newest)
        newest = entries[entry_count - 1].time;
    memmove(entries, entries + done, (entry_count - done) * sizeof *entries);
    entry_count -= done;
    settled = newest;
}

int main(int count, char **arguments)
{
    int cpus = (int)sysconf(_SC_NPROCESSORS_CONF), ended = 0;
    for (int i = 1; i < count; i++)
        attach((pid_t)atoi(arguments[i]), cpus);
    struct pollfd *waiting = grow(NULL, ring_count + 1, sizeof *waiting);
    waiting[0] = (struct pollfd){.fd = STDIN_FILENO, .events = POLLIN};
    for (size_t i = 0; i < ring_count; i++)
        waiting[i + 1] = (struct pollfd){.fd = rings[i].event, .events = POLLIN};
    printf("ready\n");
    fflush(stdout);
    while (!ended) {
        /* With a timeout, because an event whose process has ended wakes nobody while the children go on. */
        if (poll(waiting, ring_count + 1, 20) < 0 && errno != EINTR)
            fail("poll");
        char byte;
        ended = waiting[0].revents != 0 && read(STDIN_FILENO, &byte, 1) <= 0;
        for (size_t i = 1; i <= ring_count; i++)
            if (waiting[i].revents & (POLLHUP | POLLERR))
                waiting[i].fd = -1;
        read_all(0);
    }
    read_all(1);
    printf("%d %llu %llu %llu %zu%c", kernel, (unsigned long long)lost, (unsigned long long)total,
           (unsigned long long)in_kernel, hidden_count, 0);
    for (size_t i = 0; i < hidden_count; i++)
        printf("%s%c", names[hidden[i].name].text, 0);
    for (size_t i = 0; i < name_count; i++)
        printf("%llu %u %u %llu %s%c", (unsigned long long)names[i].faults, names[i].major, names[i].minor,
               (unsigned long long)names[i].inode, names[i].text, 0);
    return 0;
}
