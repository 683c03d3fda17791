"""Chooses the cases of a workload that a command names, or suggests the cases that there are."""

import difflib
from collections.abc import Sequence

from runner.contract.report import Case
from runner.errors import FaultwatchError
from runner.workload.definition import Workload
from runner.workload.parameter_matrix import list_cases

_MAX_LISTED_CASES = 8
"""The largest number of cases that a message lists."""


def choose_cases(workload: Workload, parameter_choices: Sequence[str], names: Sequence[str] = ()) -> tuple[Case, ...]:
    """Return the cases of a workload that match the choices of ``--set`` and have one of the names of ``--case``.

    Raises
    ------
    FaultwatchError
        A choice or a name matches no case.
    """
    return find_named_cases(workload, list_cases(workload, parameter_choices), names)


def find_named_cases(workload: Workload, cases: Sequence[Case], names: Sequence[str]) -> tuple[Case, ...]:
    """Return the cases with one of the names; without names, return all cases. See :func:`choose_cases`."""
    case_names = [case.name for case in cases]
    unknown_names = [name for name in names if name not in case_names]
    if unknown_names:
        similar_names = difflib.get_close_matches(unknown_names[0], case_names, n=1)
        raise FaultwatchError(
            f"{workload.name} has no case {unknown_names[0]!r}",
            f"did you mean {similar_names[0]!r}?" if similar_names else _describe_cases(case_names),
        )
    return tuple(case for case in cases if not names or case.name in names)


def choose_single_case(workload: Workload, parameter_choices: Sequence[str], names: Sequence[str] = ()) -> Case:
    """Return the single case of a workload that matches; see :func:`choose_cases`.

    Raises
    ------
    FaultwatchError
        No case matches, or more than one.
    """
    chosen_cases = choose_cases(workload, parameter_choices, names)
    if len(chosen_cases) != 1:
        first_case = f"the first is {chosen_cases[0].name}" if chosen_cases else "none matches"
        raise FaultwatchError(
            f"this command accepts only one case, but {len(chosen_cases)} cases match",
            f"choose one with --set or --case: {first_case}",
        )
    return chosen_cases[0]


def _describe_cases(names: Sequence[str]) -> str:
    """Return the names of a workload's cases for a message; of many names, only the first."""
    remainder = f" and {len(names) - _MAX_LISTED_CASES} more" if len(names) > _MAX_LISTED_CASES else ""
    return f"its cases: {', '.join(names[:_MAX_LISTED_CASES]) or 'none'}{remainder}"
