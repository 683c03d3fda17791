"""Makes the consoles of both streams, which colour text on a terminal, and colour nothing if ``NO_COLOR`` is set."""

from rich.console import Console


def make_console(*, stderr: bool = False, highlight: bool = True, width: int | None = None) -> Console:
    """Return a console on standard output or standard error; rich itself reads ``NO_COLOR`` and ``COLUMNS``."""
    return Console(stderr=stderr, highlight=highlight, width=width)
