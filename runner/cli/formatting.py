"""Formats text and numbers for a terminal."""

from rich.markup import escape

from runner.contract.metrics import Kind, metric


def count_of(number: int, noun: str) -> str:
    """Return a number with its noun: 1 run, 2 runs."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def escape_text(text: str) -> str:
    """Escape untrusted text: no markup, and no control characters that a terminal would obey.

    Titles and program output are untrusted. Line breaks and tabs stay.
    """
    shown = (letter if letter.isprintable() or letter in "\n\t" else "\N{REPLACEMENT CHARACTER}" for letter in text)
    return escape("".join(shown))


def shortened(name: str) -> str:
    """Cut a long name to 60 characters."""
    return name if len(name) <= 60 else name[:59] + "…"


def format_value(name: str, value: float, *, sign: bool = False) -> str:
    """Format a value of a metric: counts in full with separators, others to four digits."""
    form = "+" if sign else ""
    if metric(name).kind is Kind.COUNT and value == int(value):
        return f"{int(value):{form},}"
    return f"{value:{form},.4g}" if abs(value) < 10_000 else f"{value:{form},.0f}"
