"""A project that is built among its sources, and whose program writes there: what it finds, it does not make again."""

from tests.projects.project import FEW, MOVED, Project, grow_by, touch, workload

TOOLS = ("make", "cc")
FILES = {
    "Makefile": """CFLAGS = -O1
program: main.o touch.o
	cc -o $@ main.o touch.o
main.o: version.h
version.h: README
	echo "#define LENGTH $$(wc -c <README)" >$@
""",
    "main.c": """#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "version.h"
int touch(void);
int main(void)
{
    FILE *cache = fopen("cache.dat", "r");
    if (cache == NULL) {
        memset(malloc(1 << 24), LENGTH, 1 << 24);
        cache = fopen("cache.dat", "w");
        fprintf(cache, "%d", LENGTH);
    }
    fclose(cache);
    return touch();
}
""",
    "README": "What.\n",
    "workload.toml": workload("make", "./program"),
}


def grow(project: Project) -> None:
    """Change one of the sources."""
    grow_by(project, FILES, "touch.c", touch(FEW), touch(FEW + MOVED))
