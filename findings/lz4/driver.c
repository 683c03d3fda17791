#include "lz4.h"
#include "lz4frame.h"
#include "lz4hc.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 4 << 20 };

static char *text(void) {
    char *made = malloc(SIZE + 64);
    for (int at = 0, line = 0; at < SIZE; line++) at += sprintf(made + at, "line %d: %d\n", line, line * 7919 % 1000);
    return made;
}

int main(int count, char **words) {
    (void)count;
    char *source = text(), *back = malloc(SIZE);
    int room = LZ4_compressBound(SIZE);
    char *packed = malloc(room);
    if (strcmp(words[1], "frame") == 0) {
        LZ4F_preferences_t wish;
        memset(&wish, 0, sizeof wish);
        room = LZ4F_compressFrameBound(SIZE, &wish);
        packed = realloc(packed, room);
        size_t length = LZ4F_compressFrame(packed, room, source, SIZE, &wish), got = SIZE;
        if (LZ4F_isError(length)) return 1;
        LZ4F_dctx *context;
        if (LZ4F_isError(LZ4F_createDecompressionContext(&context, LZ4F_VERSION))) return 1;
        if (LZ4F_isError(LZ4F_decompress(context, back, &got, packed, &length, NULL))) return 1;
        LZ4F_freeDecompressionContext(context);
    } else {
        int length = words[1][0] == 'f' ? LZ4_compress_default(source, packed, SIZE, room)
                                        : LZ4_compress_HC(source, packed, SIZE, room, 9);
        if (LZ4_decompress_safe(packed, back, length, SIZE) != SIZE) return 1;
    }
    return memcmp(source, back, SIZE) != 0;
}
