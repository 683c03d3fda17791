"""The text of changed lines, each with the line that it rewrites."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from runner.contract.code_change import MAX_CHANGED_CODE, MAX_CODE_TEXT, ChangedCode
from runner.contract.profile import Frame
from runner.subject.changed_code import list_changed_code
from runner.subject.repository import Repository
from runner.subject.source_change import SourceChange, read_source_change
from tests.runner.commands import git
from tests.service.profiles import profile


def change_file(path: Path, before: str, after: str, name: str = "a.c") -> tuple[ChangedCode, ...]:
    """Return the changed code of a commit that rewrites a file."""
    git(path, "init", "--quiet")
    for message, text in (("first", before), ("second", after)):
        (path / name).write_text(text, encoding="utf-8")
        git(path, "add", ".")
        git(path, "commit", "--quiet", "--message", message)
    return read_source_change(Repository(path, "changes"), "HEAD~1", "HEAD").code


def test_a_rewritten_line_has_both_texts_without_comments_and_indentation(tmp_path: Path) -> None:
    code = change_file(
        tmp_path,
        "char *copy(int n)\n{\n    return malloc(n);  /* all */\n}\n",
        "char *copy(int n)\n{\n    count++;\n    return malloc(n + 4);  // more\n}\n",
    )
    assert [(line.line_before, line.line, line.text_before, line.text_after) for line in code] == [
        (0, 3, "", "count++;"),
        (3, 4, "return malloc(n);", "return malloc(n + 4);"),
    ]
    assert {(line.file, line.function) for line in code} == {("a.c", "copy")}


def test_a_removed_line_has_the_number_of_the_line_in_its_place(tmp_path: Path) -> None:
    before = "int f(void)\n{\n    one();\n    if (x)\n        reserve(20);\n    two();\n}\n"
    code = change_file(tmp_path, before, "int f(void)\n{\n    one();\n    two();\n}\n")
    assert [(line.line_before, line.line, line.text_before, line.text_after) for line in code] == [
        (4, 4, "if (x)", ""),
        (5, 4, "reserve(20);", ""),
    ]


def test_a_line_is_paired_with_one_that_another_hunk_removed_from_the_same_function(tmp_path: Path) -> None:
    before = "char *f(int n)\n{\n    out = (char *)get(n + 1);\n    if (!out) {\n        fail();\n    }\n}\n"
    after = (
        "char *f(int n)\n{\n    if (!out) {\n        fail();\n    }\n    output = (char *)get(n + sizeof(int));\n}\n"
    )
    (line,) = change_file(tmp_path, before, after)
    assert (line.line_before, line.line) == (3, 6)
    assert (line.text_before, line.text_after) == (
        "out = (char *)get(n + 1);",
        "output = (char *)get(n + sizeof(int));",
    )


def test_lines_that_have_only_brackets_in_common_are_not_paired(tmp_path: Path) -> None:
    before = "int f(void)\n{\n    while ((*num >= '0') && (*num <= '9'));\n}\n"
    after = "int f(void)\n{\n    number = strtod((const char *)num, (char **)&end);\n}\n"
    assert [bool(line.text_before and line.text_after) for line in change_file(tmp_path, before, after)] == [False] * 2


def test_data_is_no_code(tmp_path: Path) -> None:
    assert change_file(tmp_path, '{"a": 1}\n', '{"a": 2}\n', "table.json") == ()


def test_a_long_line_is_cut() -> None:
    long = f'char *text = "{"x" * 500}";'
    (line,) = list_changed_code("a.c", ([], [long]), ((0, 0), (0, 1)), 1)
    assert len(line.text_after) == MAX_CODE_TEXT
    assert line.text_after.endswith("…")


def test_of_too_many_lines_those_of_files_that_ran_are_kept() -> None:
    lines = tuple(ChangedCode(file="other.c", line=n, text_after="x = 1;") for n in range(1, MAX_CHANGED_CODE + 10))
    ran = ChangedCode(file="run.c", line=1, text_after="y = 2;")
    recorded = profile(None, frames=(Frame(function="run", file="run.c", line=1),), on_cpu=None, off_cpu=None)
    change = SourceChange(code=(*lines, ran)).add_to_profile(recorded, recorded).change
    assert change is not None
    assert len(change.changed_code) == MAX_CHANGED_CODE
    assert change.changed_code[0] == ran


@given(st.lists(st.text(max_size=30), max_size=12), st.lists(st.text(max_size=30), max_size=12))
def test_each_line_is_told_once_and_pairs_with_at_most_one_other(before: list[str], after: list[str]) -> None:
    code = list(list_changed_code("a.c", (before, after), ((0, len(before)), (0, len(after))), 1))
    for numbers, lines in (
        ([line.line_before for line in code if line.text_before], before),
        ([line.line for line in code if line.text_after], after),
    ):
        assert sorted(numbers) == [number for number, line in enumerate(lines, start=1) if line.split()]
