#include "cJSON.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static cJSON *build(void) {
    cJSON *list = cJSON_CreateArray();
    char text[64];
    cJSON *last = NULL;
    for (int i = 0; i < 10000; i++) {
        cJSON *item = cJSON_CreateObject();
        sprintf(text, "record %d \"quoted\"", i);
        cJSON_AddItemToObject(item, "name", cJSON_CreateString(text));
        cJSON_AddItemToObject(item, "number", cJSON_CreateNumber(i * 0.5));
        cJSON_AddItemToObject(item, "flag", cJSON_CreateTrue());
        /* Appending walks the list in old versions; that takes time and no memory. */
        cJSON_AddItemToArray(list, item);
        last = item;
    }
    return last ? list : NULL;
}

/* A document that does not depend on how this version of the library prints. */
static char *written(void) {
    char *text = malloc(2 << 20), *end = text;
    end += sprintf(end, "[");
    for (int i = 0; i < 20000; i++)
        end += sprintf(end, "%s{\"name\":\"record %d \\\"quoted\\\"\",\"number\":%d.5,\"flag\":true}", i ? "," : "", i, i);
    sprintf(end, "]");
    return text;
}

int main(int count, char **words) {
    (void)count;
    if (strcmp(words[1], "build") == 0) {
        cJSON_Delete(build());
    } else if (strcmp(words[1], "print") == 0) {
        cJSON *list = build();
        free(cJSON_Print(list));
        free(cJSON_PrintUnformatted(list));
        cJSON_Delete(list);
    } else {
        char *text = written();
        for (int round = 0; round < 3; round++) {
            cJSON *list = cJSON_Parse(text);
            if (!list) return 1;
            cJSON_Delete(list);
        }
        free(text);
    }
    return 0;
}
