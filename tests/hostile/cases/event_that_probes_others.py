"""`[metrics] events` names a probe in a program of others."""

from tests.hostile.arena import Arena, Outcome


def prepare(arena: Arena) -> None:
    arena.workload('[metrics]\nevents = ["uprobe/path=/usr/bin/ssh,offset=0x1/", "mem:0x1000:rw"]')
    arena.commit()


def held(_: Arena, outcome: Outcome) -> None:
    assert "is not an event that a workload may count" in outcome.error, outcome.said
