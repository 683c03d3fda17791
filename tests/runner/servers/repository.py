"""A repository of a small server, in which each commit does something else for a request."""

import shutil
from collections.abc import Sequence
from pathlib import Path

from tests.runner.commands import git

HERE = Path(__file__).parent
MAIN = """
#include <arpa/inet.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
long touched;
void work(void);
int main(int count, char **words)
{
    touched = count > 2 ? atoi(words[2]) : 0;
    int yes = 1, listener = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in port = {.sin_family = AF_INET, .sin_port = htons(atoi(words[1])),
                               .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(listener, (void *)&port, sizeof port) || listen(listener, 16))
        return 2;
    for (;;) {
        int connection = accept(listener, 0, 0);
        char text;
        while (read(connection, &text, 1) > 0) {
            work();
            if (write(connection, "k", 1) != 1)
                break;
        }
        close(connection);
    }
}
"""
WORK = """
#define _GNU_SOURCE
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
extern long touched;
static char *map(long pages)
{
    return mmap(0, pages * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}
void work(void)
{
    %s
}
"""
WORKLOAD = """
[workload]
name = "server"
timeout = 20
[build]
command = "cc -O1 -g -o server main.c work.c"
[run]
huge_pages = "never"
[server]
command = "./server {{port}}"
[load]
command = "python3 load.py {{port}} {requests}"
output = "json"
windows = {windows}
"""
UNMAPPED = "char *pages = map({pages}); memset(pages, 1, {pages} * 4096); munmap(pages, {pages} * 4096);"
"""Touches pages that are mapped and unmapped for each request."""


def make_server_history(folder: Path, bodies: Sequence[str], *, requests: int = 100, windows: int = 1) -> list[str]:
    """Make a repository with a commit for each body of the function that serves a request; return the commits.

    An equal body is a commit of documents.
    """
    folder.mkdir(parents=True)
    git(folder, "init", "--quiet", "--initial-branch=main")
    shutil.copy(HERE / "load.py", folder)
    (folder / "main.c").write_text(MAIN)
    (folder / "workload.toml").write_text(WORKLOAD.format(requests=requests, windows=windows))
    commits = []
    for number, body in enumerate(bodies):
        (folder / "README").write_text(f"Version {number}.\n")
        (folder / "work.c").write_text(WORK % body)
        git(folder, "add", ".")
        git(folder, "commit", "--quiet", "--message", f"Commit {number}")
        commits.append(git(folder, "rev-parse", "HEAD"))
    return commits
