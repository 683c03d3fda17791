"""Data that Git LFS keeps: commits hold pointers, and the program reads the data, page by page."""

from tests.projects.project import FEW, MOVED, Project, grow_by, workload

TOOLS = ("make", "cc")
FILES = {
    ".gitattributes": "*.bin filter=lfs diff=lfs merge=lfs -text\n",
    "Makefile": "program: main.c\n\tcc -o $@ main.c\n",
    "main.c": """#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
int main(void)
{
    int data = open("data.bin", O_RDONLY);
    volatile char *place = mmap(0, 1 << 30, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    char page[4096];
    while (read(data, page, sizeof page) > 0) {
        *place = page[0];
        place += 4096;
    }
    return 0;
}
""",
    "workload.toml": workload("make program", "./program"),
}


def grow(project: Project) -> None:
    """Change the data."""
    few, many = (project.keep_in_lfs(bytes(pages * 4096)) for pages in (FEW, FEW + MOVED))
    grow_by(project, FILES, "data.bin", few, many)
