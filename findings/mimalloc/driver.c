/* The same requests in each execution: sizes come from a generator with a fixed seed. */
#include <mimalloc.h>
#include <stdint.h>
#include <string.h>

static uint32_t state = 1;

static uint32_t next(uint32_t below) {
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % below;
}

static void objects(void) {
    static void *made[100000];
    for (int i = 0; i < 100000; i++) made[i] = memset(mi_malloc(16 + next(240)), 1, 16);
    for (int i = 0; i < 100000; i += 2) mi_free(made[i]);
    for (int i = 0; i < 100000; i += 2) made[i] = memset(mi_malloc(16 + next(240)), 1, 16);
    for (int i = 0; i < 100000; i++) mi_free(made[i]);
}

static void buffers(void) {
    for (int round = 0; round < 8; round++) {
        size_t size = 4096;
        char *buffer = mi_malloc(size);
        for (; size < (4u << 20); size += size / 2) {
            buffer = mi_realloc(buffer, size);
            memset(buffer, round, size);
        }
        mi_free(buffer);
    }
}

static void churn(void) {
    static void *kept[2000];
    for (int i = 0; i < 200000; i++) {
        uint32_t at = next(2000), size = next(100) ? next(2000) : next(200000);
        mi_free(kept[at]);
        kept[at] = memset(mi_malloc(size + 1), 1, size + 1);
    }
}

int main(int count, char **words) {
    (void)count;
    if (strcmp(words[1], "objects") == 0) objects();
    if (strcmp(words[1], "buffers") == 0) buffers();
    if (strcmp(words[1], "churn") == 0) churn();
    return 0;
}
