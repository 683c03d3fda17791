"""A cloned repository: its workload reads the clone of another subject, and the clone's own configuration."""

from tests.hostile.arena import Arena, Outcome

WORDS = ("history", "--repo", "file://SUBJECT", "workload.toml", "HEAD~1..HEAD")


def prepare(arena: Arena) -> None:
    arena.plant("other-clone", arena.home / "clones" / "other.git" / "config")
    arena.write("probe", f"#!/bin/sh\ncat {arena.home}/clones/*/config {arena.home}/*.db\nexit 1\n", executable=True)
    arena.workload(command="./probe")
    arena.commit()


def held(_: Arena, outcome: Outcome) -> None:
    # The base is measured; the commit that reads the other clone finds nothing there.
    assert "1 measured, 0 stored before, 1 failed." in outcome.said, outcome.said
    assert "No such file or directory" in outcome.said, outcome.said
