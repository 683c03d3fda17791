"""The checkout brings its own bwrap, perf, git, cc and so on, and its workload a PATH that begins with them.

On a host of a CI a stranger knows the absolute place of the checkout.
"""

from tests.hostile.arena import Arena, Outcome

NAMES = (
    *("bwrap", "perf", "git", "cc", "c++", "gfortran", "ld", "as", "addr2line", "objdump", "readelf", "nm", "gdb"),
    "llvm-addr2line",
    *("cp", "rm", "chmod", "env", "sh", "prlimit", "setpriv", "strace", "make", "ldd", "uname", "python3", "gunicorn"),
)


def prepare(arena: Arena) -> None:
    for name in NAMES:
        # Nobody in a sandbox sees this folder: whatever comes to be there was executed outside.
        text = f"#!/bin/bash\n: > {arena.outside}/{name}\necho '{name} 99.9 (a lie)'\n"
        arena.write(name, text, executable=True)
        arena.write(f"bin/{name}", text, executable=True)
    path = f".:bin:{arena.subject}/bin:/usr/bin:/bin"
    variables = f'environment = {{PATH = "{path}", CC = "./cc", LD = "./ld", SHELL = "./sh"}}'
    arena.workload(f'[run]\ncommand = "/bin/true"\n{variables}', build=f"command = 'make'\n{variables}")
    arena.commit()


def held(arena: Arena, outcome: Outcome) -> None:
    assert "gate:" in outcome.output, outcome.said
    profiled = arena.run("profile", "workload.toml", "--repo", ".", "--sandbox")
    assert profiled.status in {0, 1, 2}
    assert not list(arena.outside.iterdir())
