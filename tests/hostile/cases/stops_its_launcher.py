"""The program stops and ends those that started it, so that nobody notices its end."""

from tests.hostile.arena import Arena, Outcome

SCRIPT = """#!/bin/sh
for signal in STOP TSTP KILL TERM HUP USR1 SEGV; do
    for process in 1 2 3 4 $PPID -1; do
        test "$process" != $$ && kill -$signal -- $process 2>/dev/null
    done
done
sleep 1
exit 0
"""


def prepare(arena: Arena) -> None:
    arena.write("probe", SCRIPT, executable=True)
    arena.workload(command="./probe")
    text = (arena.subject / "workload.toml").read_text()
    arena.write("workload.toml", text.replace("timeout = 20", "timeout = 5"))
    arena.commit()


def held(_: Arena, outcome: Outcome) -> None:
    assert "gate:" in outcome.output, outcome.said
