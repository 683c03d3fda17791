"""A folder of the checkout is a bare repository with hooks, and `workload.toml` leads into it."""

from tests.hostile.arena import Arena

THOROUGH = True
WORDS = ("gate", "evil/workload.toml", "HEAD~1..HEAD", "--output", "REPORT")


def prepare(arena: Arena) -> None:
    arena.workload(folder="evil/")
    arena.workload()
    arena.commit()
    evil = arena.subject / "evil"
    arena.git("clone", "--quiet", "--bare", ".", str(evil / "tmp"))
    for item in (evil / "tmp").iterdir():
        item.rename(evil / item.name)
    (evil / "tmp").rmdir()
    pwn = f"#!/bin/sh\ntouch {arena.outside}/pwned-$(basename $0)\n"
    for hook in ("post-checkout", "reference-transaction", "post-index-change"):
        arena.write(f"evil/hooks/{hook}", pwn, executable=True)
    arena.write("evil/monitor", pwn, executable=True)
    with (evil / "config").open("a") as stream:
        stream.write(f"[core]\n\tfsmonitor = {evil}/monitor\n\tbare = true\n")
    arena.commit()
