"""The workload file nests arrays ten thousand deep, and fills megabytes with comments."""

from tests.hostile.arena import Arena, Outcome


def prepare(arena: Arena) -> None:
    arena.write("workload.toml", "x = " + "[" * 100_000 + "]" * 100_000 + "\n")
    arena.commit()


def held(_: Arena, outcome: Outcome) -> None:
    assert outcome.status == 2, outcome.said
