#include "zlib.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTES (4u << 20)

static int whole(const Bytef *text) {
    uLongf room = compressBound(BYTES), back = BYTES;
    Bytef *packed = malloc(room), *again = malloc(BYTES);
    if (compress2(packed, &room, text, BYTES, 6) != Z_OK) return 1;
    return uncompress(again, &back, packed, room) != Z_OK || memcmp(text, again, BYTES) != 0;
}

static int streams(Bytef *text) {
    static Bytef packed[1 << 17];
    for (size_t at = 0; at < BYTES; at += 1 << 16) {
        z_stream out = {0}, in = {0};
        static Bytef again[1 << 16];
        if (deflateInit(&out, 1 + at / (1 << 16) % 9) != Z_OK) return 1;
        out.next_in = text + at, out.avail_in = 1 << 16;
        out.next_out = packed, out.avail_out = sizeof packed;
        if (deflate(&out, Z_FINISH) != Z_STREAM_END) return 1;
        deflateEnd(&out);
        if (inflateInit(&in) != Z_OK) return 1;
        in.next_in = packed, in.avail_in = out.total_out;
        in.next_out = again, in.avail_out = sizeof again;
        if (inflate(&in, Z_FINISH) != Z_STREAM_END) return 1;
        inflateEnd(&in);
    }
    return 0;
}

static int file(const Bytef *text) {
    static char line[1000];
    gzFile out = gzopen("written.gz", "wb6");
    if (!out || gzwrite(out, text, BYTES / 4) != BYTES / 4) return 1;
    gzclose(out);
    gzFile in = gzopen("written.gz", "rb");
    while (in && gzgets(in, line, sizeof line)) continue;
    return !in || gzclose(in) != Z_OK;
}

int main(int count, char **words) {
    char *text = malloc(BYTES + 100), *end = text;
    (void)count;
    for (int line = 0; end < text + BYTES; line++) end += sprintf(end, "line %d: %ld\n", line, line * 7919L % 1000);
    if (strcmp(words[1], "file") == 0) return file((Bytef *)text);
    return strcmp(words[1], "whole") == 0 ? whole((Bytef *)text) : streams((Bytef *)text);
}
