#include "miniz.h"
#if __has_include("miniz_zip.h")
#include "miniz_zip.h"
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTES (4u << 20)

static int packs(const unsigned char *text, size_t size) {
    mz_ulong room = mz_compressBound(size), back = size;
    unsigned char *packed = malloc(room), *again = malloc(size);
    int fails = mz_compress2(packed, &room, text, size, 6) || mz_uncompress(again, &back, packed, room);
    fails = fails || back != size || memcmp(text, again, size);
    free(packed);
    free(again);
    return fails;
}

static int archives(const char *text) {
    mz_zip_archive archive;
    void *packed = NULL;
    size_t size = 0;
    memset(&archive, 0, sizeof archive);
    if (!mz_zip_writer_init_heap(&archive, 0, 0)) return 1;
    for (int number = 0; number < 2000; number++) {
        char name[32];
        sprintf(name, "folder/file-%d.txt", number);
        if (!mz_zip_writer_add_mem(&archive, name, text + number * 1000, 2000, 6)) return 1;
    }
    if (!mz_zip_writer_finalize_heap_archive(&archive, &packed, &size)) return 1;
    free(packed);
    return !mz_zip_writer_end(&archive);
}

int main(int count, char **words) {
    char *text = malloc(BYTES + 100), *end = text;
    (void)count;
    for (int line = 0; end < text + BYTES; line++) end += sprintf(end, "line %d: %ld\n", line, line * 7919L % 1000);
    if (strcmp(words[1], "archive") == 0) return archives(text);
    if (strcmp(words[1], "whole") == 0) return packs((unsigned char *)text, BYTES);
    for (size_t at = 0; at < BYTES; at += 1 << 17)
        if (packs((unsigned char *)text + at, 1 << 17)) return 1;
    return 0;
}
