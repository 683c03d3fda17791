"""`[run] processes` starts a thousand sandboxes at once."""

from tests.hostile.arena import Arena, Outcome


def prepare(arena: Arena) -> None:
    arena.workload('[run]\ncommand = "sleep 5"\nprocesses = 1000')
    arena.commit()


def held(_: Arena, outcome: Outcome) -> None:
    assert "a sandbox allows" in outcome.error, outcome.said
