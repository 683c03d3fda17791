"""Case names and failures carry terminal escapes and commands for the CI system that reads the log."""

from tests.hostile.arena import Arena, Outcome
from tests.log_readers import commands_in

THOROUGH = True


def prepare(arena: Arena) -> None:
    escape = "\\u001b]0;pwned\\u0007\\u001b[2J"
    arena.workload(
        '[run]\ncommand = ["sh", "-c", "printf \'::error::pwned\\\\n\' >&2; exit 1", "{p}"]\n'
        f'[matrix]\np = ["{escape}\\n::add-mask::x\\n##[error]pwned\\r::stop-commands::x"]'
    )
    arena.commit()


def held(_: Arena, outcome: Outcome) -> None:
    assert "\x1b]" not in outcome.said
    assert "\x1b[2J" not in outcome.said
    assert not commands_in(outcome.output) + commands_in(outcome.error)
