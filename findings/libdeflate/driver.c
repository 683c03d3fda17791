#include "libdeflate.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTES (2u << 20)

int main(int count, char **words) {
    char *text = malloc(BYTES + 100), *end = text;
    (void)count;
    for (int line = 0; end < text + BYTES; line++) end += sprintf(end, "line %d: %ld\n", line, line * 7919L % 1000);
    for (size_t at = 0; at < BYTES; at += 1 << 18) {
        struct libdeflate_compressor *compressor = libdeflate_alloc_compressor(atoi(words[1]));
        struct libdeflate_decompressor *decompressor = libdeflate_alloc_decompressor();
        size_t room = libdeflate_zlib_compress_bound(compressor, 1 << 18);
        char *packed = malloc(room), *again = malloc(1 << 18);
        size_t size = libdeflate_zlib_compress(compressor, text + at, 1 << 18, packed, room);
        if (!size || libdeflate_zlib_decompress(decompressor, packed, size, again, 1 << 18, NULL)) return 1;
        if (memcmp(text + at, again, 1 << 18)) return 1;
        free(packed);
        free(again);
        libdeflate_free_compressor(compressor);
        libdeflate_free_decompressor(decompressor);
    }
    return 0;
}
