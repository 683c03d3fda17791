"""An earlier step of the job left hooks and programs to call in the checkout's own `.git`; the head is signed."""

import subprocess

from tests.hostile.arena import Arena

SIGNATURE = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n AAAA\n -----END PGP SIGNATURE-----\n"


def prepare(arena: Arena) -> None:
    arena.workload()
    arena.commit()
    fields, _, message = arena.git("cat-file", "commit", "HEAD").partition("\n\n")
    words = ["git", "-C", str(arena.subject), "hash-object", "-t", "commit", "-w", "--stdin"]
    text = f"{fields}\n{SIGNATURE}\n{message}\n"
    signed = subprocess.run(words, input=text, check=True, capture_output=True, text=True).stdout.strip()
    arena.git("update-ref", "HEAD", signed)
    pwn = f"#!/bin/sh\ntouch {arena.outside}/pwned-$(basename $0)\n"
    for hook in ("post-checkout", "reference-transaction", "post-index-change"):
        arena.write(f".git/hooks/{hook}", pwn, executable=True)
    monitor = arena.write(".git/monitor", pwn, executable=True)
    arena.git("config", "core.fsmonitor", str(monitor))
    arena.git("config", "log.showSignature", "true")
    arena.git("config", "gpg.program", str(monitor))
