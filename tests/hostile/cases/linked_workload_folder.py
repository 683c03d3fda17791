"""The folder in which the workload lies is a link to another checkout on the runner."""

from tests.hostile.arena import Arena, Outcome
from tests.hostile.cases import linked_workload_file

WORDS = ("gate", "bench/workload.toml", "HEAD~1..HEAD", "--repo", ".", "--output", "REPORT")


def prepare(arena: Arena) -> None:
    linked_workload_file.prepare(arena)
    arena.link("bench", "../other")
    arena.commit()


def held(_: Arena, outcome: Outcome) -> None:
    assert "is a link that points outside its folder" in outcome.error, outcome.said
