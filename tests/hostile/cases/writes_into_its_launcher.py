"""The program opens the memory of the launcher that reports its counts and its end, to send what it likes instead."""

from tests.hostile.arena import Arena, Outcome

PROBE = """#!/bin/sh
for process in $PPID; do
    (exec 3<>/proc/$process/mem) 2>/dev/null && exit 7
    for file in /proc/$process/fd/*; do
        test -e "$file" && exit 8
    done
done
exit 0
"""


def prepare(arena: Arena) -> None:
    for _ in range(2):
        arena.write("probe", PROBE, executable=True)
        arena.workload(command="./probe")
        arena.commit()


def held(_: Arena, outcome: Outcome) -> None:
    assert "exit code" not in outcome.said, outcome.said
    assert "gate: same" in outcome.output, outcome.said
