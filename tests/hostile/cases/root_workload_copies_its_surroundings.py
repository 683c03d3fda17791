"""The workload's folder is the repository itself, so that its links may lead to the checkouts beside it."""

from tests.hostile.arena import Arena, Outcome


def prepare(arena: Arena) -> None:
    arena.workload(build="directory = 'workload'\ncommand = 'sh -c \"cat x; exit 1\"'")
    arena.link("x", "../other/secret.txt")
    arena.commit()


def held(_: Arena, outcome: Outcome) -> None:
    assert "points outside" in outcome.error, outcome.said
