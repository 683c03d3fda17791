"""Numbers as perf prints them, exactly: never through a binary fraction until the last step."""

import re
from decimal import Decimal

from runner.perf.parse.lines import Line

_WHOLE = re.compile(r"(?:0|[1-9][0-9]*)")
_DECIMAL = re.compile(r"(?:0|[1-9][0-9]*)[.,][0-9]+")
_LARGEST = 2**64 - 1
"""The kernel's counters have 64 bits."""


def whole(line: Line, text: str) -> int:
    """Read a count: plain digits, no sign, no leading zero, no fraction."""
    if not _WHOLE.fullmatch(text):
        raise line.error(f"{text!r} is not a whole number")
    value = int(text)
    if value > _LARGEST:
        raise line.error(f"{text} is more than a 64-bit counter can hold")
    return value


def decimal(line: Line, text: str, places: int | None = None) -> Decimal:
    """Read a number with a decimal point or comma and, where it is known, the number of places perf prints."""
    if not _DECIMAL.fullmatch(text):
        raise line.error(f"{text!r} is not a decimal number")
    value = Decimal(text.replace(",", "."))
    if places is not None and -places != value.as_tuple().exponent:
        raise line.error(f"{text!r} does not have the {places} decimal places that perf prints")
    if value > _LARGEST:
        raise line.error(f"{text} is more than a 64-bit counter can hold")
    return value


def percent(line: Line, text: str) -> Decimal:
    """Read the share of the run during which a counter ran: 0.00 to 100.00."""
    value = decimal(line, text, places=2)
    if value > 100:
        raise line.error(f"a counter cannot have run for {text} % of the time")
    return value
