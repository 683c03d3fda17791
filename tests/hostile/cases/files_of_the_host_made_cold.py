"""`[run] files` names files of the host, to be read and put out of memory by the runner; one is a link."""

from tests.hostile.arena import Arena, Outcome


def prepare(arena: Arena) -> None:
    (arena.subject / "data").unlink()
    arena.link("data", "/etc/shadow")
    arena.workload('[run]\ncommand = "true"\npage_cache = "cold"\nfiles = ["data", "/etc/passwd"]')
    arena.commit()


def held(_: Arena, outcome: Outcome) -> None:
    assert "is not in the build" in outcome.error + outcome.report, outcome.said
