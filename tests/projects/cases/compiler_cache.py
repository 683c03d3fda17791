"""A project that needs ccache, whose cache is where HOME says."""

from tests.projects.project import CALL, FEW, MOVED, Project, grow_by, touch, workload

TOOLS = ("make", "cc", "ccache")
FILES = {
    "Makefile": "CC = ccache cc\nprogram: main.o touch.o\n\t$(CC) -o $@ main.o touch.o\n",
    "main.c": CALL,
    "workload.toml": workload("make", "./program", more='needs = ["ccache"]\n'),
}


def grow(project: Project) -> None:
    """Change one of the sources."""
    grow_by(project, FILES, "touch.c", touch(FEW), touch(FEW + MOVED))
