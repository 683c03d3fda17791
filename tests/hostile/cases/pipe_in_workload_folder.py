"""A pipe lies in the workload's folder (an artifact of an earlier step): reading it waits for ever."""

import os

from tests.hostile.arena import Arena, Outcome


def prepare(arena: Arena) -> None:
    arena.workload(build="directory = 'workload'\ncommand = 'true'")
    arena.commit()
    os.mkfifo(arena.subject / "pipe.c")


def held(_: Arena, outcome: Outcome) -> None:
    assert "is not a regular file" in outcome.error, outcome.said
