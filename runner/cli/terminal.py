"""Messages and progress on standard error, so that standard output stays clean."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any


@lru_cache
def terminal() -> Any:
    """Return the rich console on standard error."""
    from rich.console import Console

    return Console(stderr=True)


def be_quiet() -> None:
    """Print nothing on standard error from now on, except errors that end the command."""
    terminal().quiet = True


def say(text: str) -> None:
    """Print a message on standard error. It may quote what others wrote, such as why a job was paused."""
    from runner.cli.untrusted_text import harmless

    terminal().print(harmless(text), markup=False, highlight=False, soft_wrap=True)


@contextmanager
def activity(text: str) -> Iterator[Callable[[str], None]]:
    """Show a status line on a terminal during an activity; yields a function that changes the line."""
    if not sys.stderr.isatty() or terminal().quiet:
        yield lambda _: None
        return
    from runner.cli.formatting import escape_text as escape

    with terminal().status(escape(text)) as status:
        yield lambda text: status.update(escape(text))
