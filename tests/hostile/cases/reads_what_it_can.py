"""The program prints every file and variable that might hold a secret."""

from tests.hostile.arena import Arena, Outcome

THOROUGH = True
SCRIPT = """#!/bin/sh
env
cat /proc/*/environ /etc/shadow %s/.netrc %s/.ssh/* %s/service.key %s/spool/* 2>&1
cat %s/builds/*/*/tree/* %s/builds/*/*/built/tree/* 2>&1
find / -xdev \\( -name '*.key' -o -name id_ed25519 -o -name .netrc -o -name secret.txt \\) -exec cat {} + 2>/dev/null
cat ../../*/tree/* %s/* 2>&1
echo DONE
exit 1
"""


def prepare(arena: Arena) -> None:
    places = (arena.person, arena.person, arena.home, arena.home, arena.home, arena.home, arena.work / "other")
    arena.write("probe", SCRIPT % places, executable=True)
    arena.workload(build="command = './probe'", command="true")
    arena.commit()


def held(_: Arena, outcome: Outcome) -> None:
    assert "DONE" in outcome.report, outcome.said
