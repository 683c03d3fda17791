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


@contextmanager
def activity(text: str) -> Iterator[Callable[[str], None]]:
    """Show a status line on a terminal during an activity; yields a function that changes the line."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.markup import escape

    with terminal().status(escape(text)) as status:
        yield lambda text: status.update(escape(text))
