"""A process in the background exchanges files for links to secrets, as fast as it can, while the runner reads them."""

from tests.hostile.arena import Arena, Outcome

SOURCE = r"""
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
int main(void) {
    const char line[] = "{\"operations\": 1, \"seconds\": 1}\n";
    for (int spread = 0; spread < 3; spread++)
        if (fork() == 0) {
            setsid();
            for (;;) {
                unlink("result"); symlink("%(secret)s", "result");
                unlink("result"); mkfifo("result", 0666);
                unlink("result"); mkdir("result", 0777); rmdir("result");
                int file = open("result", O_CREAT | O_WRONLY | O_NOFOLLOW | O_NONBLOCK, 0666);
                write(file, line, sizeof line - 1); close(file);
                rename("mapped", "other"); symlink("%(secret)s", "mapped"); unlink("mapped"); rename("other", "mapped");
            }
        }
    volatile char *p = mmap(0, 4096, PROT_READ, MAP_PRIVATE, open("mapped", O_RDONLY | O_CREAT, 0666), 0);
    (void)p;
    usleep(300000);
    printf("%%s", line);
    return 0;
}
"""


def prepare(arena: Arena) -> None:
    arena.write("probe.c", SOURCE % {"secret": arena.person / ".netrc"})
    arena.write("mapped", "data\n" * 1000)
    arena.workload(
        '[run]\ncommand = "./probe"\noutput = "json"\noutput_file = "result"\nfiles = ["mapped"]',
        build="command = 'sh -c \"cc -o probe probe.c && ./probe\"'",
    )
    arena.git("rm", "--quiet", "probe")
    arena.commit()


def held(_: Arena, outcome: Outcome) -> None:
    assert outcome.status in {0, 1, 2}, outcome.said
