"""`[metrics] events` names a BPF program of the checkout: perf, outside of the sandbox, would compile and load it."""

from tests.hostile.arena import Arena, Outcome

THOROUGH = True


def prepare(arena: Arena) -> None:
    arena.write("evil.c", "int x;\n")
    arena.workload(f'[metrics]\nevents = ["{arena.subject}/evil.c"]')
    arena.commit()


def held(_: Arena, outcome: Outcome) -> None:
    assert "is not an event that a workload may count" in outcome.error, outcome.said
