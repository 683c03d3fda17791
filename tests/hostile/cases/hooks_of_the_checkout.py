"""An earlier step of the job left hooks and a file-system monitor in the checkout's own `.git`."""

from tests.hostile.arena import Arena


def prepare(arena: Arena) -> None:
    arena.workload()
    arena.commit()
    pwn = f"#!/bin/sh\ntouch {arena.outside}/pwned-$(basename $0)\n"
    for hook in ("post-checkout", "reference-transaction", "post-index-change"):
        arena.write(f".git/hooks/{hook}", pwn, executable=True)
    monitor = arena.write(".git/monitor", pwn, executable=True)
    arena.git("config", "core.fsmonitor", str(monitor))
    arena.git("config", "log.showSignature", "true")
    arena.git("config", "gpg.program", str(monitor))
