/* Touches PAGES pages, then does OPERATIONS times WORK copies of 32 KiB, and says how long the copies took. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { PAGE = 4096, WINDOW = 4096, BYTES = 32768 };
static char from[BYTES], to[BYTES];

int main(int count, char **arguments)
{
    if (count != 4)
        return 2;
    long pages = atol(arguments[1]), operations = atol(arguments[2]), work = atol(arguments[3]);
    char *window = mmap(NULL, WINDOW * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (window == MAP_FAILED)
        return 1;
    volatile char seen = 0;
    for (long page = 0; page < pages; page++) {
        /* Read, and the same pages again, so that a million of them needs neither memory nor much time. */
        if (page % WINDOW == 0)
            madvise(window, WINDOW * PAGE, MADV_DONTNEED);
        seen += window[page % WINDOW * PAGE];
    }
    memset(from, 1, BYTES);
    memset(to, 2, BYTES);
    struct timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (long i = 0; i < operations * work; i++) {
        memcpy(to, from, BYTES);
        __asm__ volatile("" ::"r"(to) : "memory");
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    /* In whole numbers: how a float is formatted may depend on its digits, and so may the faults. */
    long nanoseconds = (end.tv_sec - start.tv_sec) * 1000000000L + end.tv_nsec - start.tv_nsec;
    printf("{\"operations\": %ld, \"seconds\": %ld.%09ld}\n", operations, nanoseconds / 1000000000L,
           nanoseconds % 1000000000L);
    return 0;
}
