"""Text of others on our terminal."""

from rich.markup import escape

from runner.cli.untrusted_text import harmless


def count_of(number: int, noun: str) -> str:
    """Return how many there are: one run, two runs."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def escape_text(text: str) -> str:
    """Return text that shows as it is: no markup, and no control character that a terminal would obey.

    Titles and program output come from strangers. Line breaks and tabs stay.
    """
    return escape(harmless(text))
