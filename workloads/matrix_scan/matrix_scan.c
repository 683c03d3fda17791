/*
 * Scans matrices in the segments of a file, with several threads, as a column store scans a table.
 *
 * A segment is read into a buffer of the thread, or mapped, scanned and unmapped. All mappings of a process change one
 * tree of mappings under one lock, the mmap_lock; a read does not need it.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <getopt.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "faultwatch_region.h"

enum {
    SEGMENT = 1265444,   /* bytes in one segment: the length of each mmap in the field report */
    SIDE = 562,          /* rows and columns of its matrix of 32-bit values; a short trailer follows */
    FILE_SEGMENTS = 64,  /* segments in the file */
    MAX_THREADS = 16,
    SLOT = 4 << 20,      /* each thread maps at its own aligned address, so that fault-around starts on its border */
    FAULT_AROUND = 64 << 10, /* bytes that one fault on a cached file maps: fault_around_bytes, on every kernel since 3.15 */
};

enum access { READ, MMAP, POPULATE };
static const char *const accesses[] = {"read", "mmap", "populate", NULL};
enum order { ROW, COLUMN };
static const char *const orders[] = {"row", "column", NULL};
enum cache { WARM, COLD };
static const char *const caches[] = {"warm", "cold", NULL};

struct scanner {
    pthread_t thread;
    int number;
    void *buffer;     /* of this thread, for READ */
    int64_t sum;
    double map_seconds;  /* spent in mmap and munmap */
};

static int access_mode = READ, scan_order = ROW, cache_state = WARM;
static int threads = 1, scans = 640;
static int file;
static size_t page, segment_pages, segment_stride;
static char *slots;
static pthread_barrier_t start_line, finish_line, exit_line;

static void fail(const char *what)
{
    perror(what);
    exit(2);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int64_t sum_matrix(const int32_t *matrix)
{
    int64_t sum = 0;
    if (scan_order == ROW) {
        for (int row = 0; row < SIDE; row++)
            for (int column = 0; column < SIDE; column++)
                sum += matrix[row * SIDE + column];
    } else {
        for (int column = 0; column < SIDE; column++)
            for (int row = 0; row < SIDE; row++)
                sum += matrix[row * SIDE + column];
    }
    return sum;
}

static int64_t scan_by_read(struct scanner *self, off_t offset)
{
    if (self->buffer == NULL) {
        self->buffer = mmap(NULL, SEGMENT, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (self->buffer == MAP_FAILED)
            fail("mmap");
    }
    if (pread(file, self->buffer, SEGMENT, offset) != SEGMENT)
        fail("pread");
    return sum_matrix(self->buffer);
}

static int64_t scan_by_mapping(struct scanner *self, off_t offset)
{
    char *slot = slots + (size_t)self->number * SLOT;
    int flags = MAP_SHARED | (access_mode == POPULATE ? MAP_POPULATE : 0);
    double begin = now();
    void *segment = mmap(slot, SEGMENT, PROT_READ, flags, file, offset);
    double mapped = now();
    if (segment != slot)
        fail("mmap");
    int64_t sum = sum_matrix(segment);
    double scanned = now();
    munmap(segment, SEGMENT);
    self->map_seconds += (mapped - begin) + (now() - scanned);
    return sum;
}

/* Each thread scans its own share of the file, again and again. */
static void scan(struct scanner *self, int times)
{
    int share = FILE_SEGMENTS / threads;
    for (int i = 0; i < times; i++) {
        off_t offset = (off_t)segment_stride * (self->number * share + i % share);
        self->sum += access_mode == READ ? scan_by_read(self, offset) : scan_by_mapping(self, offset);
    }
}

static void *run_thread(void *argument)
{
    struct scanner *self = argument;
    pthread_barrier_wait(&start_line);
    scan(self, scans);
    pthread_barrier_wait(&finish_line);
    pthread_barrier_wait(&exit_line); /* what glibc touches to end a thread is not what is counted */
    return NULL;
}

static void write_file(const char *path)
{
    int out = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    int32_t *values = calloc(1, segment_stride);
    if (out < 0 || values == NULL)
        fail(path);
    for (int segment = 0; segment < FILE_SEGMENTS; segment++) {
        for (size_t i = 0; i < segment_stride / sizeof *values; i++)
            values[i] = (int32_t)(i % 1009) + segment;
        if (write(out, values, segment_stride) != (ssize_t)segment_stride)
            fail(path);
    }
    if (fsync(out) < 0 || close(out) < 0)
        fail(path);
    free(values);
}

static size_t resident_pages(size_t length)
{
    unsigned char *state = malloc(length / page);
    void *map = mmap(NULL, length, PROT_READ, MAP_SHARED, file, 0);
    if (state == NULL || map == MAP_FAILED || mincore(map, length, state) < 0)
        fail("mincore");
    size_t resident = 0;
    for (size_t i = 0; i < length / page; i++)
        resident += state[i] & 1;
    munmap(map, length);
    free(state);
    return resident;
}

/* Read the file so that it is cached in units of one page. */
static void read_pages(size_t length)
{
    char *block = malloc(segment_stride);
    posix_fadvise(file, 0, 0, POSIX_FADV_RANDOM);
    for (size_t offset = 0; offset < length; offset += segment_stride)
        if (pread(file, block, segment_stride, (off_t)offset) < 0)
            fail("pread");
    posix_fadvise(file, 0, 0, POSIX_FADV_NORMAL);
    free(block);
}

/*
 * Keep the file in memory until the end, on a host that pages memory out by itself. Best effort: few users may lock so
 * much.
 */
static void keep_pages(size_t length)
{
    void *map = mmap(NULL, length, PROT_READ, MAP_SHARED, file, 0);
    if (map == MAP_FAILED)
        fail("mmap");
    if (mlock(map, length) < 0)
        munmap(map, length);
}

/*
 * Put the file's pages into the declared state, and check that they are in it.
 *
 * Warm means: in memory, in units of one page. A file that was just written, or that was read ahead, is cached in larger
 * folios, and since Linux 6.18 one fault maps a whole folio.
 */
static void prepare_cache(const char *path)
{
    size_t length = segment_stride * FILE_SEGMENTS, wanted = cache_state == WARM ? length / page : 0;
    struct stat status;
    file = open(path, O_RDONLY);
    if (file < 0 || fstat(file, &status) < 0)
        fail(path);
    if ((size_t)status.st_size != length) {
        fprintf(stderr, "%s: not the file that --write makes\n", path);
        exit(2);
    }
    fsync(file);
    posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    for (int attempt = 0; attempt < 5; attempt++) {
        if (cache_state == WARM) {
            read_pages(length);
            keep_pages(length);
        }
        if (resident_pages(length) == wanted)
            return;
    }
    fprintf(stderr, "%s: cannot be made %s: %zu of %zu pages are in memory\n", path, caches[cache_state],
            resident_pages(length), length / page);
    exit(3);
}

/* Find room for the threads' mappings, each on the border of a slot. */
static char *find_slots(void)
{
    size_t length = (size_t)(MAX_THREADS + 1) * SLOT;
    char *room = mmap(NULL, length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED)
        fail("mmap");
    munmap(room, length);
    return room + (SLOT - (uintptr_t)room % SLOT) % SLOT;
}

static int one_of(const char *const *names, const char *name)
{
    for (int i = 0; names[i] != NULL; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    fprintf(stderr, "matrix_scan: unknown value %s\n", name);
    exit(2);
}

int main(int argc, char **argv)
{
    const char *path = "matrix.data";
    const struct option options[] = {
        {"access", required_argument, NULL, 'a'}, {"order", required_argument, NULL, 'o'},
        {"cache", required_argument, NULL, 'c'},  {"threads", required_argument, NULL, 't'},
        {"scans", required_argument, NULL, 's'},  {"file", required_argument, NULL, 'f'},
        {"write", required_argument, NULL, 'w'},  {NULL, 0, NULL, 0},
    };
    page = (size_t)sysconf(_SC_PAGESIZE);
    segment_pages = (SEGMENT + page - 1) / page;
    segment_stride = segment_pages * page;
    for (int choice; (choice = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        switch (choice) {
        case 'a': access_mode = one_of(accesses, optarg); break;
        case 'o': scan_order = one_of(orders, optarg); break;
        case 'c': cache_state = one_of(caches, optarg); break;
        case 't': threads = atoi(optarg); break;
        case 's': scans = atoi(optarg); break;
        case 'f': path = optarg; break;
        case 'w': write_file(optarg); return 0;
        default: return 2;
        }
    }
    if (threads < 1 || threads > MAX_THREADS || scans < 1) {
        fprintf(stderr, "matrix_scan: --threads is 1 to %d, --scans at least 1\n", MAX_THREADS);
        return 2;
    }

    struct scanner scanners[MAX_THREADS + 1] = {0};
    struct scanner *rehearsal = &scanners[MAX_THREADS];
    prepare_cache(path);
    if (cache_state == WARM) {
        slots = find_slots();
        scan(rehearsal, 1); /* the pages of the code, of libc and of the stack are not what is counted */
        if (rehearsal->buffer != NULL)
            munmap(rehearsal->buffer, SEGMENT);
    }

    pthread_barrier_init(&start_line, NULL, (unsigned)threads + 1);
    pthread_barrier_init(&finish_line, NULL, (unsigned)threads + 1);
    pthread_barrier_init(&exit_line, NULL, (unsigned)threads + 1);
    for (int i = 0; i < threads; i++) {
        scanners[i].number = i;
        if (pthread_create(&scanners[i].thread, NULL, run_thread, &scanners[i]) != 0)
            fail("pthread_create");
    }
    slots = find_slots(); /* only now, for the threads' stacks would be put there */
    double begin = now();
    faultwatch_region_begin();
    pthread_barrier_wait(&start_line);
    pthread_barrier_wait(&finish_line);
    double seconds = now() - begin;
    faultwatch_region_end();
    pthread_barrier_wait(&exit_line);

    int64_t sum = 0;
    double map_seconds = 0;
    for (int i = 0; i < threads; i++) {
        pthread_join(scanners[i].thread, NULL);
        sum += scanners[i].sum;
        map_seconds += scanners[i].map_seconds;
    }
    long operations = (long)threads * scans;
    size_t around = FAULT_AROUND > page ? FAULT_AROUND / page : 1;
    long faults = access_mode == READ   ? (long)threads * (long)segment_pages
                  : access_mode == MMAP ? operations * (long)((segment_pages + around - 1) / around)
                                        : 0;
    int share = FILE_SEGMENTS / threads;
    long pages = threads * (long)segment_pages * (access_mode == READ ? 1 : scans < share ? scans : share);
    printf("{\"operations\": %ld, \"seconds\": %.6f, \"bytes\": %lld, \"checksum\": %lld, \"pages\": %ld", operations,
           seconds, (long long)operations * SEGMENT, (long long)sum, pages);
    if (cache_state == WARM)
        printf(", \"faults\": %ld", faults);
    printf(", \"map_seconds\": %.6f}\n", map_seconds);
    return 0;
}
