"""Checks input numbers of any size, and converts them to floats: their differences from an origin."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from itertools import chain

import numpy as np

from service.rules.detect.level_change import Number
from service.rules.detect.median_of_nine import Floats

_MAX_EXACT_INTEGER = 2.0**53  # every integer below this is exactly representable as a float
_MIN_ARRAY_VALUES = 16  # for fewer values, creating an array takes longer than a loop
_MAX_DIFFERENCE = 1e100  # replaces a difference that is too large for a float


def check_numbers(values: Sequence[Number], first_index: int, name: str) -> list[Number]:
    """Return the values as Python numbers, converting those of other libraries.

    Parameters
    ----------
    name
        The name of the argument, for the message.

    Raises
    ------
    ValueError
        If a value is not a number, or is NaN or infinite; the message gives its index, counted from ``first_index``.
    """
    types = set(map(type, values))
    if types <= {int} or (types == {float} and all(map(math.isfinite, values))):
        return list(values)
    return [_convert_number(value, f"{name}[{i}]") for i, value in enumerate(values, first_index)]


def check_samples(samples: Sequence[Sequence[Number]], first_index: int) -> list[Sequence[Number]]:
    """Return the samples of each point as Python numbers; raise the errors of :func:`check_numbers`."""
    if set(map(type, chain.from_iterable(samples))) <= {int}:
        return list(samples)
    return [check_numbers(point, 0, f"samples[{i}]") for i, point in enumerate(samples, first_index)]


def subtract_origin(values: Sequence[Number], origin: Number) -> Floats:
    """Return the difference of each number from ``origin``, rounded once.

    The numbers are subtracted as one array only if all of them are certain to be exact as floats.
    """
    if len(values) >= _MIN_ARRAY_VALUES and abs(origin) < _MAX_EXACT_INTEGER:
        with suppress(OverflowError):  # an integer is too large for a float
            converted_values = np.array(values, dtype=np.float64)
            if max(converted_values.max(), -converted_values.min()) < _MAX_EXACT_INTEGER:
                differences: Floats = converted_values - float(origin)
                return differences
    return np.array([compute_difference(value, origin) for value in values], dtype=np.float64)


def _convert_number(value: Number, name: str) -> Number:
    """Return a value as a Python number; raise ValueError if it is not a number or not finite."""
    if type(value) is int:
        return value
    if hasattr(value, "item"):
        value = value.item()  # a numpy scalar
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{name} is {value!r}: a number is needed")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{name} is {value}: only finite numbers can be judged")
    return value


def compute_difference(value: Number, origin: Number) -> float:
    """Return the difference of one number from ``origin``, rounded once and limited to ±``_MAX_DIFFERENCE``."""
    try:
        offset = float(value - origin)
    except OverflowError:
        return _MAX_DIFFERENCE if value > origin else -_MAX_DIFFERENCE
    if offset > _MAX_DIFFERENCE:
        return _MAX_DIFFERENCE
    return offset if offset > -_MAX_DIFFERENCE else -_MAX_DIFFERENCE
