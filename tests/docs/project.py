"""A repository as the documents assume it: an ordinary C program, a Makefile, and a commit that costs page faults."""

from __future__ import annotations

import subprocess
from pathlib import Path

PROGRAM = """#include <stdio.h>
#include <stdlib.h>

enum { SIZE = 40 << 20 };

int main(int count, char **arguments) {
    int records = count > 2 ? atoi(arguments[2]) : 100;
    unsigned long sum = 0;
BEFORE
    for (int record = 0; record < records; record += 50) {
INSIDE
        for (int i = 0; i < SIZE; i += 4096) buffer[i] = i + record;
        for (int i = 0; i < SIZE; i += 4096) sum += buffer[i];
AFTER
    }
    printf("%lu\\n", sum);
}
"""
ONCE = PROGRAM.replace("BEFORE", "    char *buffer = malloc(SIZE);").replace("INSIDE\n", "").replace("AFTER\n", "")
EACH = (
    PROGRAM.replace("BEFORE\n", "")
    .replace("INSIDE", "        char *buffer = malloc(SIZE);")
    .replace("AFTER", "        free(buffer);")
)
WORKLOAD = """[workload]
name = "parser"

[build]
command = "make parser"

[run]
command = ["./parser", "--records", "{records}"]
huge_pages = "never"

[matrix]
records = [100]
"""


def commit(repository: Path, message: str, files: dict[str, str]) -> None:
    for name, text in files.items():
        (repository / name).write_text(text)
    author = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
    for words in (["add", "."], [*author, "commit", "--quiet", "--message", message]):
        subprocess.run(["git", *words], cwd=repository, check=True)


def make_project(folder: Path, *, adopted: bool = True) -> None:
    """Make the repository: tag ``v1.0``, and after it a commit that frees and allocates a buffer for each record."""
    folder.mkdir()
    subprocess.run(["git", "init", "--quiet", "--initial-branch", "main"], cwd=folder, check=True)
    makefile = "parser: parser.c\n\t$(CC) -O1 -g -o $@ $<\n"
    workload = {"workload.toml": WORKLOAD} if adopted else {}
    commit(folder, "Parse records", {"parser.c": ONCE, "Makefile": makefile, **workload})
    subprocess.run(["git", "tag", "v1.0"], cwd=folder, check=True)
    commit(folder, "Describe the parser", {"README": "Parses records.\n"})
    commit(folder, "Free the buffer after each record", {"parser.c": EACH})
    commit(folder, "Say how to build it", {"README": "Parses records. Build it with make.\n"})
