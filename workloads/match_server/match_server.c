/*
 * A matcher: a request compares a template with a gallery of 64 MiB in memory.
 *
 *     match_server PATH startup|first_request
 *
 * startup: the gallery is filled before the server listens. first_request: its pages are there when the first request
 * has touched them.
 */
#define _GNU_SOURCE
#include <sys/mman.h>

#include "serve.h"

#define BYTES (64L << 20)

static unsigned char *gallery;

static uint64_t answer_request(void)
{
    uint64_t best = 0;
    for (long i = 0; i < BYTES; i += 64)
        if (gallery[i] + 1U > best)
            best = gallery[i] + 1U;
    return best;
}

static void end_connection(void)
{
}

int main(int count, char **words)
{
    if (count != 3)
        return 2;
    gallery = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (gallery == MAP_FAILED)
        fail("the gallery");
    if (strcmp(words[2], "startup") == 0)
        memset(gallery, 1, BYTES);
    serve(words[1]);
}
