"""A link `l -> ..` in the workload's folder: a copy that follows it never ends, or fills the disk."""

from tests.hostile.arena import Arena, Outcome

WORDS = ("gate", "w/workload.toml", "HEAD~1..HEAD", "--repo", ".", "--output", "REPORT")


def prepare(arena: Arena) -> None:
    arena.workload(build="directory = 'workload'\ncommand = 'true'", folder="w/")
    arena.link("w/l", "..")
    arena.commit()


def held(_: Arena, outcome: Outcome) -> None:
    assert "does not point to a regular file" in outcome.error, outcome.said
