"""Expands the parameter matrix of a workload into cases."""

import itertools
from collections.abc import Iterable

from runner.contract.base import Parameter
from runner.contract.report import Case
from runner.errors import FaultwatchError
from runner.workload.definition import Workload


def cases(workload: Workload, choices: Iterable[str] = ()) -> tuple[Case, ...]:
    """Return the cases of a workload, in the order of its file.

    Parameters
    ----------
    choices
        ``name=value[,value…]``: select only the points with these values.

    Raises
    ------
    FaultwatchError
        A choice names a parameter or a value that the matrix does not have.
    """
    points = [dict(zip(workload.matrix, point, strict=True)) for point in itertools.product(*workload.matrix.values())]
    points = [point for point in points if not any(left_out.items() <= point.items() for left_out in workload.exclude)]
    points += [dict(extra) for extra in workload.include if dict(extra) not in points]
    for choice in choices:
        points = _chosen(workload, points, choice)
    return tuple(Case(workload=workload.name, definition=workload.definition, parameters=point) for point in points)


def _chosen(workload: Workload, points: list[dict[str, Parameter]], choice: str) -> list[dict[str, Parameter]]:
    name, _, wanted = choice.partition("=")
    values = list(dict.fromkeys(str(point[name]) for point in points if name in point))
    if not values:
        known = ", ".join(workload.matrix) or "none"
        raise FaultwatchError(f"{workload.name} has no parameter {name!r}", f"its parameters: {known}")
    unknown = [value for value in wanted.split(",") if value not in values]
    if unknown:
        raise FaultwatchError(f"{name} has no value {unknown[0]!r}", f"its values: {', '.join(values)}")
    return [point for point in points if str(point[name]) in wanted.split(",")]
