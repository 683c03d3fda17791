"""`[run] pattern` is a regular expression that backtracks for ever, outside of the sandbox."""

from tests.hostile.arena import Arena, Outcome


def prepare(arena: Arena) -> None:
    arena.workload(f'[run]\ncommand = ["echo", "{"a" * 60}b"]\noutput = "regex"\npattern = "(?P<seconds>(a+)+)$"')
    arena.commit()


def held(_: Arena, outcome: Outcome) -> None:
    assert "the pattern must match" in outcome.report, outcome.said
