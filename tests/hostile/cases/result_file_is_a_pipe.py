"""The result file is a pipe that nobody writes to."""

from tests.hostile.arena import Arena, Outcome


def prepare(arena: Arena) -> None:
    arena.workload('[run]\ncommand = ["mkfifo", "result"]\noutput = "json"\noutput_file = "result"')
    arena.commit()


def held(_: Arena, outcome: Outcome) -> None:
    assert "is not a regular file" in outcome.report, outcome.said
