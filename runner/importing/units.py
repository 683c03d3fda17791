"""Units of other tools: their times in nanoseconds, and their rates per second."""

NANOSECONDS = {"ns": 1.0, "us": 1e3, "µs": 1e3, "μs": 1e3, "ms": 1e6, "s": 1e9, "sec": 1e9, "seconds": 1e9, "m": 60e9}
"""The length of each unit of time in nanoseconds."""


def standardize_unit(unit: str) -> tuple[str, float]:
    """Return a standard unit, in nanoseconds or per second, and the factor that converts values to it.

    For example, ``us/op`` gives ``ns/op`` and 1,000, and ``ops/ms`` gives ``ops/s`` and 1,000. Units that are neither
    times nor rates are returned with the factor 1, and so are rates per ``m``.
    """
    numerator, slash, denominator = unit.partition("/")
    if numerator in NANOSECONDS:
        return f"ns{slash}{denominator}", NANOSECONDS[numerator]
    # After a slash, m may stand for metres or millions as well as for minutes.
    if slash and denominator in NANOSECONDS and denominator != "m":
        return f"{numerator}/s", 1e9 / NANOSECONDS[denominator]
    return unit, 1.0
