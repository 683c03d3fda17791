"""The program writes wherever it can: /, /etc, /dev, the folders above its tree, and the runner's files."""

from tests.hostile.arena import Arena, Outcome

FAST = True
SCRIPT = """#!/bin/sh
for place in / /etc /dev /usr /sys /proc /home /root %s; do
    if echo pwned > $place/pwned-file 2>/dev/null; then echo "WRITTEN $place"; fi
    if mkdir $place/pwned-folder 2>/dev/null; then echo "WRITTEN $place"; fi
done
# The folders above the tree are the sandbox's own; what is written there must not reach the host.
echo pwned > ../pwned-file; echo pwned > ../../pwned-file
if head -c 100000000 /dev/zero > /dev/big 2>/dev/null; then echo WRITTEN; fi
echo 1 > /tmp/mine && echo 1 > /dev/shm/mine && echo 1 > mine && echo DONE
exit 1
"""


def prepare(arena: Arena) -> None:
    arena.write("probe", SCRIPT % arena.outside, executable=True)
    arena.workload(command="./probe")
    arena.commit()


def held(arena: Arena, outcome: Outcome) -> None:
    assert "DONE" in outcome.report, outcome.said
    assert "WRITTEN" not in outcome.report
    assert not list(arena.folder.rglob("pwned-*"))
