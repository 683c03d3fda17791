"""Units of other tools: times in nanoseconds, and the direction that a unit implies."""

import re

from runner.contract.imported_metric import Better

NANOSECONDS = {"ns": 1.0, "us": 1e3, "µs": 1e3, "μs": 1e3, "ms": 1e6, "s": 1e9, "sec": 1e9, "seconds": 1e9, "m": 60e9}
"""The length of each unit of time in nanoseconds."""
_SIZES = re.compile(r"(?:[kmgt]i?)?(?:b|bytes?)", re.IGNORECASE)
_PER_SECOND = re.compile(r".+(?:/|\bper\s*|_per_)(?:s|sec|seconds?)", re.IGNORECASE)
_PER_OPERATION = re.compile(r".+/(?:op|iter|iteration|call)", re.IGNORECASE)


def find_direction(unit: str) -> Better | None:
    """Return which direction is an improvement for a unit: lower for a time, a size or a cost, higher for a rate.

    None if the unit does not say.
    """
    text = unit.strip()
    if _PER_SECOND.fullmatch(text) or re.match(r"(?:ops|iter|iterations|items)/", text):
        return "higher"
    if text in NANOSECONDS or _SIZES.fullmatch(text) or _PER_OPERATION.fullmatch(text):
        return "lower"
    return None


def standardize_unit(unit: str) -> tuple[str, float]:
    """Return a standard unit, in nanoseconds or per second, and the factor that converts values to it.

    For example, ``us/op`` gives ``ns/op`` and 1,000, and ``ops/ms`` gives ``ops/s`` and 1,000. Units that are neither
    times nor rates are returned with the factor 1.
    """
    numerator, slash, denominator = unit.partition("/")
    if numerator in NANOSECONDS:
        return f"ns{slash}{denominator}", NANOSECONDS[numerator]
    if slash and denominator in NANOSECONDS and denominator != "m":
        return f"{numerator}/s", 1e9 / NANOSECONDS[denominator]
    return unit, 1.0
