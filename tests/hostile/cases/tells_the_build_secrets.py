"""A build without a sandbox prints the environment: what the job's secrets were is taken out of its log."""

from tests.hostile.arena import Arena, Outcome

WORDS = ("measure", "workload.toml", "--repo", ".", "--no-sandbox", "--output", "REPORT")


# The builder passes no variable on, but /proc shows those of each process above.
SCRIPT = """#!/bin/sh
process=$PPID
while [ "$process" -gt 1 ]; do
    tr '\\0' '\\n' < /proc/$process/environ
    process=$(cut -d ' ' -f 4 /proc/$process/stat)
done
exit 1
"""


def prepare(arena: Arena) -> None:
    arena.write("probe", SCRIPT, executable=True)
    arena.workload(build="command = './probe'")
    arena.commit()


def held(_: Arena, outcome: Outcome) -> None:
    assert "FAULTWATCH_HOST=host" in outcome.report, outcome.said
