"""Whether two pieces of code differ only in comments, spaces and names."""

import pytest

from runner.subject.code_tokens import find_renamed_names, is_same_code, list_tokens


def same(before: str, after: str, *, file: str = "a.c", rest: str = "") -> bool:
    """Return whether a change of all lines of a file alters nothing that is executed."""
    tokens = [tuple(token for line in list_tokens(file, text) for token in line) for text in (before, after)]
    known = frozenset(tokens[0]) | frozenset(token for line in list_tokens(file, rest) for token in line)
    return is_same_code(tokens[0], tokens[1], find_renamed_names([(tokens[0], tokens[1])], known))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x = f(1); // one", "x = f( 1 ); /* the first */"),
        ("int n = f();\nreturn n;", "int count = f();\nreturn count;"),
        ("void *b = malloc(n ? n : 1);", "size_t wanted = n ? n : 1;\nvoid *b = malloc(wanted);"),
        ("/* a\n   b */ x();", "/* c\n\n   d */ x();"),
    ],
)
def test_comments_spaces_names_and_a_variable_for_a_part_of_a_statement_change_nothing(before: str, after: str) -> None:
    assert same(before, after)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x = f(1);", "x = f(2);"),
        ("return malloc(n);", "return calloc(n);"),
        ("char *p = malloc(SMALL);", "char *p = malloc(LARGE);"),
        ("uint32_t id;", "uint64_t id;"),
        ('open("http://a");', 'open("http://b");'),
        ("n = a\n  * 4;", "n = a\n  * 8;"),
        ("while (i < size(x)) i++;", "int n = size(x);\nwhile (i < n) i++;"),
        ("if (a && f(b)) g();", "int c = f(b);\nif (a && c) g();"),
    ],
)
def test_another_number_function_type_or_order_changes_something(before: str, after: str) -> None:
    assert not same(before, after)


def test_a_name_that_existed_before_is_another_variable() -> None:
    assert not same("int n = f();\nreturn n;", "int m = f();\nreturn m;", rest="int m;")


def test_what_a_comment_looks_like_depends_on_the_file() -> None:
    assert same("n = 1  # one", "n = 1  # first", file="a.py")
    assert not same("#define N 1", "#define N 2")
    assert same("n = 1 ! one", "n = 1 ! first", file="a.f90")


def test_code_that_would_take_long_to_compare_is_another_one() -> None:
    before = "".join(f"f{number}(g({number}));\n" for number in range(30))
    after = "".join(f"int v{number} = g({number});\nf{number}(v{number});\n" for number in range(30))
    assert same(before, after)
    assert not same(before, f"{after}h();")
    quotes = '"\\' * 500_000
    assert not same(quotes, f"{quotes}x")
