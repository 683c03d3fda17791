"""Text of others on our terminal."""

from rich.markup import escape


def count_of(number: int, noun: str) -> str:
    """Return how many there are: one run, two runs."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def escape_text(text: str) -> str:
    """Return text that shows as it is: no markup, and no control character that a terminal would obey.

    Titles and program output come from strangers. Line breaks and tabs stay.
    """
    shown = (letter if letter.isprintable() or letter in "\n\t" else "\N{REPLACEMENT CHARACTER}" for letter in text)
    return escape("".join(shown))
