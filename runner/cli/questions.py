"""Asks the user questions on the terminal. Every question has a default."""

import sys
from collections.abc import Sequence

import click
from msgspec import Struct

from runner.cli.escape_for_terminals import strip_escape_sequences
from runner.errors import FaultwatchError


class Questions(Struct, frozen=True):
    """Asks questions on the terminal.

    Attributes
    ----------
    silent
        Whether to use every default without asking.
    """

    silent: bool

    def confirm(self, text: str, *, default: bool) -> bool:
        """Ask for yes or no."""
        if self.silent:
            return default
        _require_terminal()
        return click.confirm(strip_escape_sequences(text), default=default, err=True)

    def choose(self, text: str, options: Sequence[str]) -> int:
        """Ask for one of some options; the first is the default. Return its index."""
        if self.silent or len(options) == 1:
            return 0
        _require_terminal()
        for number, option in enumerate(options, 1):
            click.echo(strip_escape_sequences(f"  {number}. {option}"), err=True)
        return int(click.prompt(text, type=click.IntRange(1, len(options)), default=1, err=True)) - 1


def _require_terminal() -> None:
    """Raise if there is no terminal on which a user can answer."""
    if not sys.stdin.isatty():
        raise FaultwatchError("a question needs an answer, but there is no terminal", "pass --yes to use all defaults")
