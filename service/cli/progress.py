"""Shows the progress of a long command and the remaining time on standard error, if that is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

_QUIET_KEY = "faultwatch.quiet"


def _set_quiet(context: click.Context, _option: click.Parameter, is_quiet: bool) -> None:
    context.meta[_QUIET_KEY] = is_quiet


quiet_option = click.Option(
    ["--quiet", "-q"],
    is_flag=True,
    expose_value=False,
    callback=_set_quiet,
    help="Show no progress on standard error, only errors.",
)
"""An option of every command."""


def add_quiet_option(command: click.Command) -> None:
    """Add the option ``--quiet`` to a command, or to all commands of a group."""
    if isinstance(command, click.Group):
        for subcommand in command.commands.values():
            add_quiet_option(subcommand)
    else:
        command.params.append(quiet_option)


@contextmanager
def show_progress(title: str) -> Iterator[Callable[[int, int], None]]:
    """Show a progress bar; yield a function that takes the number of finished steps and of all steps."""
    hidden = not sys.stderr.isatty() or click.get_current_context().meta.get(_QUIET_KEY, False)
    with click.progressbar(length=1, label=title, file=sys.stderr, hidden=hidden) as bar:

        def show_steps(done: int, total: int) -> None:
            bar.length = max(1, total)
            bar.update(done - bar.pos)

        yield show_steps
