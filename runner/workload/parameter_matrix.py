"""Expands the parameter matrix of a workload into cases."""

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence

from runner.contract.base import Parameter, format_parameter
from runner.contract.report import Case
from runner.errors import FaultwatchError
from runner.workload.definition import Workload

MAX_POINTS = 10_000
"""The largest number of points of a matrix."""


def list_cases(workload: Workload, parameter_choices: Iterable[str] = ()) -> tuple[Case, ...]:
    """Return the cases of a workload, in the order of its file.

    Parameters
    ----------
    parameter_choices
        Choices of the form ``name=value[,value…]``, which select the points with one of these values.

    Raises
    ------
    FaultwatchError
        A choice names a parameter or a value that the matrix does not have, or the file has too many points or none.
    """
    if math.prod(map(len, workload.matrix.values())) + len(workload.include) > MAX_POINTS:
        raise FaultwatchError(f"{workload.path}: [matrix] has more than {MAX_POINTS:,} points", "remove some values")
    points = [dict(zip(workload.matrix, point, strict=True)) for point in itertools.product(*workload.matrix.values())]
    points = [
        point
        for point in points
        if not any(excluded_point.items() <= point.items() for excluded_point in workload.exclude)
    ]
    points_by_key = {make_point_key(point): point for point in points}
    for added_point in workload.include:
        points_by_key.setdefault(make_point_key(added_point), dict(added_point))
    points = list(points_by_key.values())
    if not points:
        raise FaultwatchError(
            f"{workload.path}: [[exclude]] leaves no point in the matrix", "exclude fewer values, or add an [[include]]"
        )
    points = choose_points(workload, points, parameter_choices)
    return tuple(Case(workload=workload.name, definition=workload.definition, parameters=point) for point in points)


def choose_points(
    workload: Workload, points: list[dict[str, Parameter]], parameter_choices: Iterable[str]
) -> list[dict[str, Parameter]]:
    """Return the points that match all choices; see :func:`list_cases`."""
    for choice in parameter_choices:
        points = _select_points(workload, points, choice)
    return points


def _select_points(workload: Workload, points: list[dict[str, Parameter]], choice: str) -> list[dict[str, Parameter]]:
    """Return the points whose parameter has one of the chosen values.

    Raises
    ------
    FaultwatchError
        No point has the parameter or the value.
    """
    name, _, value_text = choice.partition("=")
    values = list(dict.fromkeys(format_parameter(point[name]) for point in points if name in point))
    if not values:
        parameter_names = ", ".join(workload.matrix) or "none"
        raise FaultwatchError(f"{workload.name} has no parameter {name!r}", f"its parameters: {parameter_names}")
    # A single value may contain a comma.
    words = [value_text] if value_text in values else value_text.split(",")
    # Accept the old notation of Boolean values, which was that of Python.
    chosen_values = [word.lower() if word in {"True", "False"} and word not in values else word for word in words]
    unknown_values = [value for value in chosen_values if value not in values]
    if unknown_values:
        raise FaultwatchError(f"{name} has no value {unknown_values[0]!r}", f"its values: {', '.join(values)}")
    return [point for point in points if name in point and format_parameter(point[name]) in chosen_values]


class PointsByKey(dict[tuple[tuple[str, str], ...], Mapping[str, Parameter]]):
    """Points of a matrix by their key, which :func:`make_point_key` returns."""


def map_points(cases: Sequence[Case]) -> PointsByKey:
    """Return the points of the cases by their keys."""
    return PointsByKey({make_point_key(case.parameters): case.parameters for case in cases})


def make_point_key(point: Mapping[str, Parameter]) -> tuple[tuple[str, str], ...]:
    """Return a key for a point, made of its parameters as texts: points of two files are equal if their keys are."""
    return tuple(sorted((name, format_parameter(value)) for name, value in point.items()))
