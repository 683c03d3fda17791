"""A link of the workload's folder names `.git/config` of the checkout."""

from tests.hostile.arena import Arena, Outcome

WORDS = ("gate", "w/workload.toml", "HEAD~1..HEAD", "--repo", ".", "--output", "REPORT")


def prepare(arena: Arena) -> None:
    arena.workload(build="directory = 'workload'\ncommand = 'sh -c \"cat c; exit 1\"'", folder="w/")
    arena.link("w/c", "../.git/config")
    arena.commit()


def held(_: Arena, outcome: Outcome) -> None:
    assert "points outside" in outcome.error, outcome.said
