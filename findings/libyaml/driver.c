#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

static size_t written;

static int take(void *data, unsigned char *text, size_t size) {
    (void)data, (void)text;
    written += size;
    return 1;
}

static char *document(void) {
    char *text = malloc(4 << 20), *end = text;
    for (int number = 0; number < 8000; number++)
        end += sprintf(end, "- name: \"record %d\"\n  tags: [one, two, {three: %d}]\n  text: >\n    some words\n    more words\n",
                       number, number);
    return text;
}

static int events(yaml_parser_t *parser) {
    for (yaml_event_type_t type = YAML_NO_EVENT; type != YAML_STREAM_END_EVENT;) {
        yaml_event_t event;
        if (!yaml_parser_parse(parser, &event)) return 1;
        type = event.type;
        yaml_event_delete(&event);
    }
    return 0;
}

static int writes(void) {
    yaml_emitter_t emitter;
    yaml_document_t tree;
    char text[32];
    if (!yaml_emitter_initialize(&emitter)) return 1;
    yaml_emitter_set_output(&emitter, take, NULL);
    yaml_emitter_open(&emitter);
    yaml_document_initialize(&tree, NULL, NULL, NULL, 1, 1);
    int list = yaml_document_add_sequence(&tree, NULL, YAML_BLOCK_SEQUENCE_STYLE);
    for (int number = 0; number < 20000; number++) {
        sprintf(text, "entry %d: its text", number);
        int item = yaml_document_add_scalar(&tree, NULL, (yaml_char_t *)text, -1, YAML_ANY_SCALAR_STYLE);
        yaml_document_append_sequence_item(&tree, list, item);
    }
    if (!yaml_emitter_dump(&emitter, &tree)) return 1;
    yaml_emitter_close(&emitter);
    yaml_emitter_delete(&emitter);
    return written == 0;
}

int main(int count, char **words) {
    (void)count;
    if (strcmp(words[1], "write") == 0) return writes();
    char *text = document();
    yaml_parser_t parser;
    yaml_document_t tree;
    yaml_parser_initialize(&parser);
    yaml_parser_set_input_string(&parser, (unsigned char *)text, strlen(text));
    if (strcmp(words[1], "events") == 0) return events(&parser);
    if (!yaml_parser_load(&parser, &tree)) return 1;
    yaml_document_delete(&tree);
    yaml_parser_delete(&parser);
    return 0;
}
