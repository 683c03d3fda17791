"""The result file is a link to a secret, whose first line the failure would quote."""

from tests.hostile.arena import Arena, Outcome


def prepare(arena: Arena) -> None:
    target = arena.person / ".netrc"
    arena.workload(f'[run]\ncommand = ["ln", "-s", "{target}", "result"]\noutput = "json"\noutput_file = "result"')
    arena.commit()


def held(_: Arena, outcome: Outcome) -> None:
    assert "is outside the build" in outcome.report, outcome.said
