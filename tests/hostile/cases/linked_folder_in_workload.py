"""A link to a folder in the workload's folder: what lies behind it is copied, and printed by the build."""

from tests.hostile.arena import Arena, Outcome

THOROUGH = True
WORDS = ("gate", "w/workload.toml", "HEAD~1..HEAD", "--repo", ".", "--output", "REPORT")


def prepare(arena: Arena) -> None:
    arena.workload(build="directory = 'workload'\ncommand = 'sh -c \"cat l/e l/s l/t; exit 1\"'", folder="w/")
    arena.link("o/e", "/proc/self/environ")
    arena.link("o/s", "/etc/shadow")
    arena.link("o/t", arena.work / "other" / "secret.txt")
    arena.link("w/l", "../o")
    arena.commit()


def held(_: Arena, outcome: Outcome) -> None:
    assert "does not point to a regular file" in outcome.error, outcome.said
