"""Formats text and numbers for a terminal."""

from rich.markup import escape

from runner.cli.escape_for_terminals import strip_escape_sequences
from runner.contract import number_text
from runner.contract.metrics import get_metric


def escape_text(text: str) -> str:
    """Escape untrusted text, such as titles and program output: no markup, and no control characters for terminals.

    Line breaks and tabs are kept.
    """
    return escape(strip_escape_sequences(text))


def format_value(metric: str, value: float, *, sign: bool = False) -> str:
    """Format a value of a metric for a table: counts in full, other values with three digits.

    The unit is left out, because the table shows it once; except for bytes and seconds, which are written in the unit
    that suits each value.

    Parameters
    ----------
    metric
        The name of the metric.
    sign
        Whether the value is a difference, which is written with its sign even if it is positive.
    """
    unit = get_metric(metric).unit
    text = number_text.format_difference(value, unit) if sign else number_text.format_quantity(value, unit)
    if not has_own_unit(metric):
        text = text.removesuffix(number_text.choose_unit(value, unit))
    return number_text.replace_no_break_spaces(text).rstrip()


def format_quantity(metric: str, value: float | None, compared_value: float | None = None) -> str:
    """Format a value of a metric with its unit; return ``no value`` if there is none.

    Parameters
    ----------
    compared_value
        Another value that a reader compares with it. Both get enough digits to differ.
    """
    if value is None:
        return "no value"
    return number_text.replace_no_break_spaces(
        number_text.format_quantity(value, get_metric(metric).unit, compared_value)
    )


def format_count_range(counts: tuple[int, ...]) -> str:
    """Return the lowest and the highest count as text, or the count if all are equal."""
    low, high = min(counts), max(counts)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def format_value_range(metric: str, low: float, high: float) -> str:
    """Format the lowest and the highest value of a metric, with enough digits to differ."""
    unit = get_metric(metric).unit
    text = number_text.format_range(low, high, unit)
    if not has_own_unit(metric):
        text = text.removesuffix(number_text.choose_unit(high, unit))
    return number_text.replace_no_break_spaces(text).rstrip()


def has_own_unit(metric: str) -> bool:
    """Return whether values of a metric are written in units that suit each value, such as MiB or ms."""
    large_value = 2**40  # so large that bytes and seconds are written in another unit; counts keep their unit
    return number_text.choose_scale(large_value, get_metric(metric).unit) is not None


def format_percent(value: float) -> str:
    """Format a relative change, as in ``+8.25 %``."""
    return number_text.replace_no_break_spaces(number_text.format_percent(value))
