"""The build and the program leave processes behind, each in its own session."""

from tests.hostile.arena import Arena, Outcome

SCRIPT = """#!/bin/sh
setsid sh -c 'trap "" TERM HUP INT; while :; do sleep 1; done' >/dev/null 2>&1 &
setsid nohup sleep 1000 >/dev/null 2>&1 &
exit 0
"""


def prepare(arena: Arena) -> None:
    arena.write("probe", SCRIPT, executable=True)
    arena.workload(build="command = './probe'", command="./probe")
    arena.commit()


def held(_: Arena, outcome: Outcome) -> None:
    assert "gate:" in outcome.output, outcome.said
