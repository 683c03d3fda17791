"""The program forks without end, and each child allocates."""

from tests.hostile.arena import Arena, Outcome


def prepare(arena: Arena) -> None:
    arena.write("probe", "#!/bin/sh\nbomb() { bomb | bomb & }\nbomb\nsleep 3\n", executable=True)
    arena.workload(command="./probe")
    arena.commit()


def held(_: Arena, outcome: Outcome) -> None:
    assert outcome.status in {0, 1, 2}, outcome.said
