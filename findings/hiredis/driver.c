#include "hiredis.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int commands(void) {
    char *kept[20000];
    for (int number = 0; number < 20000; number++)
        if (redisFormatCommand(&kept[number], "SET key:%d %s:%d", number, "some longer value of the key", number) < 0)
            return 1;
    return 0;
}

/* Keeps every eighth reply, as a program that stores some of what it reads. */
static int replies(const char *text, int times) {
    redisReader *reader = redisReaderCreate();
    for (int round = 0; round < times; round++) {
        void *reply = NULL;
        if (redisReaderFeed(reader, text, strlen(text)) != REDIS_OK) return 1;
        if (redisReaderGetReply(reader, &reply) != REDIS_OK || !reply) return 1;
        if (round % 8) freeReplyObject(reply);
    }
    return 0;
}

int main(int count, char **words) {
    (void)count;
    if (strcmp(words[1], "commands") == 0) return commands();
    char *text = malloc(1 << 20), *end = text;
    if (strcmp(words[1], "lists") == 0) {
        end += sprintf(end, "*1000\r\n");
        for (int number = 0; number < 500; number++) end += sprintf(end, ":%d\r\n$5\r\nhello\r\n", number);
        return replies(text, 400);
    }
    end += sprintf(end, "$100000\r\n");
    memset(end, 'x', 100000);
    strcpy(end + 100000, "\r\n");
    return replies(text, 400);
}
