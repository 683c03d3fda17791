/*
 * Tell which faults of a program hit which files.
 *
 *     fault_places PROCESS...
 *
 * It attaches to processes that wait, says "ready", and follows them and whatever they start until its standard input
 * ends. Then it prints
 *
 *     KERNEL LOST TOTAL IN_KERNEL\0
 *
 * where KERNEL is 1 where faults that the kernel takes for a program are among them, LOST is how many records there was
 * no room for, TOTAL the number of faults and IN_KERNEL those that the kernel took; and for each name under which the
 * kernel mapped memory
 *
 *     FAULTS PAGES MAJOR MINOR INODE NAME\0
 *
 * What was mapped and what faulted lies in one buffer of each CPU, in the order of time. Between CPUs there is none, so
 * what was read in one round waits until the next round has shown that nothing older is to come.
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

#define MOST_NAMES 20000

enum kind { FAULT, MAP, FORK, EXEC };

struct entry {
    uint64_t time, start, end;
    uint32_t pid, other;
    int name;
    uint8_t kind, in_kernel;
    uint32_t order; /* Two at the same moment stay as they were read. */
};

struct ring {
    int event;
    struct perf_event_mmap_page *page;
    uint64_t size;
};

struct name {
    uint64_t faults, pages, inode;
    uint32_t major, minor;
    char *text;
};

struct stretch {
    uint64_t start, end;
    int name;
};

struct process {
    uint32_t pid;
    struct stretch *stretches;
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
static uint64_t lost, total, in_kernel;
static int kernel = 1;

static void fail(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
    exit(1);
}

static void *grown(void *memory, size_t count, size_t size)
{
    void *more = realloc(memory, count * size);
    if (more == NULL)
        fail("memory");
    return more;
}

/* ---- What is recorded ---- */

static int open_event(struct perf_event_attr *what, pid_t pid, int cpu)
{
    for (;;) {
        what->exclude_kernel = !kernel;
        int event = (int)syscall(SYS_perf_event_open, what, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
        if (event >= 0 || !kernel || (errno != EACCES && errno != EPERM))
            return event;
        kernel = 0;
    }
}

static void map_ring(int event, size_t pages)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (; pages > 0; pages /= 2) {
        void *memory = mmap(NULL, (pages + 1) * page, PROT_READ | PROT_WRITE, MAP_SHARED, event, 0);
        if (memory != MAP_FAILED) {
            rings = grown(rings, ring_count + 1, sizeof *rings);
            rings[ring_count++] = (struct ring){event, memory, pages * page};
            return;
        }
        if (errno != EPERM && errno != ENOMEM)
            break;
    }
    fail("a buffer");
}

static void attach(pid_t pid, int cpus)
{
    struct perf_event_attr faults = {
        .size = sizeof faults, .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_PAGE_FAULTS, .sample_period = 1,
        .sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR, .inherit = 1, .exclude_hv = 1,
        .sample_id_all = 1, .use_clockid = 1, .clockid = CLOCK_MONOTONIC, .watermark = 1, .wakeup_watermark = 1 << 16,
        /* Mappings and faults of a CPU in one buffer: so they are in order where the program stays on it. */
        .mmap = 1, .mmap2 = 1, .mmap_data = 1, .comm = 1, .comm_exec = 1, .task = 1,
    };
    size_t pages = (size_t)(16384 / cpus);
    for (int cpu = 0; cpu < cpus; cpu++) {
        int event = open_event(&faults, pid, cpu);
        if (event < 0 && errno == ENODEV)
            continue; /* The processor is off. */
        if (event < 0)
            fail("perf_event_open");
        size_t wanted = 64;
        while (wanted < pages && wanted < 1024)
            wanted *= 2;
        map_ring(event, wanted);
    }
}

/* ---- From records to entries ---- */

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
    names = grown(names, name_count + 1, sizeof *names);
    names[name_count] = (struct name){0, 0, inode, major, minor, strdup(text)};
    if (names[name_count].text == NULL)
        fail("memory");
    return (int)name_count++;
}

static void add(struct entry one)
{
    if (entry_count == entry_room) {
        entry_room = entry_room ? 2 * entry_room : 4096;
        entries = grown(entries, entry_room, sizeof *entries);
    }
    one.order = order++;
    entries[entry_count++] = one;
}

static void take(const struct perf_event_header *header)
{
    const char *body = (const char *)(header + 1);
    uint64_t time, words[8];
    uint32_t numbers[4];
    /* With sample_id_all each record but a sample ends in who and when. */
    memcpy(&time, (const char *)header + header->size - 8, 8);
    switch (header->type) {
    case PERF_RECORD_SAMPLE: /* process, thread; time; address */
        memcpy(numbers, body, 8);
        memcpy(words, body + 8, 16);
        add((struct entry){.time = words[0], .start = words[1], .pid = numbers[0], .kind = FAULT, .name = -1,
                           .in_kernel = (header->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL});
        break;
    case PERF_RECORD_MMAP2: /* process, thread; start, length, offset; device; inode, generation; protection, flags */
        memcpy(numbers, body, 4);
        memcpy(words, body + 8, 24);
        memcpy(numbers + 1, body + 32, 8);
        memcpy(words + 3, body + 40, 8);
        add((struct entry){.time = time, .start = words[0], .end = words[0] + words[1], .pid = numbers[0], .kind = MAP,
                           .name = name_of(numbers[1], numbers[2], words[3], body + 64)});
        break;
    case PERF_RECORD_FORK: /* process, parent; thread, parent's thread */
        memcpy(numbers, body, 8);
        if (numbers[0] != numbers[1])
            add((struct entry){.time = time, .pid = numbers[0], .other = numbers[1], .kind = FORK});
        break;
    case PERF_RECORD_COMM:
        memcpy(numbers, body, 4);
        if (header->misc & PERF_RECORD_MISC_COMM_EXEC)
            add((struct entry){.time = time, .pid = numbers[0], .kind = EXEC});
        break;
    case PERF_RECORD_LOST: /* event; number */
        memcpy(words, body, 16);
        lost += words[1];
        break;
    case PERF_RECORD_LOST_SAMPLES:
        memcpy(words, body, 8);
        lost += words[0];
        break;
    }
}

static void read_ring(struct ring *ring)
{
    static _Alignas(8) char whole[1 << 16];
    const char *data = (const char *)ring->page + sysconf(_SC_PAGESIZE);
    uint64_t tail = ring->page->data_tail, head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
    while (tail < head) {
        const struct perf_event_header *header = (const void *)(data + tail % ring->size);
        uint64_t until_end = ring->size - tail % ring->size;
        uint16_t size = header->size;
        if (size > until_end) { /* It goes on at the start of the buffer. */
            memcpy(whole, header, until_end);
            memcpy(whole + until_end, data, size - until_end);
            header = (const void *)whole;
        }
        take(header);
        tail += size;
    }
    __atomic_store_n(&ring->page->data_tail, tail, __ATOMIC_RELEASE);
}

/* ---- From entries to numbers ---- */

static struct process *process_of(uint32_t pid)
{
    for (size_t i = process_count; i-- > 0;)
        if (processes[i].pid == pid)
            return &processes[i];
    processes = grown(processes, process_count + 1, sizeof *processes);
    processes[process_count] = (struct process){.pid = pid};
    return &processes[process_count++];
}

/* The first stretch that ends behind an address. */
static size_t place_of(const struct process *one, uint64_t address)
{
    size_t low = 0, high = one->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (one->stretches[middle].end > address)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static void put(struct process *one, size_t place, size_t gone, const struct stretch *new, size_t count)
{
    if (one->count + count > one->room) {
        one->room = 2 * one->room + 64;
        one->stretches = grown(one->stretches, one->room, sizeof *one->stretches);
    }
    memmove(one->stretches + place + count, one->stretches + place + gone,
            (one->count - place - gone) * sizeof *one->stretches);
    memcpy(one->stretches + place, new, count * sizeof *new);
    one->count += count - gone;
}

/* Put a mapping where others may have been: what is left of those lies beside it. */
static void map(struct process *one, struct stretch new)
{
    struct stretch kept[3];
    size_t first = place_of(one, new.start), last = first, count = 0;
    while (last < one->count && one->stretches[last].start < new.end)
        last++;
    if (first < last && one->stretches[first].start < new.start)
        kept[count++] = (struct stretch){one->stretches[first].start, new.start, one->stretches[first].name};
    kept[count++] = new;
    if (first < last && one->stretches[last - 1].end > new.end)
        kept[count++] = (struct stretch){new.end, one->stretches[last - 1].end, one->stretches[last - 1].name};
    put(one, first, last - first, kept, count);
}

static void apply(const struct entry *entry)
{
    struct process *one = process_of(entry->pid);
    switch (entry->kind) {
    case MAP:
        map(one, (struct stretch){entry->start, entry->end, entry->name});
        if (entry->name >= 0)
            names[entry->name].pages += (entry->end - entry->start) / (uint64_t)sysconf(_SC_PAGESIZE);
        break;
    case EXEC:
        one->count = 0;
        break;
    case FORK: {
        struct process *parent = process_of(entry->other);
        one = process_of(entry->pid); /* They may have moved. */
        one->count = 0;
        put(one, 0, 0, parent->stretches, parent->count);
        break;
    }
    case FAULT: {
        size_t place = place_of(one, entry->start);
        total++;
        in_kernel += entry->in_kernel;
        if (place < one->count && one->stretches[place].start <= entry->start && one->stretches[place].name >= 0)
            names[one->stretches[place].name].faults++;
        break;
    }
    }
}

static int earlier(const void *left, const void *right)
{
    const struct entry *one = left, *other = right;
    if (one->time != other->time)
        return one->time < other->time ? -1 : 1;
    return one->order < other->order ? -1 : one->order > other->order;
}

/* Read all there is; apply what is no newer than what the round before had read. */
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

int main(int count, char **words)
{
    int cpus = (int)sysconf(_SC_NPROCESSORS_CONF), ended = 0;
    for (int i = 1; i < count; i++)
        attach((pid_t)atoi(words[i]), cpus);
    struct pollfd *waiting = grown(NULL, ring_count + 1, sizeof *waiting);
    waiting[0] = (struct pollfd){.fd = STDIN_FILENO, .events = POLLIN};
    for (size_t i = 0; i < ring_count; i++)
        waiting[i + 1] = (struct pollfd){.fd = rings[i].event, .events = POLLIN};
    printf("ready\n");
    fflush(stdout);
    while (!ended) {
        /* Now and then by itself: of one whose program has ended nothing is heard, while its children go on. */
        if (poll(waiting, ring_count + 1, 20) < 0 && errno != EINTR)
            fail("waiting");
        char none;
        ended = waiting[0].revents != 0 && read(STDIN_FILENO, &none, 1) <= 0;
        for (size_t i = 1; i <= ring_count; i++)
            if (waiting[i].revents & (POLLHUP | POLLERR))
                waiting[i].fd = -1;
        read_all(0);
    }
    read_all(1);
    printf("%d %llu %llu %llu%c", kernel, (unsigned long long)lost, (unsigned long long)total,
           (unsigned long long)in_kernel, 0);
    for (size_t i = 0; i < name_count; i++)
        printf("%llu %llu %u %u %llu %s%c", (unsigned long long)names[i].faults, (unsigned long long)names[i].pages,
               names[i].major, names[i].minor, (unsigned long long)names[i].inode, names[i].text, 0);
    return 0;
}
