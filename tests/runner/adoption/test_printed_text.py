"""What a program prints tells whether it has done any work."""

import pytest

from runner.adoption.printed_text import (
    find_missing_code,
    find_missing_module,
    find_only_error,
    find_unopened_files,
    is_usage,
    needs_terminal,
    prints_error_line,
)

XSV = """xsv is a suite of CSV command line utilities.

Please choose one of the following commands:
    cat         Concatenate by row or column
    help        Show this usage message.
"""


@pytest.mark.parametrize(
    "text",
    [
        "Usage: parser [OPTION]... FILE\n",
        "parser 1.2, by its authors\nusage: parser file\n",
        "error: no file\n\nOptions:\n  -f FILE\n  -h, --help  Print this\n",
        "parser: missing operand\nTry 'parser --help' for more information.\n",
        XSV,
    ],
)
def test_a_program_that_only_says_how_it_is_used(text: str) -> None:
    assert is_usage(text)


@pytest.mark.parametrize(
    "text",
    ["", "parsed 1,000 records\n", "memory usage: 12 MiB\n", "BenchmarkHelp-2  10  1234 ns/op\n", "helper: 5\n"],
)
def test_other_text_is_work(text: str) -> None:
    assert not is_usage(text)


def test_a_module_that_a_program_lacks_is_found_also_where_the_program_does_not_care() -> None:
    line = "/x/venv/bin/python: No module named pyperf"
    assert find_missing_module(f"begins\n{line}\n{line}\n") == ("pyperf", line)
    quoted = "ModuleNotFoundError: No module named 'numpy.linalg'"
    assert find_missing_module(f"Traceback\n{quoted}") == ("numpy", quoted)
    assert find_missing_module("all is well") == ("", "")


def test_a_program_that_cannot_work_without_a_terminal_says_so_in_many_ways() -> None:
    for said in (
        "Unable to query the screen for size: Inappropriate ioctl for device",
        "stdin is not a tty",
        "TERM environment variable not set.",
        "Error opening terminal: unknown.",
    ):
        assert needs_terminal(said)
    assert not needs_terminal("the terminal velocity is 53 m/s")


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (
            "yaml-cpp: error at line 60, column 56: illegal map value\n",
            "yaml-cpp: error at line 60, column 56: illegal map value",
        ),
        ("a.txt: 3: Parse error near x\n\n", "a.txt: 3: Parse error near x"),
        ("reading a.txt\n[Error] not a graph\n", "[Error] not a graph"),
        ("a.txt:3: syntax error near x\n", "a.txt:3: syntax error near x"),
        ("error: 1.5e-9\n", ""),
        ("0 errors\n", ""),
        ("Terror\n", ""),
        ("one\ntwo\nerror: three\n", ""),
        ("", ""),
    ],
)
def test_a_program_that_prints_only_an_error_has_refused_its_file(text: str, error: str) -> None:
    assert find_only_error(text) == error


def test_the_files_that_a_program_cannot_open_are_named_in_its_message() -> None:
    assert "in.lj.miniMD" in find_unopened_files("ERROR: Cannot open in.lj.miniMD\n")
    assert "data/a.txt" in find_unopened_files("fopen: data/a.txt: No such file or directory.\n")
    assert find_unopened_files("wrote data/a.txt\n") == []


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("ModuleNotFoundError: No module named 'numpy'", "numpy"),
        ("Error [ERR_MODULE_NOT_FOUND]: Cannot find module '/x/lib/m.js' imported from /x/bin/m.js", "/x/lib/m.js"),
        ("Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'commander' imported from /x/bin/m.js", "commander"),
        ("./x: error while loading shared libraries: libx.so.1: cannot open shared object file", "libx.so.1"),
        ("Error: Could not find or load main class a.B", "a.B"),
        ("cannot find file 'x'", ""),
    ],
)
def test_the_code_without_which_a_program_cannot_start(text: str, name: str) -> None:
    assert find_missing_code(text) == name


@pytest.mark.parametrize(
    ("text", "is_error"),
    [
        ("SYNTAX ERROR on 0 (137,3): #unittest macro cannot be embedded", True),
        ("SyntaxError: invalid", True),
        ("result 3\na.x:3: error: unknown", True),
        ("max error 1e-6\n0 errors", False),
        ("error: 1e-6", False),
        ("checked for errors", False),
    ],
)
def test_an_error_among_results_is_found_but_no_result_that_is_called_an_error(text: str, *, is_error: bool) -> None:
    assert prints_error_line(text) is is_error
