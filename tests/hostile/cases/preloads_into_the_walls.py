"""The workload's environment preloads a library: into bubblewrap, the launcher or perf it must not come."""

from tests.hostile.arena import Arena, Outcome

SOURCE = r"""
#include <fcntl.h>
#include <unistd.h>
__attribute__((constructor)) static void begin(void) { close(open("%s/pwned", O_CREAT | O_WRONLY, 0666)); }
"""


def prepare(arena: Arena) -> None:
    arena.write("evil.c", SOURCE % arena.outside)
    arena.workload(
        '[run]\ncommand = "true"\nenvironment = {LD_PRELOAD = "./evil.so", BASH_ENV = "./x", PYTHONPATH = "."}',
        build="command = 'cc -shared -fPIC -o evil.so evil.c'",
    )
    arena.commit()


def held(_: Arena, outcome: Outcome) -> None:
    assert "gate:" in outcome.output, outcome.said
