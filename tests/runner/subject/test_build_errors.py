import pytest

from runner.subject.build_errors import find_first_error

GCC = """cc -O3 -Werror x.c -o x
x.c:22:10: fatal error: frob.h: No such file or directory
   22 | #include "frob.h"
compilation terminated.
make: *** [Makefile:14: x] Error 1
"""
CMAKE = """-- Found X
CMake Error at CMakeLists.txt:5 (message):
  The library frob
  is too old.

Call Stack (most recent call first):
"""


@pytest.mark.parametrize(
    ("log", "error"),
    [
        (GCC, "x.c:22:10: fatal error: frob.h: No such file or directory"),
        (f"make: *** [Makefile:1: y] Error 127\n{GCC}", "x.c:22:10: fatal error: frob.h: No such file or directory"),
        (CMAKE, "CMake Error at CMakeLists.txt:5 (message): The library frob is too old."),
        (
            "CMake Error at CMakeLists.txt:3 (add_subdirectory):\n  The source directory\n\n    /x/y\n\n  does "
            "not contain a CMakeLists.txt file.\n\n\n-- Looking for z\n",
            "CMake Error at CMakeLists.txt:3 (add_subdirectory): The source directory /x/y does not contain a "
            "CMakeLists.txt file.",
        ),
        (
            "go: downloading a/b v1\ngo: a/b@v1: missing go.sum entry for go.mod file; to add it:\n\tgo mod\n",
            "go: a/b@v1: missing go.sum entry for go.mod file; to add it:",
        ),
        ("# m\n./x.go:3:4: undefined: frob\n", "./x.go:3:4: undefined: frob"),
        ("npm error code E404\nnpm error 404 Not Found - x\n", "npm error 404 Not Found - x"),
        ("   Compiling x\nerror[E0433]: failed to resolve: x\n", "error[E0433]: failed to resolve: x"),
        (
            "/usr/bin/ld: x.o: in function `f':\nx.c:9: undefined reference to `g'\n",
            "x.c:9: undefined reference to `g'",
        ),
        ("make: *** No rule to make target 'x', needed by 'all'.  Stop.\n", "make: *** No rule to make target 'x', "),
        ("ModuleNotFoundError: No module named 'x'\nlater: error: y\n", "ModuleNotFoundError: No module named 'x'"),
        ("[INFO] Building\n[ERROR] Failed to execute goal x\n", "[ERROR] Failed to execute goal x"),
        (
            "[ERROR] [ERROR] Some problems were encountered:\n[FATAL] Non-resolvable parent\n",
            "[FATAL] Non-resolvable parent",
        ),
        (
            "[ERROR] Failed to execute goal a:b on project x: \n[ERROR] Rule 0: a.RequireOS failed with message:\n"
            "[ERROR] OS Arch: amd64 is not allowed\n[ERROR] -> [Help 1]\n",
            "[ERROR] OS Arch: amd64 is not allowed",
        ),
        ("0 errors, no terror\nall is well\n", ""),
    ],
)
def test_the_first_line_that_says_what_is_wrong(log: str, error: str) -> None:
    found = find_first_error(log)
    assert found.startswith(error)
    assert bool(found) is bool(error)
    assert "Looking" not in found


def test_the_cause_that_the_message_names_is_better_than_the_first_line() -> None:
    log = "npm error An unknown git error occurred\nnpm error ssh: Could not resolve hostname x\n"
    message = "`npm ci` ended with exit code 128: npm error ssh: Could not resolve hostname x"
    assert find_first_error(log, message) == "npm error ssh: Could not resolve hostname x"
    assert find_first_error(log, "`npm ci` ended with exit code 128") == "npm error An unknown git error occurred"
