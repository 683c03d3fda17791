/*
 * A service that copies a tensor of 1 MiB for each request, as an inference server prepares its input:
 *
 *     copy_server PATH malloc|mapped|kept
 *
 * malloc: a buffer from the allocator, given back after the request. mapped: one from the kernel. kept: one that the
 * connection keeps.
 */
#define _GNU_SOURCE
#include <sys/mman.h>

#include "serve.h"

#define BYTES (1L << 20)

static char *tensor;
static char way;

static _Thread_local void *kept;

static void *map_buffer(void)
{
    return mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void *get_buffer(void)
{
    if (way == 'm')
        return map_buffer();
    if (way == 'a')
        return malloc(BYTES);
    if (kept == NULL)
        kept = map_buffer();
    return kept;
}

static void end_connection(void)
{
    if (kept != NULL)
        munmap(kept, BYTES);
}

static uint64_t answer_request(void)
{
    char *buffer = get_buffer();
    if (buffer == NULL || buffer == MAP_FAILED)
        fail("a buffer");
    memcpy(buffer, tensor, BYTES);
    uint64_t sum = 0;
    for (long i = 0; i < BYTES; i += 4096)
        sum += (unsigned char)buffer[i];
    if (way == 'm')
        munmap(buffer, BYTES);
    else if (way == 'a')
        free(buffer);
    return sum;
}

int main(int count, char **words)
{
    if (count != 3)
        return 2;
    way = strcmp(words[2], "mapped") == 0 ? 'm' : strcmp(words[2], "malloc") == 0 ? 'a' : 'k';
    tensor = malloc(BYTES);
    memset(tensor, 1, BYTES);
    serve(words[1]);
}
