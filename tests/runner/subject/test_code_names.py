"""Which definition a line of source code belongs to, judging by its indentation and its words."""

import pytest

from runner.subject.code_names import (
    begins_function,
    find_defined_names,
    find_enclosing_name,
    find_value,
    is_function_name,
)

C_TEXT = """\
#define SLAB 65536
#define NEXT(n) \\
    ((n) + \\
     (n) / 2)
enum { BUCKETS = 4096 };
typedef uint32_t record_id;
static unsigned char weights[32768];
struct entry {
    char key[16];
};
typedef struct {
    int width;
} picture;
enum level {
    LOW = 1,
};
static const int primes[] = {
    2, 3,
};
static size_t
round_up(size_t n)
{
    for (struct entry *e = first; e; e = e->next)
        n += e->key[0];
    return n;
}
"""
C = C_TEXT.split("\n")


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("#define SLAB 65536", ("SLAB",)),
        ("     (n) / 2)", ("NEXT",)),
        ("enum { BUCKETS = 4096 };", ("BUCKETS",)),
        ("typedef uint32_t record_id;", ("record_id",)),
        ("static unsigned char weights[32768];", ("weights",)),
        ("    char key[16];", ("entry",)),
        ("    int width;", ("picture",)),
        ("    LOW = 1,", ("LOW",)),
        ("    2, 3,", ("primes",)),
        ("        n += e->key[0];", ("round_up",)),
        ("    return n;", ("round_up",)),
        ("};", ()),
    ],
)
def test_a_line_of_c_belongs_to_a_macro_a_constant_a_type_a_table_or_a_function(
    line: str, names: tuple[str, ...]
) -> None:
    assert find_defined_names(C, C.index(line) + 1) == names


@pytest.mark.parametrize(
    ("text", "number", "names"),
    [
        ("struct Limits {\n    static constexpr std::size_t kChunk = 256;\n};", 2, ("kChunk",)),
        ("template <class T> class Pool {\n    std::vector<T> chunks;\n};", 2, ("Pool",)),
        ("class EXPORTED Node : public Base {\n    Node *next;\n\n\tvoid *data;\n};", 4, ("Node",)),
        ("class A {\n    int get() {\n        return 1;\n    }\n\tvoid *data;\n};", 5, ("A",)),
        ("public class Cache extends Base implements Store {\n    int size;\n}", 2, ("Cache",)),
        ("pub const BATCH: usize = 1024;", 1, ("BATCH",)),
        ("struct state {\n    int room;\n#define MIN_ROOM room\n    int next;\n};", 4, ("state",)),
        ("pub struct Posting {\n    pub word: u32,\n}", 2, ("Posting",)),
        ("type series struct {\n\tpoints [16]point\n}", 2, ("series",)),
        ("type node[T any] struct {\n\tcount [64]int\n}", 2, ("node",)),
        ("const (\n\tchunk = 16\n)", 2, ("chunk",)),
        ("func (l *log) grow(n int) {\n\tl.n = n\n}", 2, ("grow",)),
        ("fn count<T>(values: &[T]) -> usize {\n    values.len()\n}", 2, ("count",)),
        ("KEPT = 500", 1, ("KEPT",)),
        ("def remember(key):\n    kept[key] = 1", 2, ("remember",)),
        ("final class Limits {\n    static final int BLOCK = 32;\n}", 2, ("BLOCK",)),
        ("exports.pageSize = 64 * 1024;", 1, ("pageSize",)),
        ("import json", 1, ()),
        ("int get(int n)\n{\n    int size = n +\n        64;\n}", 4, ("get",)),
        ("void put(char *s)\n{\n    memcpy(s,\n           t, 64);\n}", 4, ("put",)),
        ("class A {\n  int get(int n) {\n    return f(n,\n      64);\n  }\n}", 4, ("get",)),
        ("const add = (a, b) => {\n  return a + b;\n};", 2, ("add",)),
    ],
)
def test_other_languages_are_read_by_the_same_rules(text: str, number: int, names: tuple[str, ...]) -> None:
    assert find_defined_names(text.split("\n"), number) == names


def test_the_function_around_a_line_is_known_also_for_the_line_in_which_it_begins() -> None:
    assert find_enclosing_name(C, C.index("    return n;") + 1) == "round_up"
    assert find_enclosing_name(["void add(struct list *list)", "{", "}"], 1) == "add"
    assert find_enclosing_name(["void add(struct list *list);"], 1) == ""
    assert find_enclosing_name(C, 0) == find_enclosing_name(C, 1_000) == ""


@pytest.mark.parametrize(
    ("line", "is_beginning"),
    [
        ("func (p *parser) Parse(text string) int {", True),
        ("static struct entry *Parse(const char *text)", True),
        ("Parse(text)", True),
        ("    def Parse(self, text):", True),
        ("void Parse(const char *text);", False),
        ("    Parse(text)", False),
        ("    return Parse(text)", False),
        ("    n := Parse(text)", False),
        ("    p.Parse(text)", False),
    ],
)
def test_where_a_function_begins_it_is_not_called(line: str, is_beginning: bool) -> None:
    assert begins_function(line, "Parse") is is_beginning


@pytest.mark.parametrize("text", ['import (\n\t"fmt"\n)', "defer func() {\n\tdone()\n}()"])
def test_a_word_of_the_language_is_no_name(text: str) -> None:
    assert find_defined_names(text.split("\n"), 2) == ()


def test_a_function_is_told_from_other_definitions() -> None:
    assert is_function_name(C, C.index("    return n;") + 1, "round_up")
    assert not is_function_name(C, C.index("    char key[16];") + 1, "entry")


def test_the_lines_that_enclose_a_line_are_not_searched_in_the_whole_of_a_long_file() -> None:
    lines = ["int main(void) {", *["    x();"] * 100_000, "    y();"]
    assert find_enclosing_name(lines[:1000], 1000) == "main"
    assert not find_enclosing_name(lines, len(lines))


@pytest.mark.parametrize(
    ("lines", "name", "value"),
    [
        (["#define LIMIT 4096"], "LIMIT", "4096"),
        (["  #  define LIMIT  (1 << 12)"], "LIMIT", "(1 << 12)"),
        (["static const size_t limit = 64 * 1024;"], "limit", "64 * 1024"),
        (["const Limit = 8"], "Limit", "8"),
        (["    LIMIT = 3,"], "LIMIT", "3"),
        (["pub const LIMIT: usize = 16;"], "LIMIT", "16"),
        (["#define LIMIT 1", "#define LIMIT 2"], "LIMIT", ""),
        (["#define LIMIT(x) grow(x)"], "LIMIT", ""),
        (["if (limit == 8) {"], "limit", ""),
        (["int limit;"], "limit", ""),
        (["#define OTHER LIMIT"], "LIMIT", ""),
    ],
)
def test_the_value_of_a_macro_or_constant_is_found(lines: list[str], name: str, value: str) -> None:
    assert find_value(lines, name) == value
