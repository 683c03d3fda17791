/* A service that does one kind of work for ever: `service KIND [well]`. With `well`, the same work without its trouble. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, MIB = 1 << 20 };

static int well;

static void rest(long milliseconds)
{
    nanosleep(&(struct timespec){.tv_sec = milliseconds / 1000, .tv_nsec = milliseconds % 1000 * 1000000}, 0);
}

static void touch_pages(char *memory, size_t size, int value)
{
    for (size_t at = 0; at < size; at += PAGE)
        memory[at] = value;
}

static void *map(size_t size, int flags)
{
    char *memory = mmap(0, size, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | flags, -1, 0);
    if (memory == MAP_FAILED)
        exit(2);
    madvise(memory, size, MADV_NOHUGEPAGE);
    return memory;
}

/* A buffer larger than any threshold of glibc, for each request. */
static void copy_large(void)
{
    static char *kept;
    char *buffer = well && kept ? kept : malloc(48 * MIB);
    touch_pages(buffer, 48 * MIB, 1);
    kept = buffer;
    if (!well)
        free(buffer);
    rest(5);
}

/* Many small blocks, which the allocator gives back when the last of them is free. */
static void build_tree(void)
{
    enum { BLOCKS = 4000, SIZE = 4000 };
    static char *blocks[BLOCKS];
    if (well)
        mallopt(M_TRIM_THRESHOLD, 1 << 30);
    for (int i = 0; i < BLOCKS; i++)
        memset(blocks[i] = malloc(SIZE), i, SIZE);
    for (int i = BLOCKS; i-- > 0;)
        free(blocks[i]);
    if (!well)
        malloc_trim(0);
    rest(3);
}

/* An arena of its own, given back after each burst. */
static void reset_arena(void)
{
    static char *arena;
    if (!arena)
        arena = map(16 * MIB, MAP_PRIVATE);
    touch_pages(arena, 16 * MIB, 1);
    if (!well)
        madvise(arena, 16 * MIB, MADV_DONTNEED);
    rest(3);
}

/* A snapshot by fork, during which the parent goes on writing. */
static void take_snapshot(void)
{
    static char *table;
    if (!table)
        table = map(32 * MIB, MAP_PRIVATE);
    touch_pages(table, 32 * MIB, 1);
    if (!well && fork() == 0) {
        rest(20);
        _exit(0);
    }
    touch_pages(table, 32 * MIB, 2);
    if (!well)
        wait(0);
    rest(3);
}

/* A buffer that grows in steps while a request is read into it. */
static void grow_buffer(void)
{
    size_t size = 64 << 10, end = 24 * MIB;
    char *buffer = 0;
    if (well)
        return rest(5);
    for (; size < end; size += size / 2) {
        char *larger = malloc(size);
        memset(larger, 1, size);
        free(buffer);
        buffer = larger;
    }
    free(buffer);
    rest(3);
}

static void use_stack(void)
{
    char stack[96 << 10];
    memset(stack, 1, sizeof stack);
    __asm__ volatile("" : : "r"(stack) : "memory");
}

static void *run_task(void *data)
{
    use_stack();
    return data;
}

/* A thread for each task. */
static void start_thread(void)
{
    for (int task = 0; task < 20; task++) {
        pthread_t threads[4];
        if (well) {
            use_stack();
            continue;
        }
        for (int i = 0; i < 4; i++)
            pthread_create(&threads[i], 0, run_task, 0);
        for (int i = 0; i < 4; i++)
            pthread_join(threads[i], 0);
    }
    rest(2);
}

/* A file that is read by windows, each mapped and unmapped. */
static void read_windows(void)
{
    static int file = -1;
    static char *whole;
    size_t size = 64 * MIB, window = 64 << 10;
    long sum = 0;
    if (file < 0) {
        file = open("data", O_RDWR | O_CREAT, 0600);
        if (ftruncate(file, size))
            exit(2);
        whole = mmap(0, size, PROT_READ, MAP_SHARED, file, 0);
        for (size_t at = 0; at < size; at += PAGE)
            if (pwrite(file, &at, sizeof at, at) < 0)
                exit(2);
    }
    for (size_t at = 0; at < size; at += window) {
        char *part = well ? whole + at : mmap(0, window, PROT_READ, MAP_SHARED, file, at);
        for (size_t place = 0; place < window; place += PAGE)
            sum += part[place];
        if (!well)
            munmap(part, window);
    }
    __asm__ volatile("" : : "r"(sum));
    rest(3);
}

/* A segment of shared memory for each message. */
static void send_shared(void)
{
    static char *kept;
    char *segment = well && kept ? kept : map(8 * MIB, MAP_SHARED);
    kept = segment;
    if (!well && fork() == 0) {
        touch_pages(segment, 8 * MIB, 1);
        _exit(0);
    }
    touch_pages(segment, 8 * MIB, 2);
    if (!well) {
        wait(0);
        munmap(segment, 8 * MIB);
    }
    rest(3);
}

/* A large table that is read before it is written. */
static void look_up(void)
{
    size_t size = 96 * MIB;
    static char *kept;
    unsigned key = 1;
    long hits = 0;
    char *table = well && kept ? kept : map(size, MAP_PRIVATE);
    kept = table;
    for (int i = 0; i < 8000; i++) {
        key = key * 1664525u + 1013904223u;
        size_t at = (size_t)(key >> 3) % size;
        hits += ((volatile char *)table)[at];
        table[at] = 1;
    }
    __asm__ volatile("" : : "r"(hits));
    if (!well)
        munmap(table, size);
    rest(5);
}

/* A memory leak: each request keeps what it allocates, up to a size at which it starts again. */
static void fill_cache(void)
{
    static char *cache;
    static size_t used;
    size_t size = (size_t)1 << 30, request = MIB;
    if (!cache)
        cache = map(size, MAP_PRIVATE);
    touch_pages(cache + (well ? 0 : used), request, 1);
    used = (used + request) % size;
    rest(25);
}

static void *map_and_unmap(void *data)
{
    for (;;) {
        char *memory = mmap(0, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        touch_pages(memory, MIB, 1);
        munmap(memory, MIB);
    }
    return data;
}

static void *work_in_place(void *data)
{
    static __thread char memory[MIB];
    for (;;)
        touch_pages(memory, MIB, 1);
    return data;
}

/* Threads that change the address space while others fault in it. */
static void contend(void)
{
    for (int i = 0; i < 8; i++) {
        pthread_t thread;
        pthread_create(&thread, 0, well ? work_in_place : map_and_unmap, 0);
    }
    rest(3600000);
}

/* A new memory mapping that several threads touch for the first time at once. */
static void *touch_part(void *data)
{
    touch_pages(data, 8 * MIB, 1);
    return 0;
}

static void share_first_use(void)
{
    static char *kept;
    char *memory = well && kept ? kept : map(32 * MIB, MAP_PRIVATE);
    pthread_t threads[4];
    kept = memory;
    if (well)
        touch_pages(memory, 32 * MIB, 1);
    else {
        for (int i = 0; i < 4; i++)
            pthread_create(&threads[i], 0, touch_part, memory + i * 8 * MIB);
        for (int i = 0; i < 4; i++)
            pthread_join(threads[i], 0);
        munmap(memory, 32 * MIB);
    }
    rest(5);
}

/* A mapped file that is read at random with read-ahead switched off, and that the page cache has lost. */
static void read_at_random(void)
{
    static int file = -1;
    size_t size = 64 * MIB;
    long sum = 0;
    unsigned key = (unsigned)time(0);
    if (file < 0) {
        static char block[MIB];
        file = open("cold", O_RDWR | O_CREAT, 0600);
        memset(block, 7, sizeof block);
        for (size_t at = 0; at < size; at += sizeof block)
            if (pwrite(file, block, sizeof block, at) < 0)
                exit(2);
        fsync(file);
    }
    char *mapped = mmap(0, size, PROT_READ, MAP_SHARED, file, 0);
    if (!well) {
        madvise(mapped, size, MADV_RANDOM);
        posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    }
    for (int i = 0; i < 4000; i++) {
        key = key * 1664525u + 1013904223u;
        sum += mapped[well ? 0 : (size_t)(key >> 3) % size];
    }
    __asm__ volatile("" : : "r"(sum));
    munmap(mapped, size);
    rest(20);
}

int main(int count, char **words)
{
    static const struct {
        const char *kind;
        void (*work)(void);
    } kinds[] = {
        {"copy", copy_large},     {"tree", build_tree},     {"arena", reset_arena},   {"snapshot", take_snapshot},
        {"grow", grow_buffer},    {"thread", start_thread}, {"window", read_windows}, {"shared", send_shared},
        {"lookup", look_up},      {"cache", fill_cache},    {"contend", contend},     {"first-use", share_first_use},
        {"random", read_at_random},
    };
    well = count > 2 && !strcmp(words[2], "well");
    for (size_t i = 0; count > 1 && i < sizeof kinds / sizeof *kinds; i++)
        if (!strcmp(words[1], kinds[i].kind))
            for (;;)
                kinds[i].work();
    fputs("usage: service KIND [well]\n", stderr);
    return 2;
}
