"""Which lines a change added, rewrote, or removed lines before, read from git's own difference."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.subject.repository import Repository
from runner.subject.source_change import parse_source_change, read_source_change
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
    assert read_source_change(Repository(tmp_path, "changes"), "HEAD~1", "HEAD").lines == {
        "a.c": ((2, 3), (6, 6)),
        "folder with space/b.c": ((1, 2),),
    }


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
