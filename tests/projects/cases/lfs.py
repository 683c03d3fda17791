"""Data that Git LFS keeps: commits hold pointers, and the program has a page of work for each page of the data."""

from tests.projects.project import FEW, MOVED, Project, grow_by, workload

TOOLS = ("make", "cc")
FILES = {
    ".gitattributes": "*.bin filter=lfs diff=lfs merge=lfs -text\n",
    "Makefile": "program: main.c\n\tcc -o $@ main.c\n",
    "main.c": """#define _GNU_SOURCE
#include <sys/mman.h>
#include <sys/stat.h>
int main(void)
{
    struct stat data;
    if (stat("data.bin", &data) != 0)
        return 1;
    char *first = mmap(0, data.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (long i = 0; i < data.st_size; i += 4096)
        *(volatile char *)(first + i) = 1;
    return 0;
}
""",
    "workload.toml": workload("make program", "./program"),
}


def grow(project: Project) -> None:
    """Change the data."""
    few, many = (project.keep_in_lfs(bytes(pages * 4096)) for pages in (FEW, FEW + MOVED))
    grow_by(project, FILES, "data.bin", few, many)
