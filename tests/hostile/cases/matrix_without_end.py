"""`[matrix]` has some dozens of parameters: more points than memory holds."""

from tests.hostile.arena import Arena, Outcome


def prepare(arena: Arena) -> None:
    values = ", ".join(map(str, range(50)))
    arena.workload("[matrix]\n" + "\n".join(f"p{number} = [{values}]" for number in range(30)))
    arena.commit()


def held(_: Arena, outcome: Outcome) -> None:
    assert "points" in outcome.error, outcome.said
