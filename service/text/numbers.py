"""Writes numbers: exact counts in full, measured quantities to six digits, always with their unit."""

from __future__ import annotations

Number = int | float

_MINUS = "\N{MINUS SIGN}"
_NARROW_SPACE = "\N{NARROW NO-BREAK SPACE}"
_NO_BREAK_SPACE = "\N{NO-BREAK SPACE}"
_MIB = 1024 * 1024
_SINGULAR = {
    "faults": "fault",
    "switches": "switch",
    "migrations": "migration",
    "events": "event",
    "instructions": "instruction",
    "cycles": "cycle",
    "bytes": "byte",
    "operations/s": "operation/s",
    "faults/operation": "fault/operation",
}


def number(value: Number) -> str:
    """Write a value: ``513,707``, ``0.0392104``, ``11.7``."""
    if value == 0:
        return "0"
    text = _whole(value) if _is_whole(value) else _fraction(value)
    return text.replace("-", _MINUS)


def signed(value: Number) -> str:
    """Write a difference with its sign, ``+1`` or ``−4,096``."""
    return f"+{number(value)}" if value > 0 else number(value)


def percent(value: Number) -> str:
    """Write a relative change to two digits, or to the whole percent: ``+0.0019 %``, ``+22,844 %``."""
    size = abs(value)
    text = f"{size:,.0f}" if size >= 10 else _plain(float(f"{size:.2g}"))
    sign = "+" if value > 0 else _MINUS if value < 0 else ""
    return f"{sign}{text}{_NARROW_SPACE}%"


def unit_of(value: Number, unit: str) -> str:
    """Return the unit in singular or plural, as the value requires: 1 fault, 2 faults."""
    return _SINGULAR.get(unit, unit) if abs(value) == 1 else unit


def quantity(value: Number, unit: str) -> str:
    """Write a value with its unit, joined by a no-break space: ``513,707 faults``."""
    return _joined(number(_sensible(value, unit)), unit_of(value, unit))


def span(low: Number, high: Number, unit: str) -> str:
    """Write a range with its unit, both ends in the same precision: ``0.161849 – 0.206776 s``."""
    return f"{number(_sensible(low, unit))} – {quantity(high, unit)}"


def difference(value: Number, unit: str) -> str:
    """Write a difference with its sign and unit: ``+1 fault``."""
    return _joined(signed(_sensible(value, unit)), unit_of(value, unit))


def amount(size: Number) -> str:
    """Write an amount of memory: ``512 bytes``, ``52 KiB``, ``19.7 MiB``."""
    if size < 1024:
        return quantity(size, "bytes")
    unit = "KiB" if size < _MIB else "MiB"
    return _joined(number(round(size / (1024 if unit == "KiB" else _MIB), 1)), unit)


def duration(seconds: float) -> str:
    """Write how long something takes, in two units at most: ``40 s``, ``3 min``, ``2 h 10 min``."""
    if seconds < 60:
        return _joined(f"{max(1, round(seconds))}", "s")
    minutes = round(seconds / 60)
    if minutes < 60:
        return _joined(str(minutes), "min")
    if minutes < 24 * 60:
        hours, rest = divmod(minutes, 60)
        return _joined(str(hours), "h") + (f" {_joined(str(rest), 'min')}" if rest else "")
    days, rest = divmod(round(minutes / 60), 24)
    return _joined(f"{days:,}", "d") + (f" {_joined(str(rest), 'h')}" if rest else "")


def _sensible(value: Number, unit: str) -> Number:
    """Round a percentage to hundredths: further digits carry no information."""
    return round(value, 2) or value if unit in {"%", "points"} else value


def _joined(text: str, unit: str) -> str:
    return f"{text}{_NARROW_SPACE if unit == '%' else _NO_BREAK_SPACE}{unit}"


def _is_whole(value: Number) -> bool:
    return isinstance(value, int) or (value.is_integer() and abs(value) < 1e15)


def _whole(value: Number) -> str:
    return f"{int(value):,}"


def _fraction(value: float) -> str:
    if abs(value) >= 100_000:
        return f"{value:,.0f}"
    return _plain(float(f"{value:.6g}"))


def _plain(value: float) -> str:
    """Write a rounded float without an exponent where it is near one."""
    if value and abs(value) < 1e-6:
        return f"{value:.6g}"
    return f"{value:,.9f}".rstrip("0").rstrip(".")
