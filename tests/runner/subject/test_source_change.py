"""Which lines a change added, rewrote, or removed lines before, read from git's own difference."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.contract.code_change import MAX_USES
from runner.subject.repository import Repository
from runner.subject.source_change import SourceChange, parse_source_change, read_source_change
from tests.runner.commands import git


def test_added_and_rewritten_lines_are_ranges_in_the_newer_commit(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    (tmp_path / "a.c").write_text("one\ntwo\nthree\nfour\n", encoding="utf-8")
    (tmp_path / "gone.c").write_text("x\n", encoding="utf-8")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "--message", "first")
    # A line that looks like the heading of a file belongs to the hunk.
    (tmp_path / "a.c").write_text("one\n++ b/other.c\nTWO\nthree\nfour\nfive\n", encoding="utf-8")
    (tmp_path / "folder with space").mkdir()
    (tmp_path / "folder with space" / "b.c").write_text("new\nlines\n", encoding="utf-8")
    (tmp_path / "gone.c").unlink()
    git(tmp_path, "add", "--all")
    git(tmp_path, "commit", "--quiet", "--message", "second")
    change = read_source_change(Repository(tmp_path, "changes"), "HEAD~1", "HEAD")
    assert change.lines == {"a.c": ((2, 3), (6, 6)), "folder with space/b.c": ((1, 2),)}
    assert change.removed_lines == {"a.c": ((2, 2),)}


@pytest.mark.parametrize(
    ("left", "changed_line"), [("two\nthree\n", 1), ("one\nthree\n", 2), ("one\ntwo\n", 3), ("", 1)]
)
def test_where_lines_were_only_removed_the_line_in_their_place_is_changed(
    tmp_path: Path, left: str, changed_line: int
) -> None:
    git(tmp_path, "init", "--quiet")
    (tmp_path / "a.c").write_text("one\ntwo\nthree\n", encoding="utf-8")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "--message", "first")
    (tmp_path / "a.c").write_text(left, encoding="utf-8")
    git(tmp_path, "commit", "--quiet", "--all", "--message", "second")
    changed_lines = read_source_change(Repository(tmp_path, "changes"), "HEAD~1", "HEAD").lines
    assert changed_lines == {"a.c": ((changed_line, changed_line),)}


def test_the_calls_in_added_lines_are_known_if_a_single_line_makes_them(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    body = "  mark();\n  // sweep(all) in the end\n  sweep(x);\n"
    (tmp_path / "gc.c").write_text(f"void\ncollect(void)\n{{\n{body}}}\n\nint other(int x)\n{{\n}}\n", encoding="utf-8")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "--message", "first")
    changed = body.replace("sweep(x);\n", "sweep(x);\n  if (done(x)) malloc_trim (0); // free(x) later\n")
    other = "  log_it(x);\n  log_it(1);\n#define FREE() free(0)\n  return done(2);\n"
    text = f"void\ncollect(void)\n{{\n{changed}}}\n\nint other(int x)\n{{\n{other}}}\n"
    (tmp_path / "gc.c").write_text(text, encoding="utf-8")
    git(tmp_path, "commit", "--quiet", "--all", "--message", "second")
    (call,) = read_source_change(Repository(tmp_path, "changes"), "HEAD~1", "HEAD").calls
    assert (call.callee, call.caller, call.file, call.line) == ("malloc_trim", "collect", "gc.c", 7)


def test_the_lines_that_call_the_function_of_a_changed_call_are_known(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    (tmp_path / "main.c").write_text("int work(void)\n{\n  return done (1);\n}\n// done(2)\n", encoding="utf-8")
    text = "int done(int x)\n{\n  return x;\n}\n"
    (tmp_path / "buffer: 1.c").write_text(text, encoding="utf-8")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "--message", "first")
    (tmp_path / "buffer: 1.c").write_text(text.replace("x;", "madvise(x);"), encoding="utf-8")
    git(tmp_path, "commit", "--quiet", "--all", "--message", "second")
    (call,) = read_source_change(Repository(tmp_path, "changes"), "HEAD~1", "HEAD").calls
    assert (call.callee, call.file, call.line) == ("madvise", "buffer: 1.c", 3)
    sites = {(site.file, site.line) for site in call.caller_sites}
    assert ("main.c", 3) in sites
    assert ("main.c", 5) not in sites


def test_a_line_of_which_only_the_end_changed_is_unchanged(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    (tmp_path / "a.c").write_bytes(b"one\r\ntwo\r\nthree\r\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "--message", "first")
    (tmp_path / "a.c").write_bytes(b"one\nTWO\nthree\n")
    git(tmp_path, "commit", "--quiet", "--all", "--message", "second")
    assert read_source_change(Repository(tmp_path, "changes"), "HEAD~1", "HEAD").lines == {"a.c": ((2, 2),)}


def test_what_git_cannot_compare_has_no_changed_lines(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    assert read_source_change(Repository(tmp_path, "changes"), "missing", "HEAD").lines == {}


@given(st.text(alphabet="@+-b/ ,0129a\n", max_size=200))
def test_any_text_is_read_without_an_error(text: str) -> None:
    for ranges in parse_source_change(text).lines.values():
        assert all(first <= last for first, last in ranges)


def test_a_file_with_a_name_of_any_letters_is_named_as_it_is(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "commit", "--quiet", "--allow-empty", "--message", "first")
    (tmp_path / "größe.c").write_text("one\n", encoding="utf-8")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "--message", "second")
    assert read_source_change(Repository(tmp_path, "changes"), "HEAD~1", "HEAD").lines == {"größe.c": ((1, 1),)}


def test_the_lines_between_two_changes_are_unchanged_whatever_the_user_has_configured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".gitconfig").write_text("[diff]\ninterHunkContext = 9\nnoprefix = true\ncontext = 9\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("GIT_CONFIG_GLOBAL", raising=False)
    folder = tmp_path / "changes"
    folder.mkdir()
    git(folder, "init", "--quiet")
    for message, (first, last) in {"first": ("one", "five"), "second": ("ONE", "FIVE")}.items():
        (folder / "a.c").write_text(f"{first}\ntwo\nthree\nfour\n{last}\n", encoding="utf-8")
        (folder / "b.c").write_text(f"{first}\n", encoding="utf-8")
        git(folder, "add", ".")
        git(folder, "commit", "--quiet", "--message", message)
    changed_lines = read_source_change(Repository(folder, "changes"), "HEAD~1", "HEAD").lines
    assert changed_lines == {"a.c": ((1, 1), (5, 5)), "b.c": ((1, 1),)}


def commit_change(folder: Path, before: dict[str, str], after: dict[str, str]) -> SourceChange:
    """Return the change between two commits of the same files."""
    git(folder, "init", "--quiet")
    for message, files in {"first": before, "second": after}.items():
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
        git(folder, "add", "--all")
        git(folder, "commit", "--quiet", "--message", message)
    return read_source_change(Repository(folder, "changes"), "HEAD~1", "HEAD")


def test_an_altered_macro_is_known_with_the_functions_that_use_it_directly_or_through_another(tmp_path: Path) -> None:
    code = '#include "a.h"\nvoid *get(void)\n{\n    return take(PAIR);\n}\n'
    header = "#define ONE 1\n#define PAIR (2 * ONE)\n"
    before = {"a.h": header, "a.c": code}
    change = commit_change(tmp_path, before, before | {"a.h": header.replace("ONE 1", "ONE 64")})
    (definition,) = change.definitions
    assert (definition.name, definition.file, definition.line) == ("ONE", "a.h", 1)
    assert (definition.value_before, definition.value_after) == ("1", "64")
    assert [(use.file, use.line, use.function, use.calls) for use in definition.uses] == [("a.c", 4, "get", ("take",))]


def test_a_macro_that_the_change_moves_is_where_it_stands_now(tmp_path: Path) -> None:
    code = "int work(void)\n{\n    return fill(SIZE);\n}\n"
    before = {"a.c": f"#define SIZE 1\n\n\nint other;\nint another;\n{code}"}
    change = commit_change(tmp_path, before, {"a.c": f"\n\nint other;\nint another;\n#define SIZE 64\n{code}"})
    assert [(definition.name, definition.line) for definition in change.definitions] == [("SIZE", 5)]


def test_a_type_is_used_where_its_name_or_that_of_a_type_with_it_stands(tmp_path: Path) -> None:
    header = "typedef int item;\nstruct list {\n    item *items;\n};\n"
    code = "void add(struct list *list)\n{\n    list->items = more(sizeof *list->items);\n}\n"
    before = {"a.h": header, "a.c": code}
    change = commit_change(tmp_path, before, before | {"a.h": header.replace("int", "long")})
    assert ("a.c", 3, "add") in [(use.file, use.line, use.function) for use in change.definitions[0].uses]


def test_the_function_from_which_lines_were_only_removed_is_altered(tmp_path: Path) -> None:
    text = (
        "def add(key):\n    kept[key] = 1\n    if len(kept) > 9:\n        kept.clear()\n\n\ndef main():\n    add(1)\n"
    )
    change = commit_change(
        tmp_path, {"a.py": text}, {"a.py": text.replace("    if len(kept) > 9:\n        kept.clear()\n", "")}
    )
    (definition,) = change.definitions
    assert (definition.name, definition.line) == ("add", 3)
    assert [(use.line, use.function) for use in definition.uses] == [(3, "add"), (6, "main")]


def test_a_macro_of_a_build_file_and_a_key_of_a_file_of_settings_are_used_in_the_sources(tmp_path: Path) -> None:
    code = 'int main(void)\n{\n    return read(ROUNDS, "cache_lines");\n}\n'
    before = {"Makefile": "FLAGS = -DROUNDS=1\n", "a.conf": "cache_lines = 10\n", "a.c": code}
    after = {"Makefile": "FLAGS = -DROUNDS=9\n", "a.conf": "cache_lines = 90\n"}
    change = commit_change(tmp_path, before, before | after)
    uses = {definition.name: [use.line for use in definition.uses] for definition in change.definitions}
    assert uses["ROUNDS"] == uses["cache_lines"] == [3]
    assert {(file.file, file.bytes_before, file.bytes_after) for file in change.files} == {
        ("Makefile", 19, 19),
        ("a.conf", 17, 17),
    }


def test_a_change_of_comments_and_names_alone_has_no_changed_lines(tmp_path: Path) -> None:
    text = "void *get(int n)\n{\n    void *block = take(n); // new\n    return block;\n}\n"
    after = text.replace("block", "memory").replace("new", "fresh")
    change = commit_change(tmp_path, {"a.c": text}, {"a.c": after})
    assert (change.lines, change.definitions, change.files, change.is_cosmetic) == ({}, (), (), True)


def test_beside_a_renamed_variable_only_what_is_executed_is_changed(tmp_path: Path) -> None:
    text = "int get(int n)\n{\n    int k = n;\n    f();\n    return k;\n}\n\nint put(void)\n{\n    return 1;\n}\n"
    after = text.replace("int k", "int kept").replace("return k;", "return kept;").replace("return 1", "return 2")
    change = commit_change(tmp_path, {"a.c": text}, {"a.c": after})
    assert change.lines == {"a.c": ((10, 10),)}
    assert not change.is_cosmetic


def test_a_data_file_is_known_with_its_sizes(tmp_path: Path) -> None:
    change = commit_change(tmp_path, {"a.bin": "\0" * 100}, {"a.bin": "\0" * 300})
    assert [(file.file, file.bytes_before, file.bytes_after) for file in change.files] == [("a.bin", 100, 300)]
    assert change.lines == {}


@pytest.mark.timeout(60)
def test_a_change_of_very_many_lines_is_read_without_its_definitions(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "commit", "--quiet", "--allow-empty", "--message", "first")
    (tmp_path / "a.c").write_text("".join(f"  x{number % 40} = {number};\n" for number in range(60_000)))
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "--message", "second")
    change = read_source_change(Repository(tmp_path, "changes"), "HEAD~1", "HEAD")
    assert (change.lines, change.definitions) == ({"a.c": ((1, 60_000),)}, ())


def test_of_methods_with_the_same_name_it_is_unknown_which_one_a_line_calls(tmp_path: Path) -> None:
    text = "class A:\n    def parse(self):\n        return 1\n\n\nclass B:\n    def parse(self):\n        return 2\n"
    before = {"a.py": text, "b.py": "def work(a):\n    return a.parse()\n"}
    change = commit_change(tmp_path, before, before | {"a.py": text.replace("return 2", "return 3")})
    (definition,) = change.definitions
    assert [(use.file, use.line, use.function) for use in definition.uses] == [("a.py", 8, "parse")]


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runner.subject.source_change._MAX_FILE_BYTES", 20)
    change = commit_change(tmp_path, {"a.h": "#define ONE 1\n"}, {"a.h": "#define ONE 64 // and more text\n"})
    assert change.definitions == ()
    assert change.lines == {"a.h": ((1, 1),)}


def test_a_name_that_stands_everywhere_has_no_uses(tmp_path: Path) -> None:
    code = "void work(void)\n{\n" + "    use(LIMIT);\n" * (MAX_USES + 1) + "}\n"
    before = {"a.c": code, "a.h": "#define LIMIT 1\n"}
    change = commit_change(tmp_path, before, before | {"a.h": "#define LIMIT 2\n"})
    (definition,) = change.definitions
    assert (definition.name, definition.uses) == ("LIMIT", ())


def test_a_derived_type_changes_with_its_base_and_a_comment_alters_no_definition(tmp_path: Path) -> None:
    constructor = "    Node() : line(0) {\n    }\n    void visit() {\n    }\n"
    header = f"class Node {{\n{constructor}    /* A\n       node. */\n    int line;\n}};\n"
    code = "class Text : public Node {\n};\nText *add(void)\n{\n    return new Text();\n}\n"
    before = {"a.hpp": header, "a.cpp": code}
    after = (
        header.replace("line(0) {", "line(0) {\n        data = 0;")
        .replace("node. */", "node with data. */")
        .replace("int line;", "int line;\n    void *data;")
    )
    change = commit_change(tmp_path, before, before | {"a.hpp": after})
    (definition,) = change.definitions
    assert (definition.name, definition.line) == ("Node", 3)
    assert ("a.cpp", 5, "add") in [(use.file, use.line, use.function) for use in definition.uses]


def test_a_constant_that_has_the_name_of_another_one_is_used_in_its_own_file(tmp_path: Path) -> None:
    before = {
        "main.go": "package main\n\nconst items = 4\n\nfunc main() {\n\tfill(items)\n}\n",
        "tree.go": "package tree\n\ntype items []int\n\nfunc add(s items) {\n\tgrow(s, items{})\n}\n",
    }
    change = commit_change(tmp_path, before, before | {"main.go": before["main.go"].replace("= 4", "= 8")})
    (definition,) = change.definitions
    assert [(use.file, use.line, use.function) for use in definition.uses] == [("main.go", 6, "main")]


def test_a_type_that_other_files_declare_is_used_everywhere(tmp_path: Path) -> None:
    header = "typedef struct node {\n    int size;\n} node;\n"
    code = "typedef struct node node;\nstruct node;\nnode *add(void)\n{\n    return take(sizeof(node));\n}\n"
    before = {"a.h": header, "a.c": code}
    change = commit_change(tmp_path, before, before | {"a.h": header.replace("int", "long")})
    (definition,) = change.definitions
    assert ("a.c", 5, "add") in [(use.file, use.line, use.function) for use in definition.uses]
