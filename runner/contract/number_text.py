"""Writes numbers for people, in the same way on pages, in messages, in comments and on terminals.

A count is exact, so all its digits are written. All other numbers are measured or computed: they get three significant
digits, no exponent, and a unit that makes them short, such as MiB instead of bytes, or ms instead of seconds.
"""

from __future__ import annotations

from math import floor, isinf, log10

from msgspec import Struct

Number = int | float

SIGNIFICANT_DIGITS = 3
"""The number of significant digits of all numbers that are not counts."""
MAX_SIGMAS = 10
"""A change of more than this many sigma is certain. The exact number is not shown, because it would only show how
little noise the series has."""
_MAX_DIGITS = 17
"""The number of digits that distinguishes any two floats."""
_MIN_NONZERO = 1e-9
"""Numbers that are closer to zero are written as ``≈0``."""
_MIN_PRECISE_PERCENT = 0.1
"""A smaller percentage gets one significant digit."""
_MAX_EXACT_FLOAT = 1e15
"""Below this, a double represents every whole number exactly."""
_MINUS = "\N{MINUS SIGN}"
_NARROW_SPACE = "\N{NARROW NO-BREAK SPACE}"
_NO_BREAK_SPACE = "\N{NO-BREAK SPACE}"
_SINGULARS = {
    "faults": "fault",
    "pages": "page",
    "misses": "miss",
    "switches": "switch",
    "migrations": "migration",
    "events": "event",
    "instructions": "instruction",
    "cycles": "cycle",
    "bytes": "byte",
    "operations/s": "operation/s",
    "faults/operation": "fault/operation",
}
_COUNT_UNITS = {unit for unit in _SINGULARS if "/" not in unit}
"""Units of counts, which are written in full. The mean of two counts is exact as well: otherwise, two levels and their
difference, which are written beside each other, would contradict each other."""


class Scale(Struct, frozen=True):
    """A unit in which values are shorter: a value is divided by ``divisor`` and written with ``unit``."""

    divisor: float
    unit: str


_MEMORY_SCALES = (Scale(2**40, "TiB"), Scale(2**30, "GiB"), Scale(2**20, "MiB"), Scale(2**10, "KiB"))
_SECONDS_PER_UNIT = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
_TIME_SCALES = (Scale(1.0, "s"), Scale(1e-3, "ms"), Scale(1e-6, "µs"))


def format_number(value: Number) -> str:
    """Format a value without its unit: ``513,707``, ``0.0392``, ``11.7``."""
    return _format_number(value, SIGNIFICANT_DIGITS, "")


def format_signed_number(value: Number) -> str:
    """Format a difference with its sign, ``+1`` or ``−4,096``."""
    return _add_sign(value, format_number(value))


def capitalize_first_letter(sentence: str) -> str:
    """Return a sentence with a capital first letter; unlike ``str.capitalize``, leave all other letters as they are."""
    return f"{sentence[:1].upper()}{sentence[1:]}"


def format_percent(value: Number) -> str:
    """Format a relative change: ``+0.002 %``, ``−8.25 %``, ``+22,844 %``; below 0.1 % with one significant digit."""
    if abs(value) >= 100:  # write all digits before the point, even if they are more than the significant digits
        number = f"{value:,.0f}".replace("-", _MINUS)
    else:
        number = _format_significant(value, SIGNIFICANT_DIGITS if abs(value) >= _MIN_PRECISE_PERCENT else 1)
    return f"{_add_sign(value, number)}{_NARROW_SPACE}%"


def format_share(share: float) -> str:
    """Format a share of a whole as a percentage without digits after the point: ``62 %``."""
    return f"{100 * share:.0f}{_NARROW_SPACE}%"


def choose_unit(value: Number, unit: str) -> str:
    """Return the unit in the singular or the plural, as the value requires: 1 fault, 2 faults."""
    return _SINGULARS.get(unit, unit) if abs(value) == 1 else unit


def format_count(number: int, noun: str) -> str:
    """Format a number with its noun in the singular or the plural: 1 run, 2 runs, 2 series."""
    return f"{number:,} {noun if number == 1 or noun == 'series' else f'{noun}s'}"


def format_quantity(value: Number, unit: str, compared_value: Number | None = None) -> str:
    """Format a value with its unit, joined by a no-break space: ``513,707 faults``, ``17.2 MiB``, ``39.2 ms``.

    Parameters
    ----------
    compared_value
        Another value that a reader compares with it. Both get the same unit, and enough digits to differ.
    """
    other_value = value if compared_value is None else compared_value
    scale = choose_scale(max(abs(value), abs(other_value)), unit)
    shown_unit = choose_unit(value, unit) if scale is None else scale.unit
    digits = SIGNIFICANT_DIGITS
    text = _format_scaled(value, scale, digits, unit)
    while value != other_value and text == _format_scaled(other_value, scale, digits, unit) and digits < _MAX_DIGITS:
        digits += 1
        text = _format_scaled(value, scale, digits, unit)
    return _join_parts(text, shown_unit)


def format_range(low: Number, high: Number, unit: str) -> str:
    """Format a range, with both ends in the same unit: ``162 – 207 ms``."""
    return _join_ends(low, high, unit, "–")


def format_move(before: Number, after: Number, unit: str) -> str:
    """Format the move of a level, with both values in the same unit: ``63.5 → 164 ms``."""
    return _join_ends(before, after, unit, "→")


def _join_ends(first: Number, last: Number, unit: str, separator: str) -> str:
    """Format two values with a separator between them, and their common unit at the end."""
    first_text, last_text = format_quantity(first, unit, last), format_quantity(last, unit, first)
    return f"{_split_unit(first_text)[0]} {separator} {last_text}"


def _split_unit(text: str) -> tuple[str, str, str]:
    """Return the number of a written quantity, the space after it, and its unit."""
    return text.rpartition(_NARROW_SPACE if text.endswith("%") else _NO_BREAK_SPACE)


def format_difference(value: Number, unit: str) -> str:
    """Format a difference with its sign and unit: ``+1 fault``, ``−4 KiB``."""
    return _add_sign(value, format_quantity(value, unit))


def format_level_difference(before: Number, after: Number, unit: str) -> str:
    """Format the difference of two levels that are written beside it: of the rounded levels that a reader sees.

    Rounded by itself, the difference could contradict them: 900 and 401, but −500.
    """
    if unit in _COUNT_UNITS:
        return format_difference(after - before, unit)
    texts = [format_quantity(value, unit, other) for value, other in ((before, after), (after, before))]
    numbers = [_split_unit(text)[0].replace(",", "").replace(_MINUS, "-").removeprefix("≈") for text in texts]
    decimals = max(len(number.partition(".")[2]) for number in numbers)
    difference = round(float(numbers[1]) - float(numbers[0]), decimals)
    digits = f"{difference:,.{decimals}f}"
    digits = digits.rstrip("0").rstrip(".") if decimals else digits
    scale = choose_scale(max(abs(before), abs(after)), unit)
    shown_unit = choose_unit(difference, unit) if scale is None else scale.unit
    return _join_parts(_add_sign(difference, digits.replace("-", _MINUS)), shown_unit)


def format_amount(byte_count: Number) -> str:
    """Format an amount of memory: ``512 bytes``, ``52 KiB``, ``19.7 MiB``."""
    return format_quantity(byte_count, "bytes")


def format_levels(before: Number, after: Number) -> str:
    """Format two levels of a series as counts, with enough digits to differ: ``53,338 → 4,186``."""
    unit = next(iter(_COUNT_UNITS))  # The unit is not written, and counts are written alike in all of them.
    for digits in range(SIGNIFICANT_DIGITS, _MAX_DIGITS + 1):
        before_text, after_text = _format_number(before, digits, unit), _format_number(after, digits, unit)
        if before_text != after_text:
            return f"{before_text} → {after_text}"
    # The levels are equal, or no number of digits shows a difference.
    before_text, after_text = (_format_number(level, SIGNIFICANT_DIGITS, unit) for level in (before, after))
    return f"{before_text} → {after_text}"


def format_sigmas(sigmas: float) -> str:
    """Format the size of a change, compared with the noise: ``5.2 sigma``, ``more than 10 sigma``."""
    return f"more than {MAX_SIGMAS} sigma" if sigmas > MAX_SIGMAS else f"{sigmas:.1f} sigma"


def format_duration(seconds: float) -> str:
    """Format a duration with at most two units: ``40 s``, ``3 min``, ``2 h 10 min``."""
    if round(seconds) < 60:
        return _join_parts(f"{max(1, round(seconds))}", "s")  # no duration is 0 s
    minutes = round(seconds / 60)
    if minutes < 60:
        return _join_parts(str(minutes), "min")
    if minutes < 24 * 60:
        hours, minutes = divmod(minutes, 60)
        return _join_parts(str(hours), "h") + (f" {_join_parts(str(minutes), 'min')}" if minutes else "")
    days, hours = divmod(round(minutes / 60), 24)
    return _join_parts(f"{days:,}", "d") + (f" {_join_parts(str(hours), 'h')}" if hours else "")


def replace_no_break_spaces(text: str) -> str:
    """Return text for a terminal, with ordinary spaces: a search there would not find a no-break space."""
    return text.replace(_NO_BREAK_SPACE, " ").replace(_NARROW_SPACE, " ")


def choose_scale(max_value: Number, unit: str) -> Scale | None:
    """Return a unit in which values up to ``max_value`` are short; None if the given unit is right."""
    if unit == "bytes":
        return next((scale for scale in _MEMORY_SCALES if max_value >= scale.divisor), None)
    if unit in _SECONDS_PER_UNIT and max_value:
        # Round the value as it will be written, so that 999.9 ms becomes 1 s and not 1,000 ms.
        seconds = float(f"{max_value * _SECONDS_PER_UNIT[unit]:.{SIGNIFICANT_DIGITS - 1}e}")
        scale = next((scale for scale in _TIME_SCALES if seconds >= scale.divisor), Scale(1e-9, "ns"))
        return Scale(scale.divisor / _SECONDS_PER_UNIT[unit], scale.unit)
    return None


def _format_scaled(value: Number, scale: Scale | None, digits: int, unit: str) -> str:
    """Format a value without its unit: converted to the unit of the scale, or in ``unit`` if there is no scale."""
    return _format_number(value, digits, unit) if scale is None else _format_significant(value / scale.divisor, digits)


def _format_number(value: Number, digits: int, unit: str) -> str:
    """Return a number with digit groups, and without meaningless digits.

    Whole numbers, and counts with at least ``digits`` digits before the point, are written without a fraction; the mean
    of two counts keeps its half.
    """
    if isinstance(value, int) or (value.is_integer() and abs(value) < _MAX_EXACT_FLOAT):
        return f"{int(value):,}".replace("-", _MINUS)
    if unit in _COUNT_UNITS and (2 * value).is_integer() and abs(value) < _MAX_EXACT_FLOAT:
        return f"{value:,.1f}".replace("-", _MINUS)
    if unit in _COUNT_UNITS and abs(value) >= 10 ** (digits - 1):
        return f"{value:,.0f}".replace("-", _MINUS)
    return _format_significant(value, digits)


def _format_significant(value: float, digits: int) -> str:
    """Format a value with ``digits`` significant digits, without an exponent and trailing zeros."""
    if value == 0:
        return "0"
    if abs(value) < _MIN_NONZERO:
        return "≈0"
    rounded_value = float(f"{value:.{digits - 1}e}")
    if isinf(rounded_value):  # the largest floats overflow if they are rounded up
        return f"{value:,.0f}".replace("-", _MINUS)
    decimals = max(0, digits - 1 - floor(log10(abs(rounded_value))))
    text = f"{rounded_value:,.{decimals}f}"
    return (text.rstrip("0").rstrip(".") if decimals else text).replace("-", _MINUS)


def _add_sign(value: Number, text: str) -> str:
    """Add a plus to the text of a positive value. A minus is already in the text; ``≈0`` gets no sign."""
    return f"+{text}" if value > 0 and not text.startswith("≈") else text


def _join_parts(text: str, unit: str) -> str:
    return f"{text}{_NARROW_SPACE if unit == '%' else _NO_BREAK_SPACE}{unit}"
