/*
 * A column store: a request sums a segment of a column that lies in a file.
 *
 *     scan_server PATH FOLDER read|mmap
 *
 * read: into a buffer that each connection keeps. mmap: the segment is mapped for the query and unmapped after it.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "serve.h"

#define SEGMENTS 16
#define BYTES (4L << 20)

static int column, mapped;
static _Thread_local uint64_t *buffer;

static void end_connection(void)
{
    if (buffer != NULL)
        munmap(buffer, BYTES);
}

static uint64_t answer_request(void)
{
    static atomic_long next;
    off_t offset = atomic_fetch_add(&next, 1) % SEGMENTS * BYTES;
    uint64_t *segment, sum = 0;
    if (mapped) {
        segment = mmap(NULL, BYTES, PROT_READ, MAP_SHARED, column, offset);
        if (segment == MAP_FAILED)
            fail("a segment");
    } else {
        if (buffer == NULL)
            buffer = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (buffer == MAP_FAILED)
            fail("a buffer");
        segment = buffer;
        for (long done = 0; done < BYTES;) {
            ssize_t length = pread(column, (char *)segment + done, BYTES - done, offset + done);
            if (length <= 0)
                fail("the column");
            done += length;
        }
    }
    for (long i = 0; i < BYTES / (long)sizeof *segment; i++)
        sum += segment[i];
    if (mapped)
        munmap(segment, BYTES);
    return sum;
}

/* Write the column, and have each of its pages in memory as a folio by itself. */
static void make_column(const char *folder)
{
    char path[4096];
    static uint64_t block[512];
    snprintf(path, sizeof path, "%s/column", folder);
    column = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (column < 0)
        fail(path);
    for (long page = 0; page < SEGMENTS * BYTES / (long)sizeof block; page++) {
        block[0] = (uint64_t)page;
        if (write(column, block, sizeof block) != sizeof block)
            fail(path);
    }
    if (fsync(column) != 0 || posix_fadvise(column, 0, 0, POSIX_FADV_DONTNEED) != 0 ||
        posix_fadvise(column, 0, 0, POSIX_FADV_RANDOM) != 0)
        fail(path);
    for (off_t offset = 0; offset < SEGMENTS * BYTES; offset += sizeof block)
        if (pread(column, block, sizeof block, offset) != sizeof block)
            fail(path);
    posix_fadvise(column, 0, 0, POSIX_FADV_NORMAL);
}

int main(int count, char **words)
{
    if (count != 4)
        return 2;
    mapped = strcmp(words[3], "mmap") == 0;
    make_column(words[2]);
    serve(words[1]);
}
