"""Parses perf's numbers exactly: integers and decimal fractions, never binary fractions."""

import re
from decimal import Decimal

from runner.perf.parse.lines import Line

_WHOLE_NUMBER = re.compile(r"0|[1-9][0-9]*")
_DECIMAL = re.compile(r"(?:0|[1-9][0-9]*)[.,][0-9]+")
_MAX_COUNT = 2**64 - 1
"""The largest value of the kernel's counters, which have 64 bits."""


def is_decimal(text: str) -> bool:
    """Return whether a text is a number with a decimal point or comma."""
    return _DECIMAL.fullmatch(text) is not None


def parse_whole_number(line: Line, text: str) -> int:
    """Parse a whole number of plain digits; raise for a sign, a leading zero, a fraction, or more than 64 bits."""
    if not _WHOLE_NUMBER.fullmatch(text):
        raise line.make_error(f"{text!r} is not a whole number")
    value = int(text) if len(text) <= 20 else _MAX_COUNT + 1  # A 64-bit number has at most 20 digits.
    if value > _MAX_COUNT:
        raise line.make_error(f"{text} is more than a 64-bit counter can hold")
    return value


def parse_decimal(line: Line, text: str, places: int) -> Decimal:
    """Parse a number with a decimal point or comma; raise unless it has exactly ``places`` decimal places."""
    integer, _, fraction = text.replace(",", ".").partition(".")
    if not is_decimal(text) or len(fraction) != places:
        raise line.make_error(f"{text!r} is not a number with {places} decimal places")
    parse_whole_number(line, integer)
    return Decimal(f"{integer}.{fraction}")


def parse_percent(line: Line, text: str) -> Decimal:
    """Parse the percentage of the run for which a counter ran; raise unless it is from 0.00 to 100.00."""
    value = parse_decimal(line, text, places=2)
    if value > 100:
        raise line.make_error(f"a counter cannot run for {text} % of the time")
    return value
