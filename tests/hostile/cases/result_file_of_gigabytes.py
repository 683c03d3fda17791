"""The result file is sparse: four gigabytes that the runner would read into memory at once."""

from tests.hostile.arena import Arena, Outcome


def prepare(arena: Arena) -> None:
    arena.workload(
        '[run]\ncommand = ["truncate", "-s", "4294967295", "result"]\noutput = "json"\noutput_file = "result"'
    )
    arena.commit()


def held(_: Arena, outcome: Outcome) -> None:
    assert "is larger than" in outcome.report, outcome.said
