"""The points of a workload's parameter matrix."""

import itertools
from collections.abc import Iterable

from runner.contract.report import Case
from runner.errors import FaultwatchError
from runner.workload.definition import Workload


def cases(workload: Workload, choices: Iterable[str] = ()) -> tuple[Case, ...]:
    """Return every case of a workload, in the order of its file.

    Parameters
    ----------
    choices
        ``name=value[,value…]``: keep only the points with these values.

    Raises
    ------
    FaultwatchError
        Where a choice names a parameter or a value that the matrix does not have.
    """
    matrix = {name: list(values) for name, values in workload.matrix.items()}
    for choice in choices:
        name, _, wanted = choice.partition("=")
        if name not in matrix:
            known = ", ".join(matrix) or "none"
            raise FaultwatchError(f"{workload.name} has no parameter {name!r}", f"it has: {known}")
        available = {str(value): value for value in matrix[name]}
        unknown = [value for value in wanted.split(",") if value not in available]
        if unknown:
            raise FaultwatchError(f"{name} has no value {unknown[0]!r}", f"it has: {', '.join(available)}")
        matrix[name] = [available[value] for value in wanted.split(",")]
    return tuple(
        Case(workload=workload.name, definition=workload.definition, parameters=dict(zip(matrix, point, strict=True)))
        for point in itertools.product(*matrix.values())
    )
